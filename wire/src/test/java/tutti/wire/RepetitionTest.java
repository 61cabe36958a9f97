package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.Conversation.extended;
import static tutti.wire.Conversation.get;
import static tutti.wire.Conversation.send;
import static tutti.wire.Conversation.simple;
import static tutti.wire.FrontEndFixture.PATIENCE;
import static tutti.wire.ScriptedNode.take;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.txn.AbortReason;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.Frontend;

/** Transactions that have lost are run again, and clients do not notice, or hear of it as they always did. */
@Timeout(120)
class RepetitionTest {
    private static final AbortReason LOST = new AbortReason.LostCertification(0, 7);
    private static final int TIMES = 3;
    private static final String CHANGES_WHAT_IS_FREE = "UPDATE account SET balance = balance + 1000"
            + " WHERE id IN (SELECT id FROM account FOR UPDATE SKIP LOCKED)";

    private static FrontEndFixture fixture;
    private static ScriptedNode node;
    private BackendConnection client;

    @BeforeAll
    static void start() throws Exception {
        fixture = new FrontEndFixture(FrontEndSettings
                .of(new InetSocketAddress(0), BackendSettings.of(new InetSocketAddress(0), "", "",
                        new BackendSettings.Credentials.Password("")))
                .withRepetitions(TIMES));
        node = fixture.node;
    }

    @AfterAll
    static void stop() throws Exception {
        fixture.close();
    }

    @AfterEach
    void closeClient() {
        client.close();
    }

    @BeforeEach
    void reset() throws Exception {
        fixture.reset();
        elsewhere("INSERT INTO account VALUES (1, 10), (2, 20)");
        client = fixture.client();
    }

    private static void elsewhere(String sql) throws Exception {
        fixture.admin.execute("SET session_replication_role = replica; " + sql + "; RESET session_replication_role",
                PATIENCE);
    }

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
        for (String name : List.of("", "named", "née")) {
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

    // ------------------------------------------------------------------------------------------ any conversation

    /** Conversations of all kinds of messages: with losses at any time they come out as without. */
    @Test
    void conversationsComeOutAsWithoutLosses() throws Exception {
        conversationsComeOut(20);
    }

    @Tag("long")
    @Test
    void moreConversationsComeOutAsWithoutLosses() throws Exception {
        conversationsComeOut(60);
    }

    private void conversationsComeOut(int seeds) throws Exception {
        int repeated = 0;
        for (int seed = 0; seed < seeds; seed++) {
            List<Step> steps = conversation(new Random(seed));
            fixture.reset();
            elsewhere("INSERT INTO account VALUES (1, 10), (2, 20)");
            List<String> expected = new ArrayList<>();
            for (Step step : steps) {
                expected.add(get(step.send(client)));
            }
            String left = fixture.accounts();
            client.close();
            client = fixture.client();
            fixture.reset();
            elsewhere("INSERT INTO account VALUES (1, 10), (2, 20)");
            Random losses = new Random(seed);
            node.manual = true;
            for (int i = 0; i < steps.size(); i++) {
                CompletableFuture<String> answer = steps.get(i).send(client);
                int lost = 0;
                while (!answer.isDone()) {
                    ScriptedNode.Open asks = node.asked.poll(1, TimeUnit.MILLISECONDS);
                    if (asks != null && lost < 2 && losses.nextBoolean()) {
                        lost++;
                        repeated++;
                        asks.rollBack(LOST);
                    } else if (asks != null) {
                        asks.commit();
                    }
                }
                assertEquals(expected.get(i), get(answer), "seed " + seed + ", step " + i + " of " + steps);
                ScriptedNode.Open open = lastBegun();
                if (losses.nextInt(4) == 0 && open != null && expected.get(i).endsWith("/T")) {
                    repeated++;
                    open.rollBack(new AbortReason.Victim(1));
                }
            }
            client.close();
            client = fixture.client();
            assertEquals(left, fixture.accounts(), "seed " + seed);
        }
        assertTrue(repeated > seeds / 2, repeated + " losses");
    }

    /** Likewise, while rows that were read are changed elsewhere: whatever the client hears of, its cycle ends. */
    @Test
    void everyCycleEndsThoughMuchComesOutDifferently() throws Exception {
        Pattern end = Pattern.compile(".*/[ITE]", Pattern.DOTALL);
        int told = 0;
        for (int seed = 0; seed < 60; seed++) {
            Random random = new Random(seed);
            fixture.reset();
            elsewhere("INSERT INTO account VALUES (1, 10), (2, 20)");
            node.manual = true;
            List<Step> steps = conversation(random);
            for (int i = 0; i < steps.size(); i++) {
                if (random.nextBoolean()) {
                    elsewhere(CHANGES_WHAT_IS_FREE);
                }
                // Some clients do not wait for an answer before they go on.
                CompletableFuture<String> earlier = steps.get(i).send(client);
                CompletableFuture<String> answer = i + 1 < steps.size() && random.nextInt(3) == 0
                        ? steps.get(++i).send(client)
                        : earlier;
                int lost = 0;
                long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
                while (!answer.isDone() && System.nanoTime() < until) {
                    ScriptedNode.Open asks = node.asked.poll(1, TimeUnit.MILLISECONDS);
                    if (asks != null && lost < 2 && random.nextBoolean()) {
                        lost++;
                        asks.rollBack(LOST);
                    } else if (asks != null) {
                        asks.commit();
                    }
                }
                assertTrue(answer.isDone(), "seed " + seed + ", step " + i + " of " + steps + " is not answered");
                assertTrue(end.matcher(get(earlier)).matches(), get(earlier));
                String heard = get(answer);
                assertTrue(end.matcher(heard).matches(), heard);
                told += heard.contains("E(40001)") ? 1 : 0;
                ScriptedNode.Open open = lastBegun();
                if (random.nextBoolean() && open != null && heard.endsWith("/T")) {
                    elsewhere(CHANGES_WHAT_IS_FREE);
                    open.rollBack(new AbortReason.Victim(1));
                }
            }
            assertTrue(simple(client, "select 1").endsWith("/I"));
        }
        assertTrue(told > 5, told + " losses told");
    }

    private static ScriptedNode.Open lastBegun() {
        List<ScriptedNode.Open> all = new ArrayList<>();
        node.begun.drainTo(all);
        return all.isEmpty() ? null : all.getLast();
    }

    private record Step(boolean extended, List<String> statements) {
        CompletableFuture<String> send(BackendConnection to) {
            return Conversation.send(to, out -> {
                if (extended) {
                    statements.forEach(sql -> Frontend.statement(out, sql));
                    Frontend.sync(out);
                } else {
                    Frontend.query(out, String.join("; ", statements));
                }
            });
        }
    }

    private static List<Step> conversation(Random random) {
        List<String> plain = List.of("select id, balance from account order by id",
                "update account set balance = balance + 1 where id = 1", "delete from account where id = 2",
                "insert into account values (2, 7)", "insert into account values (3, 1) on conflict do nothing",
                "update account set balance = balance * 2 returning id, balance", "select 1/0",
                "select repeat('x', 3000)", "select repeat('x', 100000) || balance from account where id = 1",
                "create temp table if not exists t (a int)", "savepoint s",
                "rollback to s", "set local work_mem = '1MB'", "show work_mem");
        List<Step> steps = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            List<String> statements = new ArrayList<>();
            for (int j = 1 + random.nextInt(2); j > 0; j--) {
                statements.add(plain.get(random.nextInt(plain.size())));
            }
            switch (random.nextInt(6)) {
                case 0, 1 -> statements.addFirst("begin");
                case 2 -> statements.add("commit");
                default -> {
                    // as it is
                }
            }
            steps.add(new Step(random.nextBoolean(), statements));
        }
        steps.add(new Step(false, List.of("rollback")));
        return steps;
    }
}
