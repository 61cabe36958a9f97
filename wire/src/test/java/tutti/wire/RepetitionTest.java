package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.Conversation.extended;
import static tutti.wire.Conversation.get;
import static tutti.wire.Conversation.send;
import static tutti.wire.Conversation.simple;
import static tutti.wire.FrontEndFixture.PATIENCE;
import static tutti.wire.ScriptedNode.take;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;
import tutti.core.txn.AbortReason;
import tutti.pgwire.Frontend;

/** Transactions that have lost are run again, and clients do not notice, or hear of it as they always did. */
@Timeout(120)
class RepetitionTest extends OnRepeatingFrontEnd {
    private CompletableFuture<String> query(String sql) {
        return send(client, out -> Frontend.query(out, sql));
    }

    private CompletableFuture<String> statement(String... statements) {
        return send(client, out -> {
            for (String sql : statements) {
                Frontend.statement(out, sql);
            }
            Frontend.sync(out);
        });
    }

    // ------------------------------------------------------------------------------------------ requests by themselves

    @Test
    void aStatementByItselfIsRunAgain() throws Exception {
        node.manual = true;
        for (int form = 0; form < 3; form++) {
            String sql = "update account set balance = balance + 1 where id = 1 returning balance";
            CompletableFuture<String> answer = switch (form) {
                case 0 -> query(sql);
                case 1 -> query("select 1; " + sql);
                default -> statement("select 1", sql);
            };
            ScriptedNode.Open first = take(node.asked);
            first.rollBack();
            elsewhere("UPDATE account SET balance = 100 WHERE id = 1");
            first.abort(LOST);
            take(node.asked).commit();
            assertEquals(switch (form) {
                case 0 -> "TDC(UPDATE 1)/I";
                case 1 -> "TDC(SELECT 1)TDC(UPDATE 1)/I";
                default -> "12DC(SELECT 1)12DC(UPDATE 1)/I";
            }, get(answer));
            assertEquals("1:101 2:20", fixture.accounts());
        }
    }

    /**
     * Whoever loses sight of the node asks for the name that it was told before it sent anything: so all runs go by that name, which is told
     * anew, and given back, when the client hears the end and not before.
     */
    @Test
    void theNameThatItsClientKnowsIsThatOfAllRuns() throws Exception {
        node.manual = true;
        try (Connection connection = fixture.jdbc("options=-c tutti.report=on");
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            for (boolean commits : new boolean[]{true, false}) {
                statement.execute("update account set balance = balance + 1 where id = 1");
                String name = told(connection);
                CompletableFuture<@Nullable SQLException> end = CompletableFuture.supplyAsync(() -> {
                    try {
                        connection.commit();
                        return null;
                    } catch (SQLException failure) {
                        return failure;
                    }
                });
                for (int run = 0; run < TIMES; run++) {
                    ScriptedNode.Open lost = take(node.asked);
                    assertEquals(name, String.valueOf(lost.name));
                    assertEquals(run > 0, lost.again);
                    lost.rollBack(LOST);
                }
                ScriptedNode.Open last = take(node.asked);
                assertEquals(name, String.valueOf(last.name));
                assertTrue(last.again);
                assertTrue(node.names.contains(last.name), "nobody else gets it meanwhile");
                if (commits) {
                    last.commit();
                    assertNull(end.get(20, TimeUnit.SECONDS));
                } else {
                    last.rollBack(LOST);
                    assertEquals("40001", Objects.requireNonNull(end.get(20, TimeUnit.SECONDS)).getSQLState());
                }
                assertNotEquals(name, told(connection));
                assertFalse(node.names.contains(last.name));
                connection.rollback();
            }
            statement.execute("update account set balance = balance + 1 where id = 1");
            ScriptedNode.Open idle = node.begun.stream().reduce((_, later) -> later).orElseThrow();
            String name = told(connection);
            idle.rollBack(LOST);
            CompletableFuture<Void> end = CompletableFuture.runAsync(() -> {
                try {
                    connection.commit();
                } catch (SQLException failure) {
                    throw new IllegalStateException(failure);
                }
            });
            ScriptedNode.Open again = take(node.asked);
            assertEquals(name, String.valueOf(again.name), "its client was idle when it was lost");
            assertTrue(again.again);
            again.commit();
            end.get(20, TimeUnit.SECONDS);
        }
        assertEquals("1:12 2:20", fixture.accounts());
    }

    private static String told(Connection connection) throws SQLException {
        return Objects.requireNonNull(connection.unwrap(PGConnection.class).getParameterStatus("tutti.transaction"));
    }

    @Test
    void itIsRunAsOftenAsTheSettingSays() throws Exception {
        node.abort = LOST;
        assertEquals("E(40001)/I", simple(client, "update account set balance = 0"));
        assertEquals("12E(40001)/I", extended(client, "update account set balance = 0"));
        assertEquals(2 * (TIMES + 1), node.begun.size());
        assertEquals("1:10 2:20", fixture.accounts());
        node.abort = null;
        assertEquals("C(UPDATE 2)/I", simple(client, "update account set balance = 0"));
    }

    @Test
    void rowsThatAClientCopiesInAreCopiedAgain() throws Exception {
        node.manual = true;
        CompletableFuture<String> answer = send(client, out -> {
            Frontend.query(out, "copy account (id, balance) from stdin");
            Frontend.copyData(out, Unpooled.copiedBuffer("3\t30\n4\t40\n", StandardCharsets.UTF_8));
            Frontend.copyDone(out);
        });
        take(node.asked).rollBack(LOST);
        take(node.asked).commit();
        assertEquals("GC(COPY 2)/I", get(answer));
        assertEquals("1:10 2:20 3:30 4:40", fixture.accounts());
    }

    /** The engine is asked for the COPY anew between two of its client's rows: the client, which has heard of nothing, is read on. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCopyThatIsRunAgainTakesTheRestOfItsClientsRows(boolean block) throws Exception {
        try (Connection connection = fixture.jdbc()) {
            connection.setAutoCommit(!block);
            CopyIn copy = connection.unwrap(PGConnection.class).getCopyAPI()
                    .copyIn("copy account (id, balance) from stdin");
            for (int row = 3; row < 3 + TIMES; row++) {
                copyRow(copy, row);
                take(node.begun).rollBack(new AbortReason.Victim(row));
            }
            copyRow(copy, 3 + TIMES);
            CompletableFuture<Long> copied = CompletableFuture.supplyAsync(() -> {
                try {
                    return copy.endCopy();
                } catch (SQLException failure) {
                    throw new IllegalStateException(failure);
                }
            });
            assertEquals(1 + TIMES, copied.get(20, TimeUnit.SECONDS));
            if (block) {
                connection.commit();
            }
        }
        assertEquals("1:10 2:20 3:30 4:40 5:50 6:60", fixture.accounts());
    }

    /** A client that gives up its COPY while that is run again hears what PostgreSQL says, and no row stays. */
    @Test
    void aCopyThatIsRunAgainFailsAsItsClientWants() throws Exception {
        try (Connection connection = fixture.jdbc()) {
            CopyIn copy = connection.unwrap(PGConnection.class).getCopyAPI()
                    .copyIn("copy account (id, balance) from stdin");
            copyRow(copy, 3);
            take(node.begun).rollBack(new AbortReason.Victim(3));
            take(node.begun);
            copyRow(copy, 4);
            CompletableFuture<Void> cancelled = CompletableFuture.runAsync(() -> {
                try {
                    copy.cancelCopy();
                } catch (SQLException failure) {
                    throw new IllegalStateException(failure);
                }
            });
            cancelled.get(20, TimeUnit.SECONDS);
            try (Statement statement = connection.createStatement()) {
                assertEquals(1, statement.executeUpdate("update account set balance = 11 where id = 1"));
            }
        }
        assertEquals("1:11 2:20", fixture.accounts());
    }

    private static void copyRow(CopyIn copy, int row) throws SQLException {
        byte[] line = "%d\t%d\n".formatted(row, 10 * row).getBytes(StandardCharsets.UTF_8);
        copy.writeToCopy(line, 0, line.length);
        copy.flushCopy();
    }

    // ------------------------------------------------------------------------------------------ blocks

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aBlockThatLosesAtItsEndIsRunAgain(boolean extended) throws Exception {
        assertEquals("C(BEGIN)/T", simple(client, "begin"));
        assertEquals("TDC(SELECT 1)/T", simple(client, "select balance from account where id = 2"));
        assertEquals("12C(UPDATE 1)/T", extended(client, "update account set balance = balance + 1 where id = 1"));
        node.manual = true;
        CompletableFuture<String> answer = extended ? statement("commit") : query("commit");
        ScriptedNode.Open first = take(node.asked);
        first.rollBack();
        elsewhere("UPDATE account SET balance = 100 WHERE id = 1");
        first.abort(LOST);
        take(node.asked).commit();
        assertEquals(extended ? "12C(COMMIT)/I" : "C(COMMIT)/I", get(answer));
        assertEquals("1:101 2:20", fixture.accounts());
    }

    @Test
    void aBlockIsNotRunAgainUnseenIfItsClientWouldHaveSeenSomethingElse() throws Exception {
        for (boolean extended : new boolean[]{false, true}) {
            elsewhere("UPDATE account SET balance = 10 WHERE id = 1");
            node.manual = false;
            simple(client, "begin");
            assertEquals("TDC(SELECT 1)/T", simple(client, "select balance from account where id = 1"));
            simple(client, "update account set balance = 11 where id = 1");
            node.manual = true;
            CompletableFuture<String> answer = extended ? statement("commit") : query("commit");
            ScriptedNode.Open first = take(node.asked);
            first.rollBack();
            elsewhere("UPDATE account SET balance = 55 WHERE id = 1");
            first.abort(LOST);
            assertEquals(extended ? "12E(40001)/I" : "E(40001)/I", get(answer));
            assertEquals("1:55 2:20", fixture.accounts());
            assertEquals("TDC(SELECT 1)/I", simple(client, "select 1"));
        }
    }

    @Test
    void whoWaitsInvainForARowIsRunAgain() throws Exception {
        simple(client, "begin");
        simple(client, "select balance from account where id = 2");
        elsewhere("UPDATE account SET balance = 100 WHERE id = 1");
        assertEquals("C(UPDATE 1)/T", simple(client, "update account set balance = balance + 1 where id = 1"));
        assertEquals("C(COMMIT)/I", simple(client, "commit"));
        assertEquals("1:101 2:20", fixture.accounts());

        extended(client, "begin", "select balance from account where id = 2");
        elsewhere("UPDATE account SET balance = 200 WHERE id = 1");
        assertEquals("12C(UPDATE 1)/T", extended(client, "update account set balance = balance + 1 where id = 1"));
        assertEquals("12C(COMMIT)/I", extended(client, "commit"));
        assertEquals("1:201 2:20", fixture.accounts());

        simple(client, "begin");
        simple(client, "select balance from account where id = 1");
        elsewhere("UPDATE account SET balance = 300 WHERE id = 1");
        assertEquals("E(40001)/E", simple(client, "update account set balance = balance + 1 where id = 1"));
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
        assertEquals("1:300 2:20", fixture.accounts());
    }

    /** What the engine has answered to the end of the cycle is withheld, so the client still waits for that end. */
    @Test
    void whoHasHeardPartOfACycleThatComesOutDifferentlyHearsItsEnd() throws Exception {
        extended(client, "begin", "select balance from account where id = 2");
        elsewhere("UPDATE account SET balance = 100 WHERE id = 1");
        assertEquals("12DC(SELECT 1)12E(40001)/E",
                extended(client, "select repeat('x', 100000) || balance from account where id = 1",
                        "update account set balance = balance + 1 where id = 1"));
        assertEquals("12C(ROLLBACK)/I", extended(client, "commit"));
        assertEquals("TDC(SELECT 1)/I", simple(client, "select 1"));
        assertEquals("1:100 2:20", fixture.accounts());
    }

    @Test
    void whoIsPushedOutWhileItsClientThinksIsRunAgain() throws Exception {
        simple(client, "begin");
        simple(client, "update account set balance = balance + 1 where id = 1");
        take(node.begun).rollBack(new AbortReason.Victim(3));
        assertEquals("C(UPDATE 1)/T", simple(client, "update account set balance = balance + 1 where id = 1"));
        take(node.begun).rollBack(new AbortReason.Victim(4));
        assertEquals("12C(UPDATE 1)/T", extended(client, "update account set balance = balance + 1 where id = 1"));
        assertEquals("C(COMMIT)/I", simple(client, "commit"));
        assertEquals("1:13 2:20", fixture.accounts());
    }

    @Test
    void whoIsPushedOutWhileItsClientThinksAndWouldSeeSomethingElseFails() throws Exception {
        simple(client, "begin");
        simple(client, "select balance from account where id = 1");
        simple(client, "update account set balance = balance + 1 where id = 2");
        elsewhere("UPDATE account SET balance = 100 WHERE id = 1");
        take(node.begun).rollBack(new AbortReason.Victim(3));
        assertEquals("E(40001)/E", simple(client, "update account set balance = 0 where id = 2"));
        assertEquals("C(ROLLBACK)/I", simple(client, "commit"));
        assertEquals("1:100 2:20", fixture.accounts());
    }

    @Test
    void whoIsPushedOutInAStatementIsRunAgain() throws Exception {
        simple(client, "begin");
        simple(client, "update account set balance = balance + 1 where id = 1");
        CompletableFuture<String> answer = query("select pg_sleep(2)");
        fixture.awaitSleeping();
        take(node.begun).rollBack(new AbortReason.Victim(3));
        assertEquals("TDC(SELECT 1)/T", get(answer));
        assertEquals("C(COMMIT)/I", simple(client, "commit"));
        assertEquals("1:11 2:20", fixture.accounts());
    }

    @Test
    void whoLosesAgainBeforeItHasComeAsFarAsBeforeIsRunAgain() throws Exception {
        simple(client, "begin");
        simple(client, "update account set balance = balance + 1 where id = 1");
        assertEquals("TDC(SELECT 1)/T", simple(client, "select pg_sleep(1)"));
        take(node.begun).rollBack(new AbortReason.Victim(3));
        fixture.awaitSleeping();
        take(node.begun).rollBack(new AbortReason.Victim(4));
        assertEquals("C(UPDATE 1)/T", simple(client, "update account set balance = balance + 1 where id = 2"));
        assertEquals("C(COMMIT)/I", simple(client, "commit"));
        assertEquals("1:11 2:21", fixture.accounts());
    }

    @Test
    void aBlockInOneQueryIsRunAgain() throws Exception {
        node.manual = true;
        CompletableFuture<String> answer = query(
                "begin; update account set balance = balance + 1 where id = 1; commit");
        take(node.asked).rollBack(LOST);
        take(node.asked).commit();
        assertEquals("C(BEGIN)C(UPDATE 1)C(COMMIT)/I", get(answer));
        assertEquals("1:11 2:20", fixture.accounts());
    }

    @Test
    void whatFollowsACommitInTheSameQueryIsNotRunAgain() throws Exception {
        node.manual = true;
        CompletableFuture<String> answer = query("begin; update account set balance = balance + 1 where id = 1; commit;"
                + " begin; update account set balance = balance + 1 where id = 2; commit");
        take(node.asked).commit();
        take(node.asked).rollBack(LOST);
        assertEquals("C(BEGIN)C(UPDATE 1)C(COMMIT)C(BEGIN)C(UPDATE 1)E(40001)/I", get(answer));
        assertEquals("1:11 2:20", fixture.accounts());
    }

    @Test
    void savepointsAndErrorsComeOutTheSame() throws Exception {
        simple(client, "begin");
        simple(client, "savepoint s");
        assertEquals("E(22012)/E", simple(client, "select 1/0"));
        simple(client, "rollback to s");
        simple(client, "update account set balance = balance + 1 where id = 1");
        node.manual = true;
        CompletableFuture<String> answer = query("commit");
        take(node.asked).rollBack(LOST);
        take(node.asked).commit();
        assertEquals("C(COMMIT)/I", get(answer));
        assertEquals("1:11 2:20", fixture.accounts());
    }

    // ------------------------------------------------------------------------------------------ what a rollback does not undo

    @Test
    void statementsPreparedByTheProtocol() throws Exception {
        for (String mode : List.of("prepareThreshold=1", "prepareThreshold=0", "preferQueryMode=simple")) {
            node.manual = false;
            elsewhere("UPDATE account SET balance = 10 WHERE id = 1");
            try (Connection connection = fixture.jdbc(mode);
                    PreparedStatement add = connection
                            .prepareStatement("update account set balance = balance + ? where id = 1")) {
                connection.setAutoCommit(false);
                for (int i = 1; i <= 3; i++) {
                    add.setInt(1, i);
                    assertEquals(1, add.executeUpdate());
                }
                node.manual = true;
                CompletableFuture<Void> commit = CompletableFuture.runAsync(() -> {
                    try {
                        connection.commit();
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                });
                take(node.asked).rollBack(LOST);
                take(node.asked).commit();
                commit.get(20, TimeUnit.SECONDS);
                assertEquals("1:16 2:20", fixture.accounts());
            }
        }
    }

    /** Said again, the first message would mean the statement that was prepared later. */
    @Test
    void aStatementThatIsReplacedLater() throws Exception {
        for (String name : List.of("", "named")) {
            elsewhere("UPDATE account SET balance = 10 WHERE id = 1");
            node.manual = false;
            get(send(client, out -> {
                Frontend.parse(out, name, "update account set balance = balance + 1 where id = 1");
                Frontend.parse(out, "begin" + name, "begin");
                Frontend.sync(out);
            }));
            get(send(client, out -> {
                Frontend.bind(out, "", "begin" + name);
                Frontend.execute(out, "", 0);
                Frontend.bind(out, "", name);
                Frontend.execute(out, "", 0);
                Frontend.closeStatement(out, name);
                Frontend.parse(out, name, "update account set balance = balance + 1000 where id = 1");
                Frontend.bind(out, "", name);
                Frontend.execute(out, "", 0);
                Frontend.sync(out);
            }));
            node.manual = true;
            CompletableFuture<String> answer = query("commit");
            take(node.asked).rollBack(LOST);
            assertEquals("E(40001)/I", get(answer));
            assertEquals("1:10 2:20", fixture.accounts());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"select pg_advisory_lock(1), pg_advisory_unlock(1)", "prepare p as select 1; deallocate p"})
    void whatOutlivesARollbackIsNotRunAgain(String sql) throws Exception {
        simple(client, "begin");
        simple(client, sql);
        simple(client, "update account set balance = 0 where id = 1");
        node.abort = LOST;
        assertEquals("E(40001)/I", simple(client, "commit"));
        assertEquals(1, node.begun.size());
    }

    /** Run again, it would pass over a row of the cursor, and nobody would hear of it. */
    @ParameterizedTest
    @ValueSource(strings = {"move 1 in kept", "/* next */ Move \"kept\";", "select 1;\nmove kept"})
    void aCursorOfAnEarlierTransactionIsMovedOnce(String sql) throws Exception {
        simple(client, "begin; declare kept cursor with hold for select id from generate_series(1, 9) id; commit");
        node.abort = LOST;
        simple(client, "begin");
        simple(client, sql);
        simple(client, "update account set balance = 0 where id = 1");
        assertEquals("E(40001)/I", simple(client, "commit"));
        node.abort = null;
        assertEquals("2", client.execute("fetch 1 from kept", PATIENCE).value());
    }

    @ParameterizedTest
    @ValueSource(strings = {"declare own cursor for select id from account; fetch 1 from own",
            "select id from account order by id\nfetch first 1 rows only"})
    void itsOwnCursorsAndQueriesAreRunAgain(String sql) throws Exception {
        simple(client, "begin");
        simple(client, sql);
        simple(client, "update account set balance = 0 where id = 1");
        node.manual = true;
        CompletableFuture<String> answer = query("commit");
        take(node.asked).rollBack(LOST);
        take(node.asked).commit();
        assertEquals("C(COMMIT)/I", get(answer));
    }

    @Test
    void aValueIsNoStatement() throws Exception {
        node.abort = LOST;
        assertEquals("12E(40001)/I", get(send(client, out -> {
            Frontend.statement(out, "update account set note = $1 where id = 1", "prepared");
            Frontend.sync(out);
        })));
        assertEquals(TIMES + 1, node.begun.size());
    }

    // ------------------------------------------------------------------------------------------ clients that go

    @Test
    void aClientThatGoesWhileItsTransactionIsRunAgainLeavesNothing() throws Exception {
        simple(client, "begin");
        simple(client, "update account set balance = 0 where id = 1");
        node.manual = true;
        CompletableFuture<String> answer = query("commit");
        ScriptedNode.Open first = take(node.asked);
        client.close();
        assertThrows(Exception.class, () -> get(answer));
        first.rollBack(LOST);
        client = fixture.client();
        node.manual = false;
        assertEquals("C(UPDATE 1)/I", simple(client, "update account set balance = 5 where id = 1"));
        assertEquals("1:5 2:20", fixture.accounts());
    }

    @Test
    void aClientThatCancelsGetsItsTransactionBack() throws Exception {
        try (Connection connection = fixture.jdbc(); Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.executeUpdate("update account set balance = 0 where id = 1");
            CompletableFuture<SQLException> asleep = CompletableFuture.supplyAsync(
                    () -> assertThrows(SQLException.class, () -> statement.executeQuery("select pg_sleep(60)")));
            fixture.awaitSleeping();
            take(node.begun).rollBack(new AbortReason.Victim(3));
            take(node.begun);
            fixture.awaitSleeping();
            statement.cancel();
            assertEquals("57014", asleep.get(20, TimeUnit.SECONDS).getSQLState());
            connection.rollback();
            try (ResultSet result = statement.executeQuery("select balance from account where id = 1")) {
                assertTrue(result.next());
                assertEquals(10, result.getInt(1));
            }
        }
    }
}
