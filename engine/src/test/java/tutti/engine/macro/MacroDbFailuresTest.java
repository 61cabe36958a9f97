package tutti.engine.macro;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.engine.EngineContract.Result;
import tutti.engine.jdbc.BarrierStatement;
import tutti.engine.jdbc.ClientSession;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.h2.H2Database;
import tutti.engine.macro.MacroDbTest.Kind;

/** What a secondary that fails, is slow, or cannot be made does to the engine: nothing that clients notice. */
@Timeout(60)
class MacroDbFailuresTest {
    private final List<HookedDatabase> made = new ArrayList<>();
    private long position;

    private HookedDatabase hooked(Kind kind) throws SQLException {
        HookedDatabase database = new HookedDatabase(kind.create());
        made.add(database);
        return database;
    }

    /** The primary is the first that was made, secondaries the others. */
    private MacroDb open(Kind kind, int secondaries, MacroDb.Settings settings) throws Exception {
        MacroDb macro = MacroDb.open(hooked(kind).database(), () -> hooked(kind).database(), secondaries, settings);
        try (Applier applier = macro.openApplier()) {
            barrier(applier, "CREATE TABLE T (ID INTEGER PRIMARY KEY, V VARCHAR(1000))");
        }
        awaitThat(() -> macro.status().secondaries().stream().allMatch(at -> at == position));
        return macro;
    }

    private static void awaitThat(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            assertFalse(Thread.interrupted(), "the time of the test is up");
            LockSupport.parkNanos(100_000);
        }
    }

    private static void execute(ClientSession session, String sql) throws SQLException {
        session.statement(connection -> {
            try (Statement statement = connection.createStatement()) {
                return statement.execute(sql);
            }
        });
    }

    private static int count(ClientSession session) throws SQLException {
        return session.statement(connection -> {
            try (Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery("SELECT COUNT(*) FROM T")) {
                row.next();
                return row.getInt(1);
            }
        });
    }

    private void insert(MacroDb macro, ClientSession session) throws Exception {
        execute(session, "INSERT INTO T VALUES (" + position + ", '" + "x".repeat(500) + "')");
        session.capture();
        Result<Void> done = new Result<>();
        session.commit(++position, done);
        done.success();
        assertEquals(position, macro.status().position());
    }

    private static int countReadOnly(MacroDb macro) throws SQLException {
        try (ClientSession reader = macro.openSession(() -> null)) {
            reader.setReadOnly(true);
            int count = count(reader);
            reader.commitUnchanged();
            return count;
        }
    }

    @ParameterizedTest
    @CsvSource({"H2,false", "H2,true", "HSQLDB,false", "HSQLDB,true"})
    void aSecondaryThatCannotApplyIsDroppedAndSaidToBeAndReadersGoElsewhere(Kind kind, boolean unannounced)
            throws Exception {
        try (MacroDb macro = open(kind, 2, MacroDb.Settings.DEFAULT);
                ClientSession writer = macro.openSession(() -> null)) {
            insert(macro, writer);
            made.get(1).beforeApplierCommit(() -> {
                if (unannounced) {
                    throw new IllegalStateException("broken on purpose");
                }
                throw new SQLException("broken on purpose", "58030");
            });
            insert(macro, writer);
            awaitThat(() -> macro.status().dropped() == 1);
            EngineFailure why = macro.status().lastFailure();
            assertNotNull(why);
            assertEquals(unannounced ? "XX000" : "58030", why.sqlState());
            assertTrue(why.message().contains("broken on purpose"), why.message());
            assertEquals(1, macro.status().secondaries().size());
            awaitThat(() -> macro.status().secondaries().getFirst() == position);
            long before = macro.status().readsAtSecondaries();
            assertEquals(2, countReadOnly(macro));
            assertEquals(before + 1, macro.status().readsAtSecondaries(), "the other one goes on");

            macro.addSecondary();
            assertEquals(List.of(position, position), macro.status().secondaries(), "one in its place, when asked for");
            insert(macro, writer);
            awaitThat(() -> macro.status().secondaries().equals(List.of(position, position)));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aTransactionThatReadsFromAFailingSecondaryEndsThereAndTheNextOneRunsAtThePrimary(Kind kind)
            throws Exception {
        try (MacroDb macro = open(kind, 1, MacroDb.Settings.DEFAULT);
                ClientSession writer = macro.openSession(() -> null);
                ClientSession reader = macro.openSession(() -> null)) {
            insert(macro, writer);
            awaitThat(() -> macro.status().secondaries().getFirst() == position);
            reader.setReadOnly(true);
            assertEquals(1, count(reader));
            made.get(1).beforeApplierCommit(() -> {
                throw new SQLException("broken on purpose", "58030");
            });
            insert(macro, writer);
            awaitThat(() -> macro.status().dropped() == 1);
            assertEquals(1, count(reader), "its snapshot");
            reader.commitUnchanged();
            long before = macro.status().readsAtPrimary();
            assertEquals(2, count(reader));
            reader.commitUnchanged();
            assertEquals(before + 1, macro.status().readsAtPrimary());
        }
    }

    /** A commit is visible at the primary a moment before anybody is told. Who has seen it there may not miss it elsewhere. */
    @ParameterizedTest
    @EnumSource
    void aReaderNeverGetsLessThanThePrimaryShowedWhenItBegan(Kind kind) throws Exception {
        try (MacroDb macro = open(kind, 2, MacroDb.Settings.DEFAULT);
                ClientSession writer = macro.openSession(() -> null);
                ClientSession other = macro.openSession(() -> null)) {
            insert(macro, writer);
            awaitThat(() -> macro.status().secondaries().equals(List.of(position, position)));
            List<Integer> seen = new ArrayList<>();
            made.getFirst().afterClientCommit(() -> {
                seen.add(count(other));
                other.commitUnchanged();
                seen.add(countReadOnly(macro));
            });
            insert(macro, writer);
            assertEquals(List.of(2, 2), seen);
        }
    }

    @Test
    void commitsWaitForASecondaryThatHasTooMuchToCatchUpWithAndNoLongerWhenItIsGone() throws Exception {
        try (MacroDb macro = open(Kind.H2, 1, new MacroDb.Settings(1, 600));
                ClientSession writer = macro.openSession(() -> null)) {
            CountDownLatch open = new CountDownLatch(1);
            made.get(1).beforeApplierCommit(() -> {
                try {
                    assertTrue(open.await(20, TimeUnit.SECONDS));
                } catch (InterruptedException e) {
                    throw new SQLException(e);
                }
                throw new SQLException("broken on purpose", "58030");
            });
            List<CompletableFuture<Void>> commits = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                execute(writer, "INSERT INTO T VALUES (" + i + ", '" + "x".repeat(500) + "')");
                writer.capture();
                CompletableFuture<Void> told = new CompletableFuture<>();
                commits.add(told);
                writer.commit(++position, new Completion<>() {
                    @Override
                    public void succeeded(Void nothing) {
                        told.complete(null);
                    }

                    @Override
                    public void failed(EngineFailure failure) {
                        told.completeExceptionally(new AssertionError(failure));
                    }
                });
                // The first is being applied, the second waits within the bound, the third is beyond it.
                if (i < 2) {
                    told.get(20, TimeUnit.SECONDS);
                }
            }
            assertFalse(commits.get(2).isDone());
            open.countDown();
            commits.get(2).get(20, TimeUnit.SECONDS);
            awaitThat(() -> macro.status().dropped() == 1);
            assertEquals(3, countReadOnly(macro));
        }
    }

    /** A database in memory has no path, so it refuses a constraint that one in files takes. */
    @Test
    void aSecondaryThatRefusesASchemaChangeOfThePrimaryIsDropped(@TempDir Path directory) throws Exception {
        try (MacroDb macro = MacroDb.open(H2Database.inFile(directory.resolve("primary")), H2Database::inMemory, 1,
                MacroDb.Settings.DEFAULT);
                Applier applier = macro.openApplier();
                ClientSession writer = macro.openSession(() -> null)) {
            barrier(applier, "CREATE TABLE T (ID INTEGER PRIMARY KEY, V VARCHAR(1000))");
            insert(macro, writer);
            barrier(applier, "ALTER TABLE T ADD CHECK (DATABASE_PATH() IS NOT NULL)");
            awaitThat(() -> macro.status().dropped() == 1);
            EngineFailure why = macro.status().lastFailure();
            assertNotNull(why);
            assertTrue(why.message().contains("took effect at the primary is refused here: "), why.message());
        }
    }

    private void barrier(Applier applier, String sql) throws Exception {
        Result<ExecuteResult> done = new Result<>();
        applier.execute(++position, new BarrierStatement("PUBLIC", sql).toBytes(), done);
        assertTrue(done.success().tookEffect());
    }

    @ParameterizedTest
    @EnumSource
    void aSecondaryThatCannotBeMadeLeavesNothingBehind(Kind kind) throws Exception {
        List<EmbeddedDatabase> none = List.of();
        try (MacroDb macro = MacroDb.open(kind.create(), none::getFirst, 0, MacroDb.Settings.DEFAULT)) {
            assertThrows(RuntimeException.class, macro::addSecondary);
            SQLException unfilled = assertThrows(SQLException.class, () -> macro.setSecondaries(2));
            assertTrue(unfilled.getMessage().contains("so there are 0 instead of 2: "), unfilled.getMessage());
            assertEquals(List.of(), macro.status().secondaries());
            assertEquals(0, macro.status().filling(), "no queue that nobody empties");
            assertFalse(macro.removeSecondary());
        }
        assertThrows(RuntimeException.class,
                () -> MacroDb.open(kind.create(), none::getFirst, 1, MacroDb.Settings.DEFAULT));
    }
}
