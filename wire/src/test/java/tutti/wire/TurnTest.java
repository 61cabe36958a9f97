package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.FrontEndFixture.PATIENCE;
import static tutti.wire.ScriptedNode.take;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.PGConnection;
import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.pgwire.TestServer;

/** Transactions that wait for their turn, as protocols want it that order first and execute then. */
@Timeout(60)
class TurnTest extends OnFrontEnd {
    @BeforeEach
    void resetNode() {
        fixture.node.atOnce = false;
    }

    /** Something that a client does meanwhile. */
    private interface Work {
        Object run() throws Exception;
    }

    private static CompletableFuture<Object> meanwhile(Work work) {
        CompletableFuture<Object> result = new CompletableFuture<>();
        Thread.ofVirtual().start(() -> {
            try {
                result.complete(String.valueOf(work.run()));
            } catch (Exception e) {
                result.completeExceptionally(e);
            }
        });
        return result;
    }

    private static Object get(CompletableFuture<Object> result) throws Exception {
        return result.get(20, TimeUnit.SECONDS);
    }

    private static String sqlState(CompletableFuture<Object> result) {
        Exception e = Assertions.assertThrows(Exception.class, () -> get(result));
        return ((SQLException) e.getCause()).getSQLState();
    }

    private static int update(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return statement.executeUpdate(sql);
        }
    }

    private static String query(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet result = statement.executeQuery(sql)) {
            return result.next() ? result.getString(1) : "nothing";
        }
    }

    private static void elsewhere(String sql) throws Exception {
        fixture.admin.execute("SET session_replication_role = replica; " + sql + "; RESET session_replication_role",
                PATIENCE);
    }

    private static Connection beneath() throws SQLException {
        return DriverManager.getConnection(
                "jdbc:postgresql://127.0.0.1:" + fixture.server.address().getPort() + "/postgres",
                TestServer.SUPERUSER, TestServer.PASSWORD);
    }

    /** In each mode of the driver: what waits sees what was committed before its turn came. */
    private void seesWhatCameBefore(String... properties) throws Exception {
        elsewhere("INSERT INTO account VALUES (1, 10)");
        try (Connection connection = fixture.jdbc(properties)) {
            connection.setAutoCommit(false);
            for (int round = 0; round < 7; round++) {
                int balance = round;
                CompletableFuture<Object> read = meanwhile(
                        () -> query(connection, "select balance from account where id = 1"));
                ScriptedNode.Open waiting = take(fixture.node.submitted);
                elsewhere("UPDATE account SET balance = " + balance + " WHERE id = 1");
                assertTrue(!read.isDone(), "it waits");
                waiting.transaction.run(Priority.OPTIMISTIC);
                assertEquals(Integer.toString(balance), get(read));
                assertEquals("1", get(meanwhile(
                        () -> update(connection, "update account set balance = balance + 1 where id = 1"))));
                assertEquals("null", get(meanwhile(() -> {
                    connection.commit();
                    return null;
                })));
                assertEquals("1:" + (balance + 1), fixture.accounts());
            }
            connection.setAutoCommit(true);
            for (int round = 0; round < 7; round++) {
                int balance = round;
                CompletableFuture<Object> write = meanwhile(
                        () -> update(connection, "update account set balance = balance + 1 where id = 1"));
                ScriptedNode.Open waiting = take(fixture.node.submitted);
                elsewhere("UPDATE account SET balance = " + balance + " WHERE id = 1");
                waiting.transaction.run(Priority.OPTIMISTIC);
                assertEquals("1", get(write));
                assertEquals("1:" + (balance + 1), fixture.accounts());
            }
        }
    }

    @Test
    void aTransactionSeesWhatWasCommittedBeforeItsTurn() throws Exception {
        seesWhatCameBefore();
    }

    @Test
    void aTransactionOfSimpleQueriesSeesWhatWasCommittedBeforeItsTurn() throws Exception {
        seesWhatCameBefore("preferQueryMode=simple");
    }

    @Test
    void aTransactionOfStatementsPreparedBeforeSeesWhatWasCommittedBeforeItsTurn() throws Exception {
        seesWhatCameBefore("prepareThreshold=1");
    }

    @Test
    void aScriptWaitsOnceForEachOfItsTransactions() throws Exception {
        elsewhere("INSERT INTO account VALUES (1, 10)");
        try (Connection connection = fixture.jdbc("preferQueryMode=simple")) {
            CompletableFuture<Object> script = meanwhile(() -> connection.createStatement().execute(
                    "begin; update account set balance = 1; select 1; commit; update account set balance = 2"));
            take(fixture.node.submitted).transaction.run(Priority.OPTIMISTIC);
            take(fixture.node.submitted).transaction.run(Priority.OPTIMISTIC);
            get(script);
            assertEquals("1:2", fixture.accounts());
        }
    }

    @Test
    void readersThatSaySoAndSingleReadsDoNotWait() throws Exception {
        elsewhere("INSERT INTO account VALUES (1, 10)");
        try (Connection connection = fixture.jdbc()) {
            assertEquals("10", query(connection, "select balance from account"));
            connection.setAutoCommit(false);
            connection.setReadOnly(true);
            assertEquals("10", query(connection, "select balance from account"));
            connection.commit();
            assertTrue(fixture.node.submitted.isEmpty());
        }
    }

    @Test
    void aTransactionThatChangesNothingEndsWithoutAsking() throws Exception {
        try (Connection connection = fixture.jdbc()) {
            connection.setAutoCommit(false);
            CompletableFuture<Object> read = meanwhile(() -> query(connection, "select balance from account"));
            take(fixture.node.submitted).transaction.run(Priority.OPTIMISTIC);
            assertEquals("nothing", get(read));
            connection.commit();
            assertEquals("ended", take(fixture.node.ended));
            assertTrue(fixture.node.committed.isEmpty());
        }
    }

    @Test
    void aTransactionWhoseTurnNeverComesIsToldWhyAndTheSessionGoesOn() throws Exception {
        for (boolean autoCommit : new boolean[]{true, false}) {
            for (String mode : new String[]{"simple", "extended"}) {
                try (Connection connection = fixture.jdbc("preferQueryMode=" + mode)) {
                    connection.setAutoCommit(autoCommit);
                    CompletableFuture<Object> write = meanwhile(
                            () -> update(connection, "insert into account values (5, 5)"));
                    take(fixture.node.submitted).transaction
                            .answer(new Outcome.Aborted(new AbortReason.Refused("not here")));
                    assertEquals("25006", sqlState(write), mode);
                    if (!autoCommit) {
                        connection.rollback();
                    }
                    CompletableFuture<Object> again = meanwhile(
                            () -> update(connection, "insert into account values (6, 6)"));
                    take(fixture.node.submitted).transaction.run(Priority.OPTIMISTIC);
                    assertEquals("1", get(again));
                    if (!autoCommit) {
                        connection.commit();
                    }
                    assertEquals("6:6", fixture.accounts());
                    elsewhere("DELETE FROM account");
                }
            }
        }
    }

    @Test
    void whoeverWaitsForItsTurnMayCancelAndTheTransactionLeavesWhenItsTurnComes() throws Exception {
        for (boolean autoCommit : new boolean[]{true, false}) {
            for (String mode : new String[]{"simple", "extended"}) {
                fixture.node.ended.clear();
                try (Connection connection = fixture.jdbc("preferQueryMode=" + mode);
                        Statement statement = connection.createStatement()) {
                    connection.setAutoCommit(autoCommit);
                    CompletableFuture<Object> write = meanwhile(
                            () -> statement.executeUpdate("insert into account values (5, 5)"));
                    ScriptedNode.Open waits = take(fixture.node.submitted);
                    statement.cancel();
                    assertEquals("57014", sqlState(write), mode);
                    if (!autoCommit) {
                        connection.rollback();
                    }
                    CompletableFuture<Object> again = meanwhile(
                            () -> update(connection, "insert into account values (6, 6)"));
                    ScriptedNode.Open next = take(fixture.node.submitted);
                    waits.transaction.run(Priority.OPTIMISTIC);
                    assertEquals("user", take(fixture.node.ended));
                    next.transaction.run(Priority.OPTIMISTIC);
                    assertEquals("1", get(again));
                    if (!autoCommit) {
                        connection.commit();
                    }
                    assertEquals("6:6", fixture.accounts());
                    elsewhere("DELETE FROM account");
                }
            }
        }
    }

    @Test
    void aTransactionThatGaveWayWhileItsClientWasIdleIsToldSoAtTheNextStatement() throws Exception {
        elsewhere("INSERT INTO account VALUES (1, 10)");
        for (String mode : new String[]{"simple", "extended"}) {
            try (Connection connection = fixture.jdbc("preferQueryMode=" + mode)) {
                connection.setAutoCommit(false);
                CompletableFuture<Object> write = meanwhile(
                        () -> update(connection, "update account set balance = 11 where id = 1"));
                ScriptedNode.Open first = take(fixture.node.submitted);
                first.transaction.run(Priority.OPTIMISTIC);
                assertEquals("1", get(write));
                first.rollBack(new AbortReason.Victim(7));
                assertEquals("40001",
                        sqlState(meanwhile(() -> update(connection, "update account set balance = 12 where id = 1"))));
                connection.rollback();
                CompletableFuture<Object> again = meanwhile(
                        () -> update(connection, "update account set balance = 13 where id = 1"));
                take(fixture.node.submitted).transaction.run(Priority.OPTIMISTIC);
                assertEquals("1", get(again), mode);
                connection.rollback();
            }
        }
    }

    @Test
    void aWholeRequestThatGaveWayRunsAgainAndItsClientSeesOneResult() throws Exception {
        elsewhere("INSERT INTO account VALUES (1, 10)");
        for (String mode : new String[]{"simple", "extended"}) {
            try (Connection connection = fixture.jdbc("preferQueryMode=" + mode)) {
                fixture.node.manual = true;
                CompletableFuture<Object> write = meanwhile(
                        () -> query(connection,
                                "update account set balance = balance + 1 where id = 1 returning balance"));
                ScriptedNode.Open open = take(fixture.node.submitted);
                open.transaction.run(Priority.OPTIMISTIC);
                take(fixture.node.asked);
                CompletableFuture<Void> gone = new CompletableFuture<>();
                open.transaction.rollback(() -> gone.complete(null));
                gone.get(20, TimeUnit.SECONDS);
                elsewhere("UPDATE account SET balance = 20 WHERE id = 1");
                open.transaction.run(Priority.ORDERED);
                assertSame(open.transaction, take(fixture.watched), "the engine looks after it now");
                take(fixture.node.asked).commit();
                assertEquals("21", get(write), mode);
                assertEquals("1:21", fixture.accounts());
                elsewhere("UPDATE account SET balance = 10 WHERE id = 1");
            }
        }
    }

    @Test
    void aWholeRequestThatGaveWayAndWhoseEngineIsLostDoesNotRunAgain() throws Exception {
        elsewhere("INSERT INTO account VALUES (1, 10)");
        try (Connection connection = fixture.jdbc()) {
            fixture.node.manual = true;
            CompletableFuture<Object> write = meanwhile(() -> update(connection, "update account set balance = 11"));
            ScriptedNode.Open open = take(fixture.node.submitted);
            open.transaction.run(Priority.OPTIMISTIC);
            take(fixture.node.asked);
            CompletableFuture<Void> gone = new CompletableFuture<>();
            open.transaction.rollback(() -> gone.complete(null));
            gone.get(20, TimeUnit.SECONDS);
            fixture.end(connection.unwrap(PGConnection.class).getBackendPID());
            open.transaction.run(Priority.ORDERED);
            assertEquals("engine", take(fixture.node.ended));
            assertFalse(write.isDone(), "what has become of it the node says");
            open.transaction.answer(new Outcome.Aborted(new AbortReason.Failed("engine")));
            assertEquals("57P01", sqlState(write));
            assertEquals("1:10", fixture.accounts());
        }
    }

    @Test
    void aWholeRequestThatMeetsAConcurrentChangeRunsAgain() throws Exception {
        elsewhere("INSERT INTO account VALUES (1, 10)");
        try (Connection connection = fixture.jdbc(); Connection other = beneath()) {
            other.setAutoCommit(false);
            update(other, "set session_replication_role = replica");
            update(other, "update account set balance = 30 where id = 1");
            CompletableFuture<Object> write = meanwhile(
                    () -> update(connection, "update account set balance = balance + 1 where id = 1"));
            ScriptedNode.Open open = take(fixture.node.submitted);
            open.transaction.run(Priority.OPTIMISTIC);
            while (!query(other, "select count(*) from pg_stat_activity where wait_event_type = 'Lock'").equals("1")) {
                Thread.onSpinWait();
            }
            other.commit();
            assertEquals("first-updater", take(fixture.node.ended));
            open.transaction.run(Priority.ORDERED);
            assertEquals("1", get(write));
            assertEquals("1:31", fixture.accounts());
        }
    }

    @Test
    void aClientThatGoesWhileItWaitsLeavesNothing() throws Exception {
        Connection connection = fixture.jdbc();
        CompletableFuture<Object> write = meanwhile(() -> update(connection, "insert into account values (5, 5)"));
        ScriptedNode.Open waiting = take(fixture.node.submitted);
        connection.abort(Runnable::run);
        assertEquals("disconnect", take(fixture.node.ended));
        waiting.transaction.run(Priority.OPTIMISTIC);
        Assertions.assertThrows(Exception.class, () -> get(write));
        assertEquals("null", fixture.accounts());
    }

    @Test
    void aStatementThatFailsInItsTurnEndsTheTransaction() throws Exception {
        elsewhere("INSERT INTO account VALUES (1, 10)");
        for (String mode : new String[]{"simple", "extended"}) {
            try (Connection connection = fixture.jdbc("preferQueryMode=" + mode)) {
                CompletableFuture<Object> write = meanwhile(
                        () -> update(connection, "insert into account values (1, 5)"));
                take(fixture.node.submitted).transaction.run(Priority.OPTIMISTIC);
                assertEquals("23505", sqlState(write), mode);
                assertEquals("ended", take(fixture.node.ended));
                if (mode.equals("extended")) {
                    assertEquals("42601", sqlState(meanwhile(() -> update(connection, "insert into account valuess"))));
                }
                assertEquals("10", query(connection, "select balance from account"));
            }
        }
        assertTrue(fixture.node.submitted.isEmpty());
    }
}
