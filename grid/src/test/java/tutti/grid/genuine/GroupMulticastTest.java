package tutti.grid.genuine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import tutti.core.txn.TransactionId;
import tutti.grid.multicast.LamportClock;

/** {@code -Dtutti.grid.seeds=N} runs more seeds; the long tests run five times as many. */
@Execution(ExecutionMode.CONCURRENT)
class GroupMulticastTest {
    private static final int SEEDS = Integer.getInteger("tutti.grid.seeds", 300);
    private static final int SEEDS_FOR_MUTANTS = 1000;
    /** Room for one entry. */
    private static final int PART_BYTES = 100;
    private static final Groups PAIR_OF_THREES = new Groups(Map.of(0, List.of(0, 1, 2), 1, List.of(3, 4, 5)));

    private static final GroupRun.Factory THE_CLASS = Mutant::new;

    /** The class itself, unless something of it is overridden. */
    private static class Mutant extends GroupMulticast {
        Mutant(int self, Groups groups, World world, long process) {
            super(self, groups, new LamportClock(Math.max(groups.groupOf(self), 0)), world, process);
        }
    }

    @Test
    void keepsItsPromises() {
        keepsItsPromises(SEEDS);
    }

    @Tag("long")
    @Test
    void keepsItsPromisesWithMoreSeeds() {
        keepsItsPromises(5 * SEEDS);
    }

    private static void keepsItsPromises(int seeds) {
        int deliveries = 0;
        int crashes = 0;
        long ballots = 0;
        long takenIn = 0;
        long left = 0;
        for (long seed = 1; seed <= seeds; seed++) {
            GroupRun run = new GroupRun(seed,
                    seed % 2 == 0 ? THE_CLASS : inParts(() -> new Parts(PART_BYTES)));
            List<String> failures = run.run();
            assertEquals(List.of(), failures, "seed " + seed + ": " + run);
            deliveries += run.deliveries();
            crashes += run.crashes();
            ballots += run.isFirstBallot() ? 0 : 1;
            takenIn += run.takenIn();
            left += run.left();
        }
        String figures = deliveries + " deliveries, " + crashes + " crashes, " + ballots + " runs with other leaders, "
                + takenIn + " lives taken in, " + left + " members left";
        System.getLogger("grid").log(System.Logger.Level.INFO, figures);
        assertTrue(deliveries > 20 * seeds && crashes > seeds / 2 && ballots > seeds / 3 && takenIn > seeds / 2
                && left > seeds / 8,
                figures);
    }

    /** Where what is remembered of a few messages is more than one message holds. */
    private static GroupRun.Factory inParts(Supplier<Parts> parts) {
        return (self, groups, world, process) -> new GroupMulticast(self, groups,
                new LamportClock(Math.max(groups.groupOf(self), 0)), world, parts.get(), process);
    }

    private static void isFound(GroupRun.Factory mutant, String... rules) {
        isFound(1, mutant, rules);
    }

    private static void isFound(long first, GroupRun.Factory mutant, String... rules) {
        for (long seed = first; seed < first + SEEDS_FOR_MUTANTS; seed++) {
            List<String> failures = new GroupRun(seed, mutant).run();
            String found = String.join("; ", failures);
            if (Stream.of(rules).anyMatch(found::contains)) {
                return;
            }
        }
        throw new AssertionError("not found within " + SEEDS_FOR_MUTANTS + " seeds");
    }

    @Test
    void theSmallestProposalAsFinalStampIsFound() {
        isFound((self, groups, world, process) -> new Mutant(self, groups, world, process) {
            @Override
            long finalStamp(Collection<Long> proposals) {
                return Collections.min(proposals);
            }
        }, "thrown", "uniform prefix", "uniform acyclic");
    }

    @Test
    void aClockThatDoesNotSeeAcceptedStampsIsFound() {
        isFound((self, groups, world, process) -> new Mutant(self, groups, world, process) {
            @Override
            void sawAccepted(long stamp) {
                // The next proposal may be below.
            }
        }, "thrown", "uniform prefix", "uniform acyclic");
    }

    @Test
    void committingWhatOneMemberOfEachGroupHasAcceptedIsFound() {
        isFound((self, groups, world, process) -> new Mutant(self, groups, world, process) {
            @Override
            int quorum(Configuration of) {
                return 1;
            }
        }, "thrown", "uniform prefix", "uniform acyclic");
    }

    /** Then a proposal of the leader may be on its way, and below what is delivered. */
    @Test
    void committingWithoutTheOwnLeaderIsFound() {
        isFound((self, groups, world, process) -> new Mutant(self, groups, world, process) {
            @Override
            GenuineMessage.@Nullable Ack decisive(Tracked message) {
                GenuineMessage.Ack leaders = super.decisive(message);
                return leaders != null ? leaders : message.acks.get(self);
            }
        }, "thrown", "uniform prefix", "uniform acyclic");
    }

    /**
     * The last case of the argument that there are no gaps. Two ballots follow on the first; what node 2 alone has accepted is not part of
     * the state of the one, in which node 1 is alone, and is part of that of the other.
     */
    @Test
    void whatABallotHoldsIsNotDeliveredBeforeMoreThanHalfGoOnInIt() {
        assertEquals(List.of("3:0.1 0:0.1", "3:0.1 0:0.1", "3:0.1 0:0.1", "3:0.1", ""),
                twoBallots(THE_CLASS));
        assertThrows(IllegalStateException.class, () -> twoBallots((self, groups, world, process) -> new Mutant(self,
                groups, world, process) {
            @Override
            public boolean isStable() {
                return true;
            }
        }), "delivering at once is found");
    }

    private static List<String> twoBallots(GroupRun.Factory factory) {
        Wire wire = new Wire(new Groups(Map.of(0, List.of(0, 1, 2), 1, List.of(3))), factory);
        wire.nodes.get(3).send(new TransactionId(3, 1), Set.of(0, 1), new byte[0]);
        wire.carry(3, 0, 1);
        wire.carry(3, 2);
        wire.carry(0, 2);
        wire.carry(0, 1);
        wire.nodes.get(0).send(new TransactionId(0, 1), Set.of(0), new byte[0]);
        wire.carry(0, 1);
        wire.carry(1, 0);
        wire.nodes.get(1).lead();
        wire.carry(1, 0);
        wire.carry(0, 1);
        assertEquals(List.of(0L, 1L, 0L), List.of(wire.nodes.get(0).ballot(), wire.nodes.get(1).ballot(),
                wire.nodes.get(2).ballot()));
        wire.nodes.get(2).lead();
        wire.carry(2, 0);
        wire.carry(0, 2);
        assertEquals(2, wire.nodes.get(2).ballot());
        wire.carryAll();
        return wire.worlds.stream().map(world -> String.join(" ", world.delivered)).toList();
    }

    @Test
    void forgettingWhatWasAcceptedWhenALeaderIsReplacedIsFound() {
        isFound((self, groups, world, process) -> new Mutant(self, groups, world, process) {
            @Override
            List<GenuineMessage.Entry> remembered() {
                return super.remembered().stream().filter(entry -> entry.stamp() > 0).toList();
            }
        }, "thrown", "uniform prefix", "uniform acyclic");
    }

    @Test
    void forgettingAllPartsButTheLastIsFound() {
        isFound(inParts(() -> new Parts(PART_BYTES) {
            @Override
            List<GenuineMessage.Entry> whole(int from, long ballot, List<GenuineMessage.Entry> last) {
                return last;
            }
        }), "thrown", "uniform prefix", "uniform acyclic");
    }

    @Test
    void partsOfAMessageThatWillNotComeAreDropped() {
        List<GenuineMessage.Entry> entries = List.of(
                new GenuineMessage.Entry(new TransactionId(1, 1), new int[]{0}, new byte[0], 1, 0));
        Parts parts = new Parts(PART_BYTES);
        parts.came(1, new GenuineMessage.Part(4, entries));
        assertEquals(2, parts.whole(1, 4, entries).size());
        parts.came(1, new GenuineMessage.Part(4, entries));
        assertEquals(1, parts.whole(1, 5, entries).size());
        parts.came(1, new GenuineMessage.Part(4, entries));
        parts.came(1, new GenuineMessage.Part(5, entries));
        assertEquals(2, parts.whole(1, 5, entries).size());
        parts.came(1, new GenuineMessage.Part(5, entries));
        parts.gone(1);
        assertEquals(1, parts.whole(1, 5, entries).size());
    }

    /** What a member remembers of so many messages is more than a connection takes at a time. */
    @Test
    void whatIsRememberedOfManyLargeMessagesIsToldInParts() {
        Wire wire = new Wire(new Groups(Map.of(0, List.of(0, 1, 2))), THE_CLASS);
        byte[] payload = new byte[Parts.BYTES / 2 + 1];
        for (int i = 1; i <= 6; i++) {
            wire.nodes.get(0).send(new TransactionId(0, i), Set.of(0), payload);
        }
        wire.carry(0, 1);
        wire.carry(0, 2);
        wire.nodes.get(1).lead();
        while (wire.nodes.get(1).ballot() == 0 || wire.nodes.get(2).ballot() == 0) {
            wire.worlds.forEach(world -> world.sent.values().stream().flatMap(Deque::stream)
                    .forEach(message -> assertTrue(message.bytes().length < 2 * Parts.BYTES, "a message too large")));
            boolean some = wire.carry(1, 2);
            some |= wire.carry(2, 1);
            assertTrue(some, "nothing is on its way");
        }
        wire.carry(1, 2);
        wire.carry(2, 1);
        wire.carry(1, 2);
        wire.carry(2, 1);
        assertEquals(6, wire.worlds.get(2).delivered.size());
    }

    /** It takes an order of events that few seeds have. */
    @Test
    void goingOnWithWhatOldBallotsHaveAcceptedIsFound() {
        isFound(7150, (self, groups, world, process) -> new Mutant(self, groups, world, process) {
            @Override
            Collection<GenuineMessage.Entry> chosen(Collection<GenuineMessage.Promise> of) {
                Map<TransactionId, GenuineMessage.Entry> chosen = new LinkedHashMap<>();
                of.forEach(promise -> promise.entries().forEach(entry -> chosen.merge(entry.id(), entry,
                        (one, other) -> one.stamp() > 0 ? one : other)));
                return chosen.values();
            }
        }, "thrown", "uniform prefix", "uniform acyclic");
    }

    @Test
    void aLifeThatTakesPartAtOnceIsFound() {
        isFound((self, groups, world, process) -> new Mutant(self, groups, world, 0), "thrown", "uniform prefix",
                "uniform acyclic", "uniform integrity");
    }

    /** It has copied from a leader that has not kept what it has delivered since. */
    @Test
    void aLifeDoesNotTakeAStateThatLacksWhatItWasNotGiven() {
        GroupMulticast life = THE_CLASS.make(2, new Groups(Map.of(0, List.of(0, 1, 2))), new Recorder(), 77);
        Configuration others = Configuration.first(List.of(0, 1));
        Configuration all = others.with(new Configuration.Member(2, 256, 77, ""));
        GenuineMessage.Install complete = new GenuineMessage.Install(256, 0, all, 500, List.of());
        life.received(0, complete);
        assertFalse(life.takesPart(), "it was given nothing");
        life.given(500, GroupMulticast.Over.NOTHING);
        life.received(0, new GenuineMessage.Install(256, 0, all, 501, List.of()));
        assertFalse(life.takesPart(), "what was delivered at 501 may be missing");
        life.received(0, new GenuineMessage.Install(256, 0, others, 500, List.of()));
        assertFalse(life.takesPart(), "this ballot takes in nobody");
        life.received(0, complete);
        assertTrue(life.takesPart());
    }

    /** Then what was sent to the life before is missing for ever. */
    @Test
    void notSayingAgainWhatWasSaidIsFound() {
        isFound((self, groups, world, process) -> new Mutant(self, groups, world, process) {
            @Override
            void again(int from, Tracked message) {
                // It was said before.
            }
        }, "liveness");
    }

    /**
     * Of five members one has promised a ballot of node 3 and crashed. Its next life is taken in by a lower ballot, of node 0, and is one of the three that
     * accept a message there. Node 3 hears of the promise, and of that of node 2, which knows nothing of the message.
     */
    @Test
    void aPromiseOfALifeThatIsOverIsNotCounted() {
        assertEquals(List.of("0:0.1", "0:0.1", "0:0.1", "0:0.1", "0:0.1"), promiseOfALifeThatIsOver(THE_CLASS));
        assertEquals(List.of("0:0.1", "0:0.1", "", "", "0:0.1"), promiseOfALifeThatIsOver(
                (self, groups, world, process) -> new Mutant(self, groups, world, process) {
                    @Override
                    GenuineMessage.Promise parent(Collection<GenuineMessage.Promise> of) {
                        return Collections.min(of, Comparator.comparingLong(GenuineMessage.Promise::joined));
                    }
                }), "counting it is found");
    }

    private static List<String> promiseOfALifeThatIsOver(GroupRun.Factory factory) {
        Groups groups = new Groups(Map.of(0, List.of(0, 1, 2, 3, 4)));
        Wire wire = new Wire(groups, factory);
        GroupMulticast leader = wire.nodes.get(0);
        GroupMulticast rival = wire.nodes.get(3);
        rival.lead();
        rival.lead();
        rival.lead();
        wire.carry(3, 4);
        wire.carry(4, 3);
        wire.nodes.set(4, factory.make(4, groups, wire.worlds.get(4), 1));
        GroupMulticast life = wire.nodes.get(4);
        wire.worlds.forEach(world -> world.sent.remove(4));
        wire.worlds.get(4).sent.clear();
        leader.begins(4, 1);
        assertTrue(leader.takeOut(4));
        for (int i = 0; i < 2; i++) {
            wire.carry(0, 1);
            wire.carry(0, 2);
            wire.carry(1, 0);
            wire.carry(2, 0);
        }
        assertEquals(List.of(256L, 256L, 256L), wire.nodes.stream().limit(3).map(GroupMulticast::ballot).toList());
        life.given(leader.deliveredStamp(),
                Objects.requireNonNull(leader.give(4, 1)));
        assertTrue(leader.takeIn(4, 1, ""));
        wire.carry(0, 1);
        wire.carry(0, 2);
        wire.carry(1, 0);
        wire.carry(2, 0);
        wire.carry(0, 4);
        wire.carry(4, 0);
        wire.carry(0, 1);
        assertEquals(List.of(512L, 512L, 256L, 3L, 512L),
                wire.nodes.stream().limit(5).map(node -> node.equals(rival) ? 3L : node.ballot()).toList());
        wire.carry(1, 0);
        wire.carry(4, 0);
        wire.carry(1, 4);
        wire.carry(4, 1);
        leader.send(new TransactionId(0, 1), Set.of(0), new byte[0]);
        for (int i = 0; i < 3; i++) {
            for (int from : List.of(0, 1, 4)) {
                for (int to : List.of(0, 1, 4)) {
                    wire.carry(from, to);
                }
            }
        }
        assertEquals(List.of("0:0.1", "0:0.1", "", "", "0:0.1"),
                wire.worlds.stream().limit(5).map(world -> String.join(" ", world.delivered)).toList());
        wire.carry(3, 2);
        wire.carry(2, 3);
        wire.carryAll();
        for (int i = 0; i < 3; i++) {
            wire.nodes.forEach(GroupMulticast::tick);
            wire.carryAll();
        }
        return wire.worlds.stream().limit(5).map(world -> String.join(" ", world.delivered)).toList();
    }

    /** What those who were there in the beginning have acknowledged is no majority of those who are there now. */
    @Test
    void countingTheFirstMembersInEachBallotIsFound() {
        isFound((self, groups, world, process) -> new Mutant(self, groups, world, process) {
            @Override
            Configuration counted(int of, long ballot) {
                return Configuration.first(groups.of(of));
            }
        }, "thrown", "uniform prefix", "uniform acyclic", "uniform integrity", "liveness");
    }

    /**
     * Of four members, the first has node 4 taken in, and nobody hears of that but these two. Node 1 leads without them, and would have its group go on without the first at once, before it knows that more than half of the four
     * go on with it: then nodes 1 and 2 are more than half of three, and nodes 0, 3 and 4 of five.
     */
    @Test
    void membersChangeOnlyInABallotInWhichMoreThanHalfGoOn() {
        assertEquals(List.of("", "", "", "", ""), twoChanges(THE_CLASS));
        assertEquals(List.of("0:0.1", "1:0.1", "1:0.1", "0:0.1", "0:0.1"), twoChanges(
                (self, groups, world, process) -> new Mutant(self, groups, world, process) {
                    @Override
                    boolean mayChange() {
                        return true;
                    }
                }), "changing them at once is found");
    }

    private static List<String> twoChanges(GroupRun.Factory factory) {
        Groups groups = new Groups(Map.of(0, List.of(0, 1, 2, 3)), Map.of(4, 0));
        Wire wire = new Wire(groups, factory);
        wire.nodes.set(4, factory.make(4, groups, wire.worlds.get(4), 1));
        GroupMulticast first = wire.nodes.get(0);
        GroupMulticast second = wire.nodes.get(1);
        wire.nodes.get(4).given(0, Objects.requireNonNull(first.give(4, 1)));
        assertTrue(first.takeIn(4, 1, ""));
        for (int other : List.of(1, 2)) {
            wire.carry(0, other);
            wire.carry(other, 0);
        }
        // The state of ballot 256 comes to node 4 only.
        wire.carry(0, 4);
        wire.carry(4, 0);
        wire.worlds.get(0).sent.clear();
        assertEquals(256, wire.nodes.get(4).ballot());
        second.lead();
        for (int other : List.of(2, 3)) {
            wire.carry(1, other);
            wire.carry(other, 1);
        }
        assertEquals(List.of(257L, 2L, 3L), List.of(second.ballot(), 2 + wire.nodes.get(2).ballot(),
                3 + wire.nodes.get(3).ballot()));
        // So it does not take part in ballot 257.
        wire.nodes.get(3).lead();
        wire.worlds.get(3).sent.clear();
        if (!second.takeOut(0)) {
            return wire.worlds.stream().limit(5).map(world -> String.join(" ", world.delivered)).toList();
        }
        for (int i = 0; i < 2; i++) {
            wire.carry(1, 2);
            wire.carry(2, 1);
            if (i == 0) {
                wire.carry(1, 3);
                wire.carry(3, 1);
            }
            wire.carry(1, 2);
            wire.carry(2, 1);
        }
        assertEquals(List.of(513L, 513L), List.of(second.ballot(), wire.nodes.get(2).ballot()));
        second.send(new TransactionId(1, 1), Set.of(0), new byte[0]);
        for (int i = 0; i < 3; i++) {
            wire.carry(1, 2);
            wire.carry(2, 1);
        }
        first.lead();
        first.lead();
        first.lead();
        for (int i = 0; i < 6; i++) {
            for (int from : List.of(0, 3, 4)) {
                for (int to : List.of(0, 3, 4)) {
                    wire.carry(from, to);
                }
            }
        }
        first.send(new TransactionId(0, 1), Set.of(0), new byte[0]);
        for (int i = 0; i < 6; i++) {
            for (int from : List.of(0, 3, 4)) {
                for (int to : List.of(0, 3, 4)) {
                    wire.carry(from, to);
                }
            }
        }
        return wire.worlds.stream().limit(5).map(world -> String.join(" ", world.delivered)).toList();
    }

    /** Of three, the first has node 3 taken in, and crashes. What it has sent comes to one other node besides, or to node 3 alone, or there late. */
    @Test
    void whoIsTakenInAsItsLeaderCrashesIsAMemberOrHearsThatItIsNone() {
        assertEquals("[1, 2] of [0, 1, 2]; over", takenInAsTheLeaderCrashes(false, 0), "nobody but it knows");
        assertEquals("[1, 2, 3] of [0, 1, 2, 3]", takenInAsTheLeaderCrashes(false, 1), "whoever knows goes on with it");
        assertEquals("[1, 2] of [0, 1, 2]; over", takenInAsTheLeaderCrashes(true, 0),
                "it asks when it hears of the ballot late");
    }

    private static String takenInAsTheLeaderCrashes(boolean isLate, int others) {
        Wire wire = new Wire(new Groups(Map.of(0, List.of(0, 1, 2)), Map.of(3, 0)), THE_CLASS);
        GroupMulticast life = THE_CLASS.make(3, new Groups(Map.of(0, List.of(0, 1, 2)), Map.of(3, 0)),
                wire.worlds.get(3), 1);
        wire.nodes.set(3, life);
        GroupMulticast first = wire.nodes.get(0);
        life.given(0, Objects.requireNonNull(first.give(3, 1)));
        // What it had not been given is delivered, and forgotten by who has not led.
        first.send(new TransactionId(0, 1), Set.of(0), new byte[0]);
        wire.carryAll();
        for (int i = 0; i < 3; i++) {
            wire.nodes.subList(0, 3).forEach(GroupMulticast::announce);
            wire.carryAll();
        }
        assertTrue(first.takeIn(3, 1, ""));
        for (int other : List.of(1, 2)) {
            wire.carry(0, other);
            wire.carry(other, 0);
        }
        Runnable takeIn = () -> wire.carry(0, 3);
        if (!isLate) {
            takeIn.run();
            assertTrue(life.takesPart());
            wire.carry(3, 0);
            for (int other = 1; other <= others; other++) {
                wire.carry(0, other);
            }
        }
        for (int other : List.of(1, 2)) {
            wire.worlds.get(0).sent.remove(other);
        }
        for (int round = 0; round < 6; round++) {
            if (round == 0 || wire.nodes.get(1).isWaiting()) {
                wire.nodes.get(1).lead();
            }
            for (int i = 0; i < 4; i++) {
                for (int from : List.of(1, 2, 3)) {
                    for (int to : List.of(1, 2, 3)) {
                        // Nothing comes of a life before it is one.
                        if (from != 3 || !isLate || round > 0) {
                            wire.carry(from, to);
                        }
                    }
                }
            }
            if (isLate && round == 0) {
                for (int other : List.of(1, 2)) {
                    wire.nodes.get(other).introduce(3);
                    wire.carry(other, 3);
                }
                takeIn.run();
                assertTrue(life.takesPart());
            }
            wire.nodes.subList(1, 4).forEach(GroupMulticast::tick);
        }
        List<Integer> there = wire.nodes.subList(1, 4).stream()
                .filter(node -> node.takesPart() && node.ballot() == wire.nodes.get(1).ballot() && node.isStable())
                .map(node -> wire.nodes.indexOf(node)).toList();
        return there + " of " + wire.nodes.get(1).configuration().nodes() + (life.takesPart() ? "" : "; over");
    }

    /** Who has not led for long may be a member no more: nobody asks a group of which it knows too little. */
    @Test
    void aMemberIsTakenOutAndOthersKnow() {
        Groups groups = new Groups(Map.of(0, List.of(0, 1, 2), 1, List.of(3, 4, 5)), Map.of(7, 0));
        Wire wire = new Wire(groups, THE_CLASS);
        GroupMulticast leader = wire.nodes.get(0);
        assertFalse(leader.takeOut(0), "it leads");
        assertFalse(leader.takeOut(7), "it is no member");
        assertFalse(wire.nodes.get(1).takeOut(2), "it does not lead");
        assertTrue(leader.takeOut(2));
        wire.carryAll();
        assertEquals(List.of(0, 1), wire.nodes.get(4).members(0).nodes(), "all know");
        assertEquals(List.of(true, false), List.of(wire.nodes.get(1).takesPart(), wire.nodes.get(2).takesPart()));
        assertThrows(IllegalStateException.class,
                () -> wire.nodes.get(2).send(new TransactionId(2, 1), Set.of(0), new byte[0]));
        wire.nodes.get(4).send(new TransactionId(4, 1), Set.of(0, 1), new byte[0]);
        wire.carryAll();
        assertEquals(List.of(1, 1, 0, 1, 1, 1),
                wire.worlds.stream().limit(6).map(world -> world.delivered.size()).toList());
    }

    /** Of three members one has crashed, and another is to go before anybody knows: it is needed. */
    @Test
    void aMemberStaysWithoutWhichTooFewWouldLive() {
        Wire wire = new Wire(new Groups(Map.of(0, List.of(0, 1, 2))), THE_CLASS);
        GroupMulticast leader = wire.nodes.get(0);
        assertTrue(leader.takeOut(1));
        carryBetween(wire, 0, 1);
        leader.lead();
        carryBetween(wire, 0, 1);
        leader.send(new TransactionId(0, 1), Set.of(0), new byte[0]);
        carryBetween(wire, 0, 1);
        assertEquals(List.of(0, 1, 2), leader.configuration().nodes());
        assertEquals(List.of(List.of("0:0.1"), List.of("0:0.1")),
                List.of(wire.worlds.get(0).delivered, wire.worlds.get(1).delivered));
    }

    private static final TransactionId BY_ANOTHER = new TransactionId(3, 1);

    /** A message of a node outside has been delivered by a group, which then gives that node up before it has heard of that. */
    private static Wire deliveredByWhoIsGone() {
        Wire wire = new Wire(new Groups(Map.of(0, List.of(0, 1, 2))), THE_CLASS);
        wire.nodes.get(3).send(BY_ANOTHER, Set.of(0), new byte[0]);
        wire.carry(3, 0);
        carryAmongFirst(wire);
        for (int i = 0; i < 3; i++) {
            assertEquals(List.of(BY_ANOTHER.toString()), wire.worlds.get(i).delivered);
            wire.worlds.get(i).sent.remove(3);
            wire.nodes.get(i).gone(3);
        }
        return wire;
    }

    private static void carryAmongFirst(Wire wire) {
        carryBetween(wire, 0, 1);
        carryBetween(wire, 1, 2);
        carryBetween(wire, 2, 0);
        carryBetween(wire, 0, 1);
    }

    private static void comesBackTo(Wire wire, int leader) {
        GroupMulticast sender = wire.nodes.get(3);
        for (int i = 0; i < 2 * Outbox.TICKS_BEFORE_REPETITION; i++) {
            sender.tick();
            carryBetween(wire, 3, leader);
            carryAmongFirst(wire);
        }
        wire.worlds.subList(0, 3)
                .forEach(world -> assertTrue(world.delivered.size() <= 1, world.delivered.toString()));
        assertEquals(0, sender.size(), "it is told");
    }

    /** Who was gone lives, and comes to a member that has never heard that it was gone. */
    @Test
    void whatWasDeliveredIsNotDeliveredAgainByALifeThatKnowsItFromOthersOnly() {
        Wire wire = deliveredByWhoIsGone();
        wire.nodes.subList(0, 3).forEach(GroupMulticast::announce);
        carryAmongFirst(wire);
        wire.nodes.subList(0, 3).forEach(node -> assertTrue(node.keepsNothing()));
        GroupMulticast leader = wire.nodes.get(0);
        wire.worlds.set(2, new Recorder());
        wire.nodes.set(2, THE_CLASS.make(2, new Groups(Map.of(0, List.of(0, 1, 2))), wire.worlds.get(2), 77));
        wire.worlds.subList(0, 2).forEach(world -> world.sent.remove(2));
        leader.begins(2, 77);
        assertTrue(leader.takeOut(2));
        carryBetween(wire, 0, 1);
        GroupMulticast.Over over = leader.give(2, 77);
        wire.nodes.get(2).given(leader.deliveredStamp(), Objects.requireNonNull(over));
        assertTrue(leader.takeIn(2, 77, ""));
        carryAmongFirst(wire);
        wire.nodes.get(2).lead();
        carryAmongFirst(wire);
        assertTrue(wire.nodes.get(2).isLeading());
        comesBackTo(wire, 2);
    }

    /** The others have forgotten it before they make a ballot of what they remember. */
    @Test
    void whatABallotDoesNotHoldAnyMoreIsForgottenAndKnownByName() {
        Wire wire = deliveredByWhoIsGone();
        wire.nodes.subList(0, 3).forEach(GroupMulticast::announce);
        for (int other : List.of(0, 2)) {
            wire.carry(1, other);
            wire.carry(2 - other, other);
            wire.worlds.get(other).sent.remove(1);
        }
        carryBetween(wire, 0, 2);
        assertEquals(List.of(true, false, true),
                wire.nodes.subList(0, 3).stream().map(GroupMulticast::keepsNothing).toList());
        wire.nodes.get(2).lead();
        carryBetween(wire, 0, 2);
        carryAmongFirst(wire);
        assertTrue(wire.nodes.get(1).keepsNothing());
        assertEquals(List.of(BY_ANOTHER), wire.worlds.get(1).forgotten);
        wire.nodes.get(1).lead();
        carryAmongFirst(wire);
        assertTrue(wire.nodes.get(1).isLeading());
        comesBackTo(wire, 1);
    }

    private static void carryBetween(Wire wire, int one, int other) {
        for (int i = 0; i < 6; i++) {
            wire.carry(one, other);
            wire.carry(other, one);
        }
    }

    @Test
    void saysWhatCannotBe() {
        GroupMulticast outside = new GroupMulticast(7, PAIR_OF_THREES, new Recorder());
        assertThrows(IllegalStateException.class, outside::lead);
        TransactionId id = new TransactionId(7, 1);
        assertThrows(IllegalArgumentException.class, () -> outside.send(id, Set.of(2), new byte[0]));
        assertThrows(IllegalArgumentException.class, () -> outside.send(id, Set.of(), new byte[0]));
        assertThrows(IllegalArgumentException.class,
                () -> outside.send(new TransactionId(6, 1), Set.of(0), new byte[0]));
        outside.send(id, Set.of(0), new byte[0]);
        assertThrows(IllegalArgumentException.class, () -> outside.send(id, Set.of(0), new byte[0]));
        assertThrows(IllegalArgumentException.class, () -> new Groups(Map.of(0, List.of(1), 1, List.of(2, 1))));
    }

    /** Where every step takes as long, all members deliver after three, whoever has crashed of those who do not lead. */
    @Test
    void takesThreeStepsEvenWhenAMemberOfEachGroupHasCrashed() {
        assertEquals(3, stepsWithout(Set.of()));
        assertEquals(3, stepsWithout(Set.of(2, 4)));
    }

    private static int stepsWithout(Set<Integer> crashed) {
        Wire wire = new Wire(PAIR_OF_THREES, THE_CLASS);
        wire.nodes.get(6).send(new TransactionId(6, 1), Set.of(0, 1), new byte[0]);
        int step = 0;
        while (wire.worlds.stream().mapToInt(world -> world.delivered.size()).sum() < 6 - crashed.size()) {
            step++;
            List<Runnable> arriving = new ArrayList<>();
            for (int i = 0; i < wire.nodes.size(); i++) {
                int from = i;
                wire.worlds.get(i).sent.forEach((to, messages) -> {
                    List.copyOf(messages).stream().filter(_ -> !crashed.contains(to))
                            .forEach(message -> arriving.add(() -> wire.nodes.get(to).received(from, message)));
                    messages.clear();
                });
            }
            arriving.forEach(Runnable::run);
        }
        return step;
    }

    /** The nodes of some groups, and one in none, with what they have sent to each other and has not come. */
    private static final class Wire {
        private final List<Recorder> worlds = new ArrayList<>();
        private final List<GroupMulticast> nodes = new ArrayList<>();

        Wire(Groups groups, GroupRun.Factory factory) {
            int members = groups.members().values().stream().mapToInt(List::size).sum();
            for (int i = 0; i <= members; i++) {
                worlds.add(new Recorder());
                nodes.add(factory.make(i, groups, worlds.get(i), 0));
            }
        }

        /** All that one has sent to another until now comes. */
        boolean carry(int from, int to) {
            return carry(from, to, Integer.MAX_VALUE);
        }

        boolean carry(int from, int to, int most) {
            Deque<GenuineMessage> channel = worlds.get(from).sent.getOrDefault(to, new ArrayDeque<>());
            int count = Math.min(most, channel.size());
            for (int i = 0; i < count; i++) {
                nodes.get(to).received(from, channel.removeFirst());
            }
            return count > 0;
        }

        void carryAll() {
            boolean some = true;
            while (some) {
                some = false;
                for (int from = 0; from < worlds.size(); from++) {
                    for (int to = 0; to < worlds.size(); to++) {
                        some |= carry(from, to);
                    }
                }
            }
        }
    }

    private static final class Recorder implements GroupMulticast.World {
        private final Map<Integer, Deque<GenuineMessage>> sent = new TreeMap<>();
        private final List<String> delivered = new ArrayList<>();
        private final List<TransactionId> forgotten = new ArrayList<>();

        @Override
        public void forgotten(TransactionId id) {
            forgotten.add(id);
        }

        @Override
        public void send(int to, GenuineMessage message) {
            sent.computeIfAbsent(to, _ -> new ArrayDeque<>()).add(message);
        }

        @Override
        public void delivered(TransactionId id, long stamp, byte[] payload) {
            delivered.add(id.toString());
        }

        @Override
        public void finished(TransactionId id, long stamp) {
            // It waits for nothing.
        }
    }
}
