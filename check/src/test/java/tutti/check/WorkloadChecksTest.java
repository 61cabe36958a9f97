package tutti.check;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.check.bank.BankCheck;
import tutti.check.isolation.Isolation;
import tutti.check.listappend.ListAppendCheck;
import tutti.engine.postgres.server.PlainServer;
import tutti.workload.bank.BankOptions;
import tutti.workload.bank.BankRun;
import tutti.workload.client.ClientOptions;
import tutti.workload.client.ClientResult;
import tutti.workload.listappend.ListAppendOptions;
import tutti.workload.listappend.ListAppendRun;

/** The isolation levels of one real PostgreSQL, as its clients see them. */
class WorkloadChecksTest {
    private static final ListAppendOptions LISTS = new ListAppendOptions(6, 40, 2, 5, 50, 2);
    /** What a level permits need not happen in a run; it does in nearly every one. */
    private static final int ANOMALY_RUNS_MAX = 10;
    private static PlainServer server;

    @BeforeAll
    static void start(@TempDir Path directory) throws Exception {
        server = PlainServer.start(directory);
    }

    @AfterAll
    static void stop() throws Exception {
        server.close();
    }

    private static String url() {
        return PlainServer.url(server.port(), "postgres");
    }

    private static ClientOptions options(int isolation, long seed) {
        String url = url();
        return ClientOptions.of(List.of(url, url), 8, Duration.ofMillis(1_200), seed).withIsolation(isolation);
    }

    private static ListAppendRun listAppend(int isolation) throws Exception {
        ListAppendRun.createTables(url(), LISTS);
        ListAppendRun run = ListAppendRun.start(options(isolation, 5), LISTS);
        ClientResult result = run.clients().result();
        assertTrue(result.failure().isEmpty(), result.text());
        assertTrue(result.committed() > 100, result.text());
        assertTrue(run.lastReads(1));
        return run;
    }

    private static void passes(ListAppendRun run, Isolation isolation) {
        CheckResult result = ListAppendCheck.check(run.history(), isolation);
        assertTrue(result.passed(), result.text());
    }

    /** Every run keeps what the level promises, and one of a few shows that it is not the other one. */
    private static void isNoMoreThan(int level, Isolation promised, Isolation other) throws Exception {
        for (int run = 0; run < ANOMALY_RUNS_MAX; run++) {
            ListAppendRun lists = listAppend(level);
            passes(lists, promised);
            if (!ListAppendCheck.check(lists.history(), other).passed()) {
                return;
            }
        }
        throw new AssertionError("no run of " + ANOMALY_RUNS_MAX + " was refused as " + other.text());
    }

    @Test
    void repeatableReadIsStrongSnapshotIsolationAndNotSerializable() throws Exception {
        isNoMoreThan(Connection.TRANSACTION_REPEATABLE_READ, Isolation.STRONG_SNAPSHOT_ISOLATION,
                Isolation.SERIALIZABLE);
    }

    @Test
    void serializableIsSerializable() throws Exception {
        ListAppendRun run = listAppend(Connection.TRANSACTION_SERIALIZABLE);
        passes(run, Isolation.SERIALIZABLE);
        passes(run, Isolation.STRONG_SNAPSHOT_ISOLATION);
    }

    @Tag("long")
    @Test
    void readCommittedIsReadCommittedAndNoMore() throws Exception {
        isNoMoreThan(Connection.TRANSACTION_READ_COMMITTED, Isolation.READ_COMMITTED, Isolation.SNAPSHOT_ISOLATION);
    }

    @Test
    void aBankKeepsItsMoneyInSnapshots() throws Exception {
        BankRun.createTables(url(), BankOptions.usual());
        BankRun run = BankRun.start(options(Connection.TRANSACTION_REPEATABLE_READ, 6), BankOptions.usual());
        ClientResult result = run.clients().result();
        assertTrue(result.failure().isEmpty(), result.text());
        CheckResult reads = BankCheck.reads(run.history());
        assertTrue(reads.passed(), reads.text());
        CheckResult state = BankCheck.state("one", run.state(0), run.history());
        assertTrue(state.passed(), state.text());
        try (Connection connection = DriverManager.getConnection(url());
                Statement statement = connection.createStatement()) {
            assertEquals(1, statement.executeUpdate("update bank_account set balance = balance + 1 where id = 7"));
        }
        assertEquals("total",
                BankCheck.state("one", run.state(0), run.history()).violations().getFirst().rule());
    }

    @Test
    void aBankSeemsToLoseMoneyWithoutSnapshots() throws Exception {
        boolean seen = false;
        for (int again = 0; again < ANOMALY_RUNS_MAX && !seen; again++) {
            BankRun.createTables(url(), BankOptions.usual());
            BankRun run = BankRun.start(options(Connection.TRANSACTION_READ_COMMITTED, 6), BankOptions.usual());
            assertTrue(run.clients().result().failure().isEmpty());
            seen = !BankCheck.reads(run.history()).passed();
            assertTrue(BankCheck.state("one", run.state(0), run.history()).passed(), "in the end it is all there");
        }
        assertTrue(seen, "no run of " + ANOMALY_RUNS_MAX + " showed it");
    }

    @Tag("long")
    @Test
    void lostConnectionsLeaveOutcomesUnknownAndNothingWrong() throws Exception {
        BankRun.createTables(url(), BankOptions.usual());
        String url = url();
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            // Each COMMIT takes so long that some are met, on a busy machine as well.
            statement.execute("create function dawdle() returns trigger language plpgsql as "
                    + "$$begin perform pg_sleep(0.002); return null; end$$");
            statement.execute("create constraint trigger dawdles after insert on bank_transfer"
                    + " deferrable initially deferred for each row execute function dawdle()");
        }
        BankRun run = BankRun.start(
                ClientOptions.of(List.of(url, url), 8, Duration.ofSeconds(30), 7), BankOptions.usual());
        int ended = 0;
        long until = System.nanoTime() + Duration.ofSeconds(20).toNanos();
        try (Connection connection = DriverManager.getConnection(url)) {
            while (ended < 20 && System.nanoTime() < until) {
                ended += endSessionsThatCommit(connection);
            }
        }
        run.clients().stop();
        ClientResult result = run.clients().result();
        assertTrue(ended >= 20 && result.failure().isEmpty(), ended + " sessions ended; " + result.text());
        assertTrue(result.unknown() > 0, result.text());
        CheckResult reads = BankCheck.reads(run.history());
        assertTrue(reads.passed(), reads.text());
        CheckResult state = BankCheck.state("one", run.state(0), run.history());
        assertTrue(state.passed(), state.text());
    }

    private static int endSessionsThatCommit(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery("""
                select count(pg_terminate_backend(pid)) from pg_stat_activity
                where backend_type = 'client backend' and pid <> pg_backend_pid() and state = 'active'
                and query = 'COMMIT'""")) {
            assertTrue(row.next());
            return row.getInt(1);
        }
    }

    @Tag("long")
    @Test
    void aFullHistoryEndsTheRun() throws Exception {
        ListAppendRun.createTables(url(), LISTS);
        ListAppendRun run = ListAppendRun.start(
                options(Connection.TRANSACTION_REPEATABLE_READ, 5).withHistoryLimit(50), LISTS);
        assertTrue(run.clients().result().failure().orElseThrow().contains("history is full"));
        assertEquals(50, run.history().size());
    }

    @Test
    void statementsThatAreWrongEndTheRun() throws Exception {
        try (Connection connection = DriverManager.getConnection(url());
                Statement statement = connection.createStatement()) {
            assertFalse(statement.execute("drop table if exists list_append_0, list_append_1"));
        }
        ListAppendRun run = ListAppendRun.start(options(Connection.TRANSACTION_REPEATABLE_READ, 5), LISTS);
        assertTrue(run.clients().result().failure().orElseThrow().contains("42P01"));
    }
}
