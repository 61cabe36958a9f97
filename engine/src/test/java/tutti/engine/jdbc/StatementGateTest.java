package tutti.engine.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.Outcome;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract.Result;

/** Who waits for whom between sessions and appliers. */
@Timeout(30)
class StatementGateTest {
    private static final String TABLE = "CREATE TABLE T (ID INTEGER PRIMARY KEY, N INTEGER)";
    private static final int OFTEN = 20;
    private static final String ROW = "INSERT INTO T VALUES (1, 0)";

    /** A session with a transaction that gives way when it is asked to. */
    private static final class Client implements LocalTransaction, AutoCloseable {
        private final AtomicReference<@Nullable LocalTransaction> current = new AtomicReference<>();
        private final JdbcSession session;
        private final CountDownLatch ended = new CountDownLatch(1);
        private final CountDownLatch renewed = new CountDownLatch(1);
        private final CountDownLatch renewedOften = new CountDownLatch(OFTEN);

        Client(EnginePair pair) throws SQLException {
            session = pair.origin.openSession(current::get);
            current.set(this);
        }

        void execute(String sql) throws SQLException {
            EnginePair.execute(session, sql);
        }

        /** Does something on a thread of its own. */
        CompletableFuture<Void> running(JdbcEngine.Step step) {
            CompletableFuture<Void> done = new CompletableFuture<>();
            Thread.ofVirtual().start(() -> {
                try {
                    step.run();
                    done.complete(null);
                } catch (SQLException | RuntimeException failed) {
                    done.completeExceptionally(failed);
                }
            });
            return done;
        }

        @Override
        public void commit(long position, Completion<Void> done) {
            session.commit(position, done);
        }

        @Override
        public void rollback(Runnable done) {
            session.rollback(this, () -> {
                ended.countDown();
                done.run();
            });
        }

        @Override
        public void renewed() {
            renewed.countDown();
            renewedOften.countDown();
        }

        @Override
        public void answer(Outcome outcome) {
            throw new UnsupportedOperationException("not asked for here");
        }

        @Override
        public void close() {
            session.close();
        }
    }

    /**
     * A statement runs that hears nothing and ends only when another transaction has ended, as a batch may that waits for its
     * rows. That other one is in the applier's way.
     */
    private static CompletableFuture<Void> deafStatement(Client deaf, Client other) throws InterruptedException {
        CountDownLatch runs = new CountDownLatch(1);
        CompletableFuture<Void> done = deaf.running(() -> deaf.session.statement(connection -> {
            runs.countDown();
            try {
                assertTrue(other.ended.await(20, TimeUnit.SECONDS), "the other transaction has not been ended");
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            }
            return null;
        }));
        runs.await();
        return done;
    }

    @ParameterizedTest
    @EnumSource
    void anApplierDoesNotWaitForAStatementThatWaitsForSomebodyInItsWay(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE)) {
            pair.commit(ROW);
            pair.origin.onBlocked((_, holder) -> holder.rollback(() -> {}));
            WriteSet writes = writesElsewhere(pair, "UPDATE T SET N = 7 WHERE ID = 1");
            try (Client holder = new Client(pair);
                    Client deaf = new Client(pair);
                    Applier applier = pair.origin.openApplier()) {
                holder.execute("UPDATE T SET N = 1 WHERE ID = 1");
                CompletableFuture<Void> statement = deafStatement(deaf, holder);
                Result<Void> applied = new Result<>();
                applier.apply(100, List.of(writes), applied);
                applied.success();
                statement.get();
                Result<Void> committed = new Result<>();
                applier.commit(100, committed);
                committed.success();
                holder.session.forget();
            }
            assertEquals(List.of("1,7"), EnginePair.rows(pair.origin, "SELECT * FROM T"));
        }
    }

    /** Its own end wakes neither itself nor another one that waits for the same transaction. That one may need the same processor. */
    @Test
    void whoseDatabaseWaitsForNobodyTriesAgainAfterAWhile() throws Exception {
        try (EnginePair pair = EnginePair.inMemory(EngineKind.HSQLDB, TABLE)) {
            pair.commit(ROW);
            try (Client holder = new Client(pair);
                    Client one = new Client(pair);
                    Client another = new Client(pair)) {
                holder.execute("UPDATE T SET N = 1 WHERE ID = 1");
                long begun = System.nanoTime();
                List<CompletableFuture<Void>> waiting = Stream.of(one, another)
                        .map(client -> client.running(() -> client.execute("UPDATE T SET N = 2 WHERE ID = 1")))
                        .toList();
                assertTrue(one.renewedOften.await(20, TimeUnit.SECONDS));
                assertTrue(another.renewedOften.await(20, TimeUnit.SECONDS));
                long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
                assertTrue(millis >= (OFTEN - 1) * 5, OFTEN + " attempts in " + millis + " ms");
                holder.rollback(() -> {});
                holder.session.forget();
                CompletableFuture.anyOf(waiting.toArray(CompletableFuture[]::new)).get();
            }
        }
    }

    /** With priority it could never go on otherwise: the holder waits for its turn, which comes later. */
    @ParameterizedTest
    @EnumSource
    void aTransactionThatMeetsARowOfAnotherNamesIt(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE)) {
            pair.commit(ROW);
            try (Client holder = new Client(pair); Client waiter = new Client(pair)) {
                pair.origin.onBlocked(new Engine.BlockedListener() {
                    @Override
                    public void blocked(long position, LocalTransaction local) {
                        throw new AssertionError("no applier waits");
                    }

                    @Override
                    public void blocked(LocalTransaction waiting, Set<LocalTransaction> inTheWay) {
                        assertEquals(waiter, waiting);
                        assertEquals(Set.of(holder), inTheWay);
                        holder.rollback(() -> {});
                    }
                });
                holder.execute("UPDATE T SET N = 1 WHERE ID = 1");
                waiter.execute("UPDATE T SET N = 2 WHERE ID = 1");
                Result<Void> committed = new Result<>();
                assertFalse(waiter.session.capture().writes().isEmpty());
                waiter.commit(100, committed);
                committed.success();
                holder.session.forget();
            }
            assertEquals(List.of("1,2"), EnginePair.rows(pair.origin, "SELECT * FROM T"));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aSchemaChangeDoesNotWaitForAStatementThatWaitsForAnotherTransaction(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE)) {
            pair.commit(ROW);
            pair.origin.onBlocked((_, holder) -> holder.rollback(() -> {}));
            try (Client holder = new Client(pair);
                    Client deaf = new Client(pair);
                    Applier applier = pair.origin.openApplier()) {
                holder.execute("UPDATE T SET N = 1 WHERE ID = 1");
                CompletableFuture<Void> statement = deafStatement(deaf, holder);
                Result<ExecuteResult> executed = new Result<>();
                applier.execute(100,
                        new BarrierStatement("PUBLIC", "CREATE TABLE S (ID INTEGER PRIMARY KEY)").toBytes(),
                        executed);
                executed.success();
                statement.handle((_, _) -> null).get();
                holder.session.forget();
            }
            assertEquals(List.of("1,0"), EnginePair.rows(pair.origin, "SELECT * FROM T"));
        }
    }

    /** Whoever is pushed aside and runs again at once does not keep it out. */
    @ParameterizedTest
    @EnumSource
    void aSchemaChangeIsAloneThoughOthersBeginAgainAtOnce(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE)) {
            pair.commit(ROW);
            pair.origin.onBlocked((_, holder) -> holder.rollback(() -> {}));
            CountDownLatch begun = new CountDownLatch(2);
            Result<ExecuteResult> executed = new Result<>();
            try (Client first = new Client(pair);
                    Client second = new Client(pair);
                    Applier applier = pair.origin.openApplier()) {
                List<CompletableFuture<Void>> running = Stream.of(first, second)
                        .map(each -> each.running(() -> readAgainAndAgain(pair, begun, executed))).toList();
                begun.await();
                applier.execute(100,
                        new BarrierStatement("PUBLIC", "CREATE TABLE S (ID INTEGER PRIMARY KEY)").toBytes(),
                        executed);
                assertTrue(executed.success().tookEffect());
                for (CompletableFuture<Void> each : running) {
                    each.get();
                }
            }
        }
    }

    /** One transaction after another, each of which lasts until it is pushed aside. */
    private static void readAgainAndAgain(EnginePair pair, CountDownLatch begun, Result<ExecuteResult> until)
            throws SQLException {
        while (!until.isDone()) {
            try (Client client = new Client(pair)) {
                client.execute("SELECT * FROM T");
                begun.countDown();
                while (!until.isDone() && !client.ended.await(1, TimeUnit.MILLISECONDS)) {
                    // It goes on.
                }
                client.session.forget();
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void aFirstStatementWaitsForARowAndSeesWhatBecameOfIt(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE)) {
            pair.commit(ROW);
            try (JdbcSession holder = pair.session(); Client first = new Client(pair)) {
                EnginePair.execute(holder, "UPDATE T SET N = N + 10 WHERE ID = 1");
                CountDownLatch attempts = new CountDownLatch(2);
                CompletableFuture<Void> waiting = first.running(() -> first.session.statement(connection -> {
                    attempts.countDown();
                    try (Statement statement = connection.createStatement()) {
                        return statement.execute("UPDATE T SET N = N + 1 WHERE ID = 1");
                    }
                }));
                attempts.await();
                pair.commit(holder);
                waiting.get();
                assertTrue(first.renewed.await(20, TimeUnit.SECONDS), "it did not begin anew");
                pair.commit(first.session);
            }
            pair.assertRows("SELECT * FROM T", "1,11");
        }
    }

    @ParameterizedTest
    @EnumSource
    void oneThatWaitsInItsFirstStatementCanBeRolledBack(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE)) {
            pair.commit(ROW);
            try (JdbcSession holder = pair.session(); Client first = new Client(pair)) {
                EnginePair.execute(holder, "UPDATE T SET N = N + 10 WHERE ID = 1");
                CompletableFuture<Void> waiting = first
                        .running(() -> first.execute("UPDATE T SET N = N + 1 WHERE ID = 1"));
                first.rollback(() -> {});
                SQLException lost = (SQLException) assertThrows(ExecutionException.class, waiting::get).getCause();
                assertEquals("40001", lost.getSQLState());
                first.session.forget();
                pair.commit(holder);
            }
            pair.assertRows("SELECT * FROM T", "1,10");
        }
    }

    private static int[] addOne(JdbcSession session, CountDownLatch attempts, int... ids) throws SQLException {
        return session.statement(connection -> {
            attempts.countDown();
            try (PreparedStatement update = connection.prepareStatement("UPDATE T SET N = N + 1 WHERE ID = ?")) {
                for (int id : ids) {
                    update.setInt(1, id);
                    update.addBatch();
                }
                return update.executeBatch();
            }
        });
    }

    /** H2 goes on with a batch behind a statement that has waited in vain; its repetition must not do anything twice. */
    @ParameterizedTest
    @EnumSource
    void aBatchThatWaitedIsDoneOnce(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE)) {
            pair.commit(ROW, "INSERT INTO T VALUES (2, 0), (3, 0)");
            try (JdbcSession holder = pair.session(); Client first = new Client(pair)) {
                EnginePair.execute(holder, "UPDATE T SET N = N + 10 WHERE ID = 2");
                CountDownLatch attempts = new CountDownLatch(3);
                CompletableFuture<Void> waiting = first.running(() -> addOne(first.session, attempts, 1, 2, 3));
                attempts.await();
                holder.forget();
                waiting.get();
                pair.commit(first.session);
            }
            pair.assertRows("SELECT * FROM T ORDER BY ID", "1,1", "2,1", "3,1");
        }
    }

    /** The statements of a batch behind one that has ended the transaction must not be in anybody's way. */
    @ParameterizedTest
    @EnumSource
    void aBatchThatHasLostHoldsNothing(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE)) {
            pair.commit(ROW, "INSERT INTO T VALUES (2, 0), (3, 0)");
            WriteSet writes = writesElsewhere(pair, "UPDATE T SET N = 7 WHERE ID IN (1, 3)");
            try (Client loser = new Client(pair); Applier applier = pair.origin.openApplier()) {
                loser.execute("SELECT * FROM T");
                pair.commit("UPDATE T SET N = 5 WHERE ID = 2");
                SQLException lost = assertThrows(SQLException.class,
                        () -> addOne(loser.session, new CountDownLatch(1), 1, 2, 3));
                assertTrue(lost.getSQLState().startsWith("40"), lost::toString);
                loser.session.forget();
                apply(applier, writes);
            }
            assertEquals(List.of("1,7", "2,5", "3,7"),
                    EnginePair.rows(pair.origin, "SELECT * FROM T ORDER BY ID"));
        }
    }

    /** H2 would spin until a transaction ends that has undone a statement, and hear nothing ({@code UndoneStatements}). */
    @ParameterizedTest
    @EnumSource
    void oneThatHasUndoneAStatementIsWaitedForInSlices(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE)) {
            pair.commit(ROW, "INSERT INTO T VALUES (2, 0)");
            try (JdbcSession holder = pair.session(); Client waiter = new Client(pair)) {
                EnginePair.execute(holder, "UPDATE T SET N = N + 10 WHERE ID = 2");
                assertThrows(SQLException.class, () -> EnginePair.execute(holder, ROW));
                CountDownLatch attempts = new CountDownLatch(3);
                CompletableFuture<Void> waiting = waiter.running(() -> addOne(waiter.session, attempts, 2));
                attempts.await();
                holder.forget();
                waiting.get();
                pair.commit(waiter.session);
            }
            pair.assertRows("SELECT * FROM T ORDER BY ID", "1,0", "2,1");
        }
    }

    @ParameterizedTest
    @EnumSource
    void anApplierTellsOfOneThatHasUndoneAStatement(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE)) {
            pair.commit(ROW);
            pair.origin.onBlocked((_, holder) -> holder.rollback(() -> {}));
            WriteSet writes = writesElsewhere(pair, "INSERT INTO T VALUES (5, 7)");
            try (Client idle = new Client(pair); Applier applier = pair.origin.openApplier()) {
                idle.execute("INSERT INTO T VALUES (5, 1)");
                assertThrows(SQLException.class, () -> idle.execute(ROW));
                apply(applier, writes);
                idle.session.forget();
            }
            assertEquals(List.of("1,0", "5,7"), EnginePair.rows(pair.origin, "SELECT * FROM T ORDER BY ID"));
        }
    }

    /** HSQLDB's sessions do not wait for rows when they have done something already. */
    @Test
    void anApplierThatPreparesSaysForWhomItWaitsThroughOthers() throws Exception {
        try (EnginePair pair = EnginePair.inMemory(EngineKind.H2, TABLE)) {
            pair.commit(ROW, "INSERT INTO T VALUES (2, 0)");
            WriteSet one = writesElsewhere(pair, "UPDATE T SET N = 7 WHERE ID = 1");
            WriteSet two = writesElsewhere(pair, "UPDATE T SET N = 7 WHERE ID = 2");
            try (Client middle = new Client(pair);
                    Applier holder = pair.origin.openApplier();
                    Applier waiter = pair.origin.openApplier()) {
                CountDownLatch heard = new CountDownLatch(1);
                pair.origin.onBlocked(new Engine.BlockedListener() {
                    @Override
                    public void blocked(long position, LocalTransaction local) {
                        throw new AssertionError("nothing here has a position");
                    }

                    @Override
                    public void waits(Applier who, Set<LocalTransaction> locals, Set<Applier> appliers) {
                        if (who.equals(waiter) && locals.equals(Set.of(middle)) && appliers.equals(Set.of(holder))) {
                            heard.countDown();
                        }
                    }
                });
                Result<Void> held = new Result<>();
                holder.apply(JdbcApplier.NO_POSITION, List.of(one), held);
                held.success();
                middle.execute("UPDATE T SET N = 8 WHERE ID = 2");
                CompletableFuture<Void> stuck = middle.running(() -> middle.execute("UPDATE T SET N = 8 WHERE ID = 1"));
                Result<Void> prepared = new Result<>();
                waiter.apply(JdbcApplier.NO_POSITION, List.of(two), prepared);
                heard.await();
                holder.rollback(() -> {});
                stuck.get();
                middle.session.forget();
                prepared.success();
            }
        }
    }

    /** What a statement would change at another replica. */
    private static WriteSet writesElsewhere(EnginePair pair, String sql) throws Exception {
        try (JdbcSession session = pair.copy.openSession(() -> null)) {
            EnginePair.execute(session, sql);
            WriteSet writes = session.capture().writes();
            session.forget();
            return writes;
        }
    }

    /** At a position that no other transaction of these tests has. */
    private static void apply(Applier applier, WriteSet writes) throws Exception {
        Result<Void> applied = new Result<>();
        applier.apply(100, List.of(writes), applied);
        applied.success();
        Result<Void> committed = new Result<>();
        applier.commit(100, committed);
        committed.success();
    }
}
