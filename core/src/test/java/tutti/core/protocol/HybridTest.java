package tutti.core.protocol;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import tutti.core.tune.ConcurrencyTuning;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.WriteSet;

/** What random scenarios do not single out: who executes, whose outcome counts, and what a take-over leaves. */
class HybridTest extends HybridSites {
    @Test
    void theOwnerExecutesAndTheReplicaOfTheClientAnswers() {
        submit(7, 2L);
        told(List.of(), List.of(), List.of("undertake 7"));
        undertaken(2, 7, "rows");
        deliver();
        told(List.of("apply 7 rows"), List.of("apply 7 rows", "respond 7 made by 2", "committed 7"),
                List.of("commit 7", "committed 7"));
    }

    @Test
    void aRequestOfSeveralLogsWaitsForAllAndIsExecutedOnce() {
        submit(1, 1L);
        submit(2, 2L);
        submit(3, 1L, 2L);
        submit(4, 2L);
        told(List.of(), List.of("undertake 1"), List.of("undertake 2"));
        undertaken(2, 2, "b");
        deliver();
        told(List.of("apply 2 b"), List.of("apply 2 b", "respond 2 made by 2", "committed 2"),
                List.of("commit 2", "committed 2"));
        undertaken(1, 1, "a");
        deliver();
        assertEquals(List.of("commit 1", "respond 1 made by 1", "committed 1", "undertake 3 and 1 others"), told(1),
                "4 stands behind 3, in the log that they share, and nobody else can begin with it now");
        assertEquals(List.of("apply 1 a"), told(2));
        undertaken(1, 3, "ab");
        deliver();
        assertEquals(List.of("apply 3 ab", "undertake 4"), told(2));
    }

    @Test
    void whatWaitsIsKnownByItsBytesAtAll() {
        submit(1, 1L);
        submit(2, 1L);
        sites.get(0).protocol.submitted(id(3), TransactionRequest.Interactive.UNDECLARED);
        deliver();
        long each = TransactionRequest.Whole.WAITING_BYTES + 1L;
        sites.forEach(site -> assertEquals(2 * each, site.protocol.waitingBytes()));
        Site begun = new Site(2, 2);
        begun.protocol.restore(sites.get(2).protocol.snapshot());
        assertEquals(2 * each, begun.protocol.waitingBytes());
        undertaken(1, 1, "a");
        deliver();
        sites.forEach(site -> assertEquals(each, site.protocol.waitingBytes()));
        undertaken(1, 2, "b");
        deliver();
        sites.forEach(site -> assertEquals(0, site.protocol.waitingBytes()));
    }

    @Test
    void anOwnerThatIsBehindChoosesToExecuteMoreAtATime() {
        Site chooses = new Site(1, 0);
        chooses.protocol.committed(0, 0);
        sites.set(1, chooses);
        for (long one = 1; one <= 150; one++) {
            submit(one, one);
        }
        assertEquals(8, told(1).size());
        chooses.protocol.timer(Hybrid.TUNE_TIMER);
        assertEquals(8, told(1).size(), "nothing has ended meanwhile, so twice as many are tried");
        assertEquals(new ConcurrencyTuning.Choice(16, BATCH), chooses.protocol.undertaking());
        assertNull(sites.get(0).protocol.undertaking(), "numbers were given");
    }

    @Test
    void otherNumbersCountFromNowOn() {
        for (long one = 1; one <= 5; one++) {
            submit(one, 3 * one);
        }
        submit(6, 3L);
        submit(7, 3L);
        assertEquals(List.of("undertake 1", "undertake 2"), told(0));
        Hybrid owner = sites.get(0).protocol;
        owner.undertake(3, 1);
        assertEquals(List.of("undertake 3"), told(0));
        owner.undertake(1, 1);
        undertaken(0, 1, "a");
        deliver();
        undertaken(0, 2, "b");
        deliver();
        assertEquals(List.of("commit 1", "committed 1", "commit 2", "committed 2"), told(0), "3 is at work");
        undertaken(0, 3, "c");
        deliver();
        assertEquals(List.of("commit 3", "committed 3", "undertake 4"), told(0));
        owner.undertake(0, 2);
        assertEquals(List.of("undertake 5", "undertake 6 and 1 others"), told(0));
        assertEquals(new ConcurrencyTuning.Choice(8, 2), owner.undertaking());
        owner.undertake(2, 2);
        assertNull(owner.undertaking());
        owner.timer(Hybrid.TUNE_TIMER);
        assertEquals(List.of(), told(0));
    }

    @Test
    void aSuccessorGoesOnAndTheFirstOutcomeCounts() {
        submit(1, 2L);
        submit(2, 2L);
        told(2);
        undertaken(2, 1, "old");
        Ordered late = order.remove();
        sites.get(0).protocol.view(Set.of(0, 1));
        sites.get(0).protocol.timer(2);
        sites.get(1).protocol.view(Set.of(0, 1));
        sites.get(1).protocol.timer(2);
        assertEquals(1, order.size(), "one of them is the heir");
        deliver();
        assertTrue(told(0).contains("undertake 1 and 1 others"));
        undertaken(0, 1, "new");
        order.addFirst(late);
        deliverNext();
        assertEquals(List.of("commit 1", "committed 1"), told(2));
        assertEquals(List.of("abort 1", "apply 1 old", "undertake 2", "committed 1"), told(0).stream().sorted(
                (one, other) -> one.startsWith("committed") ? 1 : other.startsWith("committed") ? -1 : 0).toList());
        deliver();
        assertFalse(sites.get(1).asked.contains("apply 1 new"), "the second outcome is void");
        told(1);
        undertaken(0, 2, "next");
        deliver();
        assertTrue(told(1).contains("apply 2 next"));
    }

    @Test
    void ifTheHeirDoesNotTakeOverTheNextOneDoes() {
        submit(1, 2L);
        sites.get(1).protocol.view(Set.of(0, 1));
        sites.get(1).protocol.timer(2);
        assertTrue(order.isEmpty(), "replica 0 is the heir");
        sites.get(1).protocol.timer(2);
        told(1);
        deliver();
        assertEquals(List.of("undertake 1"), told(1));
    }

    /** Behind request 1, which is running, all of class 2; what has become first is undertaken when 1 is done. */
    private void queueBehindFirst(Runnable others) {
        submit(1, 2L);
        others.run();
        assertEquals(List.of("undertake 1"), told(2));
        undertaken(2, 1, "first");
        deliver();
        told(0);
        told(1);
    }

    @Test
    void whatStandsBehindIsExecutedWithIt() {
        queueBehindFirst(() -> {
            for (long serial = 2; serial <= 5; serial++) {
                submit(serial, 2L);
            }
        });
        assertEquals(List.of("commit 1", "committed 1", "undertake 2 and 2 others"), told(2), "three at most");
        undertaken(2, 2, 2, "both");
        deliver();
        told(List.of("with 3", "apply 2 both"),
                List.of("with 3", "apply 2 both", "respond 2 made by 2", "respond 3 made by 2", "committed 2",
                        "committed 3"),
                List.of("with 3", "commit 2", "committed 2", "undertake 4 and 1 others"));
        assertTrue(sites.get(0).protocol.undecided(id(4)), "the engine has left it out");
    }

    /** What was executed before it and behind it takes effect, it alone does not. */
    @Test
    void ofThoseExecutedTogetherOneMayBeRefused() {
        queueBehindFirst(() -> {
            for (long serial = 2; serial <= 4; serial++) {
                submit(serial, 2L);
            }
        });
        told(2);
        Response done = Response.done("done".getBytes(UTF_8));
        sites.get(2).protocol.undertaken(id(2),
                new Execution(position, position, new WriteSet(KeySet.EMPTY, "two".getBytes(UTF_8)), ReadSet.EMPTY),
                List.of(done, new Response("23505", "there is one", "refused".getBytes(UTF_8)), done));
        deliver();
        told(List.of("with 4", "apply 2 two"),
                List.of("with 4", "apply 2 two", "respond 2 done", "respond 3 refused", "respond 4 done",
                        "committed 2", "aborted 3", "committed 4"),
                List.of("with 4", "commit 2", "committed 2"));
        assertFalse(sites.get(0).protocol.undecided(id(3)), "its refusal is its result");
    }

    @Test
    void nobodyIsTakenAlongBeforeWhomSomebodyElseStands() {
        submit(1, 2L);
        submit(2, 2L);
        submit(3, 5L);
        submit(4, 2L, 5L);
        submit(5, 2L);
        assertEquals(List.of("undertake 1", "undertake 3"), told(2));
        undertaken(2, 1, "first");
        deliver();
        assertEquals(List.of("commit 1", "committed 1", "undertake 2"), told(2),
                "4 stands behind 3, too, and 5 behind 4");
    }

    @Test
    void whoStandsBehindIsTakenAlongWhoeverOwnsItsLogs() {
        queueBehindFirst(() -> {
            submit(2, 2L);
            submit(3, 1L, 2L);
            submit(4, 1L);
        });
        assertEquals(List.of("commit 1", "committed 1", "undertake 2 and 2 others"), told(2));
        undertaken(2, 2, 2, "both");
        deliver();
        assertEquals(List.of("with 3", "apply 2 both", "respond 2 made by 2", "respond 3 made by 2", "committed 2",
                "committed 3", "undertake 4"), told(1), "what is left is its owner's");
    }

    @Test
    void nobodyIsTakenAlongWhomItsOwnerMayBeExecuting() {
        queueBehindFirst(() -> {
            submit(2, 2L);
            submit(3, 1L);
            submit(4, 1L, 2L);
        });
        assertEquals(List.of("commit 1", "committed 1", "undertake 2"), told(2));
    }

    @Test
    void whoIsTakenAlongHasSeenWhatCommittedInItsOtherClasses() {
        submit(1, 2L);
        submit(2, 5L);
        submit(3, 2L);
        submit(4, 2L, 5L);
        told(2);
        undertaken(2, 1, "a");
        undertaken(2, 2, "b");
        Hybrid owner = sites.get(2).protocol;
        owner.delivered(position + 1, 2, order.remove().message());
        owner.delivered(position + 2, 2, order.remove().message());
        told(2);
        owner.committed(position + 1, 0);
        assertEquals(List.of("committed 1", "undertake 3"), told(2), "what 2 has changed is not visible");
    }

    @Test
    void ofOutcomesThatOverlapTheFirstCounts() {
        queueBehindFirst(() -> {
            submit(2, 2L);
            submit(3, 2L);
        });
        told(2);
        undertaken(2, 2, 2, "both");
        Ordered late = order.remove();
        sites.get(0).protocol.view(Set.of(0, 1));
        sites.get(0).protocol.timer(2);
        deliver();
        assertTrue(told(0).contains("undertake 2 and 1 others"));
        undertaken(0, 2, 1, "one");
        order.add(late);
        deliver();
        assertEquals(List.of("apply 2 one", "respond 2 made by 0", "committed 2"), told(1), "the other is void");
        assertEquals(List.of("abort 2", "apply 2 one", "committed 2"), told(2));
        assertEquals(List.of("commit 2", "committed 2", "undertake 3"), told(0));
        assertTrue(sites.get(1).protocol.undecided(id(3)));
    }

    /** No replica sends that. Who does costs the others nothing: the request is executed all the same. */
    @Test
    void anOutcomeThatNamesARequestTwiceIsVoid() {
        submit(1, 2L);
        HybridMessage.Executed executed = new HybridMessage.Executed(id(1), Response.done(new byte[0]));
        order.add(new Ordered(0, new HybridMessage.Done(List.of(executed, executed),
                new WriteSet(KeySet.EMPTY, new byte[]{1}))));
        deliver();
        assertTrue(sites.get(1).protocol.undecided(id(1)));
        undertaken(2, 1, "once");
        deliver();
        assertTrue(told(1).contains("apply 1 once"));
    }

    @Test
    void whatFailsTogetherIsRunOneByOne() {
        queueBehindFirst(() -> {
            submit(2, 2L);
            submit(3, 2L);
        });
        told(2);
        sites.get(2).protocol.failed(id(2), new AbortReason.Failed("deadlock"));
        sites.get(2).protocol.timer(3);
        assertEquals(List.of("run 2"), told(2));
        undertaken(2, 2, "alone");
        deliver();
        assertEquals(List.of("commit 2", "committed 2", "undertake 3"), told(2));
    }

    /** Of replica 2, which executes in one transaction at a time: request 1 runs, and 2 to 4 are first in their logs. */
    private void manyAreFirst(int together) {
        sites.get(2).protocol.undertake(1, together);
        queueBehindFirst(() -> {
            submit(2, 5L);
            submit(3, 8L);
            submit(4, 11L);
        });
    }

    @Test
    void whereExecutorsAreNotEnoughFirstsOfSeveralClassesAreExecutedTogether() {
        manyAreFirst(3);
        assertEquals(List.of("commit 1", "committed 1", "undertake 2 and 2 others"), told(2));
        undertaken(2, 2, 3, "all");
        deliver();
        told(List.of("with 3", "with 4", "apply 2 all"),
                List.of("with 3", "with 4", "apply 2 all", "respond 2 made by 2", "respond 3 made by 2",
                        "respond 4 made by 2", "committed 2", "committed 3", "committed 4"),
                List.of("with 3", "with 4", "commit 2", "committed 2"));
    }

    @Test
    void firstsThatTheEngineLeavesOutAreExecutedNext() {
        manyAreFirst(3);
        told(2);
        sites.get(2).protocol.undertake(2, 3);
        undertaken(2, 2, 1, "one");
        assertEquals(List.of("undertake 3 and 1 others"), told(2), "before the outcome of 2 is ordered");
        deliver();
        undertaken(2, 3, 2, "others");
        deliver();
        assertEquals(List.of("commit 2", "committed 2", "with 4", "commit 3", "committed 3"), told(2));
    }

    /** Replica 0 executes what is of class 8 from now on, and orders what it makes of it. */
    private void anotherOneExecutes(long serial) {
        order.add(new Ordered(0, new HybridMessage.Done(
                List.of(new HybridMessage.Executed(id(serial), Response.done(new byte[0]))),
                new WriteSet(KeySet.EMPTY, new byte[]{'x'}))));
        deliver();
    }

    @Test
    void whatAnotherOutcomeTakesPartOfIsVoidAndTheRestIsExecutedAnew() {
        manyAreFirst(3);
        told(2);
        undertaken(2, 2, 3, "all");
        Ordered late = order.remove();
        anotherOneExecutes(3);
        assertEquals(List.of("abort 2", "run 2", "apply 3 x"), told(2));
        order.add(late);
        deliver();
        assertEquals(List.of(), told(2), "void");
        undertaken(2, 2, "again");
        deliver();
        assertEquals(List.of("commit 2", "committed 2", "undertake 4"), told(2));
        undertaken(2, 4, "last");
        deliver();
        assertTrue(told(1).containsAll(List.of("committed 2", "committed 3", "committed 4")));
    }

    @Test
    void whenAnotherOutcomeTakesTheFirstOfThemTheOthersAreExecutedAnew() {
        manyAreFirst(3);
        told(2);
        anotherOneExecutes(2);
        assertEquals(List.of("abort 2", "apply 2 x", "committed 2", "undertake 3 and 1 others"), told(2));
        undertaken(2, 3, 2, "rest");
        deliver();
        assertTrue(told(1).containsAll(List.of("committed 2", "committed 3", "committed 4")));
    }

    @Test
    void anOutcomeThatTakesPartOfTwoEndsOneAndHasTheOtherRunAgain() {
        sites.get(2).protocol.undertake(1, 4);
        submit(1, 2L);
        submit(2, 5L);
        submit(3, 8L);
        submit(4, 11L);
        undertaken(2, 1, "first");
        deliver();
        submit(5, 14L);
        sites.get(2).protocol.undertake(2, 4);
        told(0);
        told(1);
        assertEquals(List.of("undertake 1", "commit 1", "committed 1", "undertake 2 and 2 others", "undertake 5"),
                told(2));
        List<HybridMessage.Executed> both = List.of(new HybridMessage.Executed(id(5), Response.done(new byte[0])),
                new HybridMessage.Executed(id(4), Response.done(new byte[0])));
        order.add(new Ordered(0, new HybridMessage.Done(both, new WriteSet(KeySet.EMPTY, new byte[]{'x'}))));
        deliver();
        assertEquals(List.of("abort 2", "run 2", "abort 5", "with 4", "apply 5 x", "committed 5", "undertake 3"),
                told(2));
    }

    @Test
    void firstsThatFailTogetherAreRunOneByOne() {
        manyAreFirst(3);
        told(2);
        sites.get(2).protocol.undertake(3, 3);
        sites.get(2).protocol.failed(id(2), new AbortReason.Failed("deadlock"));
        assertEquals(List.of("undertake 3", "undertake 4"), told(2));
        sites.get(2).protocol.timer(3);
        assertEquals(List.of("run 2"), told(2));
    }

    @Test
    void aClaimOfAnEpochThatIsOverIsVoid() {
        sites.get(0).protocol.view(Set.of(0));
        sites.get(1).protocol.view(Set.of(1));
        sites.get(0).protocol.timer(2);
        sites.get(1).protocol.timer(2);
        assertEquals(2, order.size(), "both take themselves for the heir");
        deliver();
        told(1);
        told(0);
        submit(1, 2L);
        assertEquals(List.of("undertake 1"), told(0));
        assertEquals(List.of(), told(1));
    }

    @Test
    void anotherDivisionLosesAndRepeatsNothingThatIsUnderWay() {
        submit(1, 2L);
        submit(2, 2L);
        submit(3, 5L);
        assertEquals(List.of("undertake 1", "undertake 3"), told(2));
        OrderedParameters now = divided(Map.of("logs", "1", "owners", "0"));
        assertEquals(Map.of("execution", "hybrid", "logs", "1", "owners", "0"), now.values());
        assertEquals(List.of("undertake 1 and 1 others", "undertake 3"), told(0), "its new owner's");
        undertaken(2, 1, "old");
        undertaken(0, 1, 2, "new");
        undertaken(0, 3, "new");
        undertaken(2, 3, "old");
        deliver();
        told(List.of("abort 1", "apply 1 old", "committed 1", "undertake 2", "commit 3", "committed 3"),
                List.of("apply 1 old", "respond 1 made by 2", "committed 1", "apply 3 new", "respond 3 made by 0",
                        "committed 3"),
                List.of("commit 1", "committed 1", "abort 3", "apply 3 new", "committed 3"));
        undertaken(0, 2, "rest");
        deliver();
        assertTrue(told(1).contains("committed 2"));
        submit(4, 1L);
        assertEquals(List.of("undertake 4"), told(0).stream().filter(each -> each.startsWith("undertake")).toList());
    }

    @Test
    void whatAFormerOwnerHasNotBegunItLeavesToTheNewOne() {
        submit(1, 2L);
        submit(2, 5L);
        submit(3, 8L);
        assertEquals(List.of("undertake 1", "undertake 2"), told(2), "it has two executors");
        divided(Map.of("owners", "0,1,0"));
        told(0);
        undertaken(2, 1, "rows");
        deliver();
        assertEquals(List.of("commit 1", "committed 1"), told(2));
    }

    @Test
    void ofTwoDivisionsTheFirstCounts() {
        OrderedParameters birth = sites.get(0).protocol.ordered();
        order.add(new Ordered(0, change(birth, Map.of("logs", "7"))));
        order.add(new Ordered(1, change(birth, Map.of("logs", "9"))));
        deliver();
        assertEquals(new OrderedParameters(1, Map.of("execution", "hybrid", "logs", "7", "owners", "in-turn")),
                sites.get(2).protocol.ordered());
    }

    @Test
    void aClaimOfADivisionThatIsOverIsVoid() {
        sites.get(0).protocol.view(Set.of(0, 1));
        sites.get(0).protocol.timer(2);
        Ordered claim = order.remove();
        divided(Map.of("execution", "passive", "owners", "1"));
        order.add(claim);
        deliver();
        submit(1, 2L);
        assertEquals(List.of("undertake 1"), told(1), "the one owner of all");
    }

    @Test
    void whoBeginsWithASnapshotDividesAsItSays() {
        divided(Map.of("owners", "2"));
        submit(1, 0L);
        assertEquals(List.of("undertake 1"), told(2));
        Site again = new Site(2, 2);
        again.protocol.restore(sites.get(0).protocol.snapshot());
        again.protocol.committed(position, 0);
        assertEquals(List.of("undertake 1"), again.told());
        assertEquals(sites.get(0).protocol.ordered(), again.protocol.ordered());
        Hybrid other = new Hybrid(new Hybrid.Parameters(0, ALL, new Division(Hybrid.Mode.HYBRID, 4, List.of()), 2, 2, 1,
                1), again);
        assertTrue(assertThrows(IllegalArgumentException.class,
                () -> other.restore(new Site(0, 2).protocol.snapshot())).getMessage().contains(
                        "an order that began with {execution=hybrid, logs=3, owners=in-turn}"));
    }

    @Test
    void whatWasHandedInForAnOwnerIsExecutedByOneWhereEveryReplicaExecutes() {
        submit(1, 2L);
        divided(Map.of("execution", "active"));
        submit(2, TransactionRequest.Placement.ALL, 2L);
        submit(3, TransactionRequest.Placement.ALL, 1L);
        submit(4, 2L);
        told(List.of("execute 3"), List.of("execute 3", "committed 3"), List.of("undertake 1", "execute 3"));
        undertaken(2, 1, "rows");
        deliver();
        told(List.of("apply 1 rows", "execute 2"),
                List.of("apply 1 rows", "respond 1 made by 2", "committed 1", "execute 2", "committed 2"),
                List.of("commit 1", "committed 1", "execute 2", "undertake 4"));
        assertEquals("active", sites.get(0).protocol.ordered().values().get("execution"));
        divided(Map.of("execution", "hybrid"));
        undertaken(2, 4, "more");
        deliver();
        assertEquals(List.of("apply 4 more"), told(0));
    }

    @Test
    void whatWorldsAreToHandInFollowsFromWhatTheOrderSays() {
        ChosenProtocol chosen = Protocols.STANDARD.choose("hybrid", Map.of("execution", "active"));
        assertTrue(chosen.has(Trait.EVERYWHERE_IF_POSSIBLE) && chosen.has(Trait.UNDERTAKES));
        OrderedParameters later = new OrderedParameters(7,
                Map.of("execution", "passive", "logs", "3", "owners", "in-turn"));
        assertEquals(Protocols.STANDARD.choose("hybrid", Map.of("execution", "passive")).claims(),
                chosen.claims(later));
        assertFalse(chosen.claims(later).has(Trait.EVERYWHERE_IF_POSSIBLE));
        assertEquals(chosen.claims(), chosen.claims(new OrderedParameters(0, later.values())), "of the beginning");
    }

    @Test
    void aDivisionThatCannotBeIsRefusedWhoeverAsks() {
        OrderedParameters birth = sites.get(0).protocol.ordered();
        Map.of(Map.of("owners", "0,3"), "owners are [0, 3], but the nodes are [0, 1, 2]",
                Map.of("logs", "0"), "valid: 1 to 65536",
                Map.of("executors", "4"), "is each node's own",
                Map.of("log", "4"), "nearest: logs").forEach(
                        (values, why) -> assertTrue(assertThrows(IllegalArgumentException.class,
                                () -> change(birth, values)).getMessage().contains(why), why));
        order.add(new Ordered(0, new HybridMessage.Divide(new Division(Hybrid.Mode.HYBRID, 3, List.of(3)))));
        deliver();
        assertEquals(birth, sites.get(1).protocol.ordered(), "also from a node that does not look");
    }

    @Test
    void aRestartedOwnerGoesOnWithWhatIsInItsLogs() {
        submit(1, 2L);
        submit(2, 2L);
        byte[] snapshot = sites.get(0).protocol.snapshot();
        assertTrue(sites.get(0).protocol.undecided(id(2)));
        Site again = new Site(2, 2);
        again.protocol.restore(snapshot);
        assertEquals(List.of(), again.told());
        again.protocol.committed(position, 0);
        assertEquals(List.of("undertake 1 and 1 others"), again.told());
    }

    @Test
    void whatAllExecuteWaitsForWhatIsBeforeIt() {
        submit(1, TransactionRequest.Placement.ALL, 2L);
        told(List.of("execute 1"), List.of("execute 1", "committed 1"), List.of("execute 1"));
        submit(2, 2L);
        submit(3, TransactionRequest.Placement.ALL, 2L);
        told(List.of(), List.of(), List.of("undertake 2"));
        undertaken(2, 2, "rows");
        deliver();
        assertEquals(List.of("apply 2 rows", "execute 3"), told(0));
    }

    @Test
    void executorsAreBounded() {
        submit(1, 2L);
        submit(2, 5L);
        submit(3, 8L);
        assertEquals(List.of("undertake 1", "undertake 2"), told(2), "of one log, but of other classes");
        undertaken(2, 2, "rows");
        deliver();
        assertEquals(List.of("commit 2", "committed 2", "undertake 3"), told(2));
    }

    @Test
    void aPassingFailureIsTriedAgainForMinutesAndInTheEndTold() {
        submit(1, 2L);
        Hybrid owner = sites.get(2).protocol;
        for (int failures = 1; failures < OwnerRuns.FAILURES_MAX; failures++) {
            owner.failed(id(1), new AbortReason.Failed("deadlock"));
            assertTrue(order.isEmpty(), "it is promised to be executed");
            told(2);
            boolean soon = failures < 25;
            owner.timer(soon ? Hybrid.RETRY_LATER_TIMER : Hybrid.RETRY_TIMER);
            assertEquals(List.of(), told(2));
            owner.timer(soon ? Hybrid.RETRY_TIMER : Hybrid.RETRY_LATER_TIMER);
            assertEquals(List.of("run 1"), told(2));
        }
        owner.failed(id(1), new AbortReason.Failed("deadlock"));
        told(1);
        deliver();
        assertEquals(List.of("respond 1 ", "aborted 1"), told(1));
        assertFalse(sites.get(0).protocol.undecided(id(1)));
    }

    @Test
    void whoGivesWayHasNotFailed() {
        submit(1, 2L);
        for (int i = 0; i < 2 * OwnerRuns.FAILURES_MAX; i++) {
            sites.get(2).protocol.victim(id(1), position);
        }
        sites.get(2).protocol.failed(id(1), new AbortReason.Failed("deadlock"));
        assertTrue(order.isEmpty());
    }

    @Test
    void whatTakesEffectWithoutAChangeCommitsToo() {
        submit(1, 2L);
        told(0);
        undertaken(2, 1, "");
        deliver();
        assertEquals(List.of("with 1"), told(0));
    }

    @Test
    void whatIsRefusedDoesNotCommit() {
        submit(1, 2L);
        told(0);
        sites.get(2).protocol.undertaken(id(1), new Execution(position, position, WriteSet.EMPTY, ReadSet.EMPTY),
                List.of(new Response("23505", "there is one", new byte[0])));
        deliver();
        assertEquals(List.of(), told(0));
    }
}
