package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.Conversation.get;
import static tutti.wire.Conversation.simple;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.txn.AbortReason;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;

/** Conversations of any kind with transactions that are lost and run again: they come out as without losses. */
@Timeout(120)
class RepeatedConversationsTest extends OnRepeatingFrontEnd {
    private static final String CHANGES_WHAT_IS_FREE = "UPDATE account SET balance = balance + 1000"
            + " WHERE id IN (SELECT id FROM account FOR UPDATE SKIP LOCKED)";

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
                // of one row: in which order several are returned depends on where the engine has put them
                "update account set balance = balance * 2 where id = 1 returning id, balance", "select 1/0",
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
