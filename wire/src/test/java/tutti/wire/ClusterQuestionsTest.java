package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.Conversation.get;
import static tutti.wire.Conversation.send;
import static tutti.wire.Conversation.simple;
import static tutti.wire.ScriptedNode.take;

import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.AbortReason;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;

/** What the node is asked in transactions, and that they see what they have waited for; on a real server. */
@Timeout(90)
class ClusterQuestionsTest {
    private static EngineFixture fixture;
    private static InetSocketAddress address;
    /** A position that has been recorded last; transactions of tests have low ones. */
    private static long recorded = 1000;

    @BeforeAll
    static void start() throws Exception {
        fixture = new EngineFixture(true, "CREATE TABLE item (id int PRIMARY KEY, note text)");
        EngineCapture capture = fixture.capture();
        capture.recorded(fixture.engine::appliedPosition);
        address = fixture.frontEnd(capture, usual -> usual
                .withUsual("default_transaction_isolation", "repeatable read").withRepetitions(3));
    }

    @AfterAll
    static void stop() throws Exception {
        fixture.close();
    }

    @BeforeEach
    void reset() {
        fixture.node.reset();
        fixture.node.forget();
    }

    private static Connection connect(String mode) throws SQLException {
        return EngineFixture.jdbc(address, mode);
    }

    private static BackendConnection client() throws Exception {
        return fixture.connect(address);
    }

    /** Something is recorded at the next position. */
    private static long record() throws Exception {
        recorded++;
        fixture.admin.execute("INSERT INTO tutti.applied (position) VALUES (" + recorded + ")", EngineFixture.PATIENCE);
        return recorded;
    }

    /** Whoever waits is told, once something more has been recorded. */
    private static void goOn() throws Exception {
        Completion<Long> waits = take(fixture.node.waiting);
        waits.succeeded(record());
    }

    private static ScriptedNode.Open lastBegun() throws InterruptedException {
        ScriptedNode.Open last = take(fixture.node.begun);
        for (ScriptedNode.Open next = fixture.node.begun.poll(); next != null; next = fixture.node.begun.poll()) {
            last = next;
        }
        return last;
    }

    private static void execute(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static String value(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(sql)) {
            assertTrue(row.next());
            return row.getString(1);
        }
    }

    private static String value(PreparedStatement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery()) {
            assertTrue(row.next());
            return row.getString(1);
        }
    }

    /** Does something that may fail beside the test. */
    private static <T> CompletableFuture<T> beside(java.util.concurrent.Callable<T> task) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return task.call();
            } catch (Exception failed) {
                throw new IllegalStateException(failed);
            }
        });
    }

    private static String sqlState(CompletableFuture<?> failing) {
        ExecutionException failed = assertThrows(ExecutionException.class, () -> failing.get(20, TimeUnit.SECONDS));
        Throwable cause = failed.getCause();
        while (!(cause instanceof SQLException) && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause instanceof SQLException sql ? sql.getSQLState() : cause.toString();
    }

    private static String sqlState(Connection connection, String sql) {
        return assertThrows(SQLException.class, () -> value(connection, sql)).getSQLState();
    }

    @ParameterizedTest
    @ValueSource(strings = {"simple", "extended", "extendedForPrepared", "extendedCacheEverything"})
    void aBlockSeesWhatItHasWaitedForFirst(String mode) throws Exception {
        try (Connection connection = connect(mode);
                PreparedStatement all = connection.prepareStatement("SELECT tutti_wait()");
                PreparedStatement one = connection.prepareStatement("SELECT tutti_wait(?)")) {
            connection.setAutoCommit(false);
            fixture.node.keepsWaiting = true;
            for (int round = 0; round < 7; round++) {
                CompletableFuture<String> waits = beside(() -> value(all));
                goOn();
                assertEquals(String.valueOf(recorded), waits.get(20, TimeUnit.SECONDS), mode);
                assertEquals(String.valueOf(recorded), value(connection, "SELECT tutti_position()"), mode);
                connection.rollback();

                one.setLong(1, recorded + 1);
                waits = beside(() -> value(one));
                goOn();
                assertEquals(String.valueOf(recorded), waits.get(20, TimeUnit.SECONDS), mode);
                assertEquals(String.valueOf(recorded), value(connection, "SELECT tutti_position()"), mode);
                connection.commit();
            }
            CompletableFuture<String> waits = beside(
                    () -> value(connection, "SELECT tutti_wait(" + (recorded + 1) + ")"));
            goOn();
            assertEquals(String.valueOf(recorded), waits.get(20, TimeUnit.SECONDS), mode);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"simple", "extended", "extendedForPrepared", "extendedCacheEverything"})
    void whatASnapshotDoesNotShowIsNotWaitedFor(String mode) throws Exception {
        try (Connection connection = connect(mode)) {
            fixture.node.keepsWaiting = true;
            long old = record();
            connection.setAutoCommit(false);
            for (String first : new String[]{"SELECT 1", "PREPARE looks AS SELECT 1",
                    "CREATE TEMP TABLE looks (id int) ON COMMIT DROP"}) {
                execute(connection, first);
                CompletableFuture<String> waits = beside(() -> value(connection, "SELECT tutti_wait()"));
                goOn();
                assertEquals("25001", sqlState(waits), mode + " " + first);
                connection.rollback();
            }
            // a script that begins the block
            connection.setAutoCommit(true);
            if (mode.equals("simple")) {
                for (String script : new String[]{"BEGIN; SELECT 1", "BEGIN; PREPARE later AS SELECT 1",
                        "BEGIN; CREATE TABLE made (id int)"}) {
                    execute(connection, script);
                    CompletableFuture<String> waits = beside(() -> value(connection, "SELECT tutti_wait()"));
                    goOn();
                    assertEquals("25001", sqlState(waits), script);
                    execute(connection, "ROLLBACK");
                }
            }
            connection.setAutoCommit(false);
            // what is visible besides has changed nothing
            execute(connection, "SELECT 1");
            CompletableFuture<String> none = beside(() -> value(connection, "SELECT tutti_wait()"));
            take(fixture.node.waiting).succeeded(recorded + 1000);
            assertEquals(String.valueOf(recorded + 1000), none.get(20, TimeUnit.SECONDS), mode);
            connection.rollback();
            // what the snapshot shows need not be waited for
            execute(connection, "SELECT 1");
            CompletableFuture<String> waits = beside(() -> value(connection, "SELECT tutti_wait(" + old + ")"));
            take(fixture.node.waiting).succeeded(recorded);
            assertEquals(String.valueOf(recorded), waits.get(20, TimeUnit.SECONDS), mode);
            connection.rollback();
            assertEquals(String.valueOf(recorded + 1), value(connection, "SELECT tutti_wait(" + old + ") + 1"), mode);
            connection.rollback();
            assertEquals("0A000", sqlState(connection, "SELECT tutti_wait(" + (recorded + 1) + ") + 1"));
            connection.rollback();
            assertEquals("0A000", sqlState(connection, "SELECT tutti_wait() + 1"));
            connection.rollback();

            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            for (int round = 0; round < 7; round++) {
                execute(connection, "UPDATE item SET note = 'new'");
                waits = beside(() -> value(connection, "SELECT tutti_wait()"));
                goOn();
                assertEquals(String.valueOf(recorded), waits.get(20, TimeUnit.SECONDS), mode);
                assertEquals(String.valueOf(recorded), value(connection, "SELECT tutti_position()"), mode);
                connection.rollback();
            }
        }
    }

    @Test
    void whatIsSentTogetherSeesItToo() throws Exception {
        fixture.node.keepsWaiting = true;
        BackendConnection client = client();
        assertEquals("1tT/I", get(send(client, out -> {
            Frontend.parse(out, "w", "SELECT tutti_wait($1)", 20);
            Frontend.describeStatement(out, "w");
            Frontend.sync(out);
        })));
        String sees = "SELECT 1 / (tutti_position() >= ";
        for (String first : new String[]{"BEGIN", "SELECT 1"}) {
            String shown = sees + (recorded + 1) + ")::int";
            CompletableFuture<String> heard = send(client, out -> {
                Frontend.statement(out, first);
                Frontend.statement(out, "SELECT tutti_wait()");
                Frontend.statement(out, shown);
                Frontend.sync(out);
            });
            goOn();
            String begun = first.equals("BEGIN") ? "12C(BEGIN)" : "12DC(SELECT 1)";
            assertEquals(begun + "12DC(SELECT 1)12DC(SELECT 1)/" + (first.equals("BEGIN") ? 'T' : 'I'), get(heard));
            simple(client, "rollback");

            String then = sees + (recorded + 1) + ")::int";
            long next = recorded + 1;
            heard = send(client, out -> {
                Frontend.statement(out, first);
                Frontend.bind(out, "", "w", String.valueOf(next));
                Frontend.execute(out, "", 0);
                Frontend.statement(out, then);
                Frontend.sync(out);
            });
            goOn();
            assertEquals(begun + "2DC(SELECT 1)12DC(SELECT 1)/" + (first.equals("BEGIN") ? 'T' : 'I'), get(heard));
            simple(client, "rollback");
        }
        // as asyncpg does it: prepared in the block, described, and executed
        simple(client, "begin");
        CompletableFuture<String> prepared = send(client, out -> {
            Frontend.parse(out, "now", "SELECT tutti_wait()");
            Frontend.describeStatement(out, "now");
            Frontend.sync(out);
        });
        goOn();
        assertEquals("1tT/T", get(prepared));
        String shown = sees + recorded + ")::int";
        assertEquals("2DC(SELECT 1)12DC(SELECT 1)/T", get(send(client, out -> {
            Frontend.bind(out, "", "now");
            Frontend.execute(out, "", 0);
            Frontend.statement(out, shown);
            Frontend.sync(out);
        })));
        simple(client, "rollback");
        // behind something that has failed nobody is asked
        assertEquals("12C(BEGIN)E(42601)/E", get(send(client, out -> {
            Frontend.statement(out, "BEGIN");
            Frontend.statement(out, "nonsense");
            Frontend.statement(out, "SELECT tutti_wait()");
            Frontend.sync(out);
        })));
        assertEquals("E(25P02)/E", simple(client, "SELECT tutti_wait()"));
        simple(client, "rollback");
        assertTrue(fixture.node.waiting.isEmpty());
        client.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"simple", "extended", "extendedForPrepared"})
    void whoWaitsGivesWayAtOnceAndMayCancel(String mode) throws Exception {
        try (Connection connection = connect(mode)) {
            fixture.node.keepsWaiting = true;
            connection.setAutoCommit(false);
            // it is rolled back while it waits, run again, and asks again
            for (AbortReason reason : new AbortReason[]{new AbortReason.Victim(0),
                    new AbortReason.LostCertification(0, 0)}) {
                execute(connection, "INSERT INTO item VALUES (1, 'mine')");
                CompletableFuture<String> waits = beside(() -> value(connection, "SELECT tutti_wait(0)"));
                Completion<Long> late = take(fixture.node.waiting);
                record();
                lastBegun().rollBack(reason);
                Completion<Long> again = take(fixture.node.waiting);
                late.succeeded(recorded);
                again.succeeded(recorded);
                assertEquals(String.valueOf(recorded), waits.get(20, TimeUnit.SECONDS), mode);

                // what its client has heard would be something else
                record();
                lastBegun().rollBack(reason);
                take(fixture.node.waiting).succeeded(recorded);
                assertEquals("40001", sqlState(connection, "SELECT 1"), mode);
                connection.rollback();
            }

            try (Statement statement = connection.createStatement()) {
                CompletableFuture<String> waits = beside(() -> {
                    statement.execute("SELECT tutti_wait()");
                    return "";
                });
                take(fixture.node.waiting);
                statement.cancel();
                assertEquals("57014", sqlState(waits), mode);
                connection.rollback();
            }
            fixture.node.keepsWaiting = false;
            fixture.node.awaitRefusal = new EngineFailure("57P03", "no majority", true);
            assertEquals("57P03", sqlState(connection, "SELECT tutti_wait()"), mode);
            assertEquals("25P02", sqlState(connection, "SELECT 1"), mode);
            connection.rollback();
            assertEquals("1", value(connection, "SELECT 1"), mode);
            connection.rollback();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"simple", "extended", "extendedForPrepared"})
    void itIsWaitedForBeforeTheTurnOfATransactionAndNotBehindIt(String mode) throws Exception {
        try (Connection connection = connect(mode)) {
            connection.setAutoCommit(false);
            fixture.node.atOnce = false;
            fixture.node.needsClasses = true;
            fixture.node.runs = true;
            fixture.node.keepsWaiting = true;
            CompletableFuture<String> waits = beside(() -> value(connection, "SELECT tutti_wait()"));
            Completion<Long> asked = take(fixture.node.waiting);
            assertTrue(fixture.node.submitted.isEmpty(), mode);
            asked.succeeded(record());
            assertEquals(String.valueOf(recorded), waits.get(20, TimeUnit.SECONDS), mode);
            take(fixture.node.submitted);
            assertEquals(String.valueOf(recorded), value(connection, "SELECT tutti_position()"), mode);
            assertEquals("25001", sqlState(connection, "SELECT tutti_wait()"), mode);
            connection.rollback();
            assertTrue(fixture.node.waiting.isEmpty());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"simple", "extended", "extendedForPrepared"})
    void outcomesAreToldAnywhereInABlock(String mode) throws Exception {
        try (Connection connection = connect(mode);
                PreparedStatement outcome = connection.prepareStatement("SELECT tutti_outcome(?)")) {
            connection.setAutoCommit(false);
            for (int round = 1; round < 8; round++) {
                execute(connection, "SELECT 1");
                outcome.setString(1, "1:2." + round);
                assertEquals(round % 2 == 0 ? "committed" : "aborted", value(outcome), mode);
                assertEquals("committed", value(connection, "SELECT tutti_outcome('1:2.4')"), mode);
                connection.commit();
            }
            outcome.setString(1, "it's none");
            assertEquals("22023", assertThrows(SQLException.class, () -> value(outcome)).getSQLState(), mode);
            connection.rollback();
        }
    }
}
