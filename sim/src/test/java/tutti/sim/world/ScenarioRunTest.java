package tutti.sim.world;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.TwoPhaseCommit;
import tutti.core.protocol.tenth.FirstCommitterDescriptor;
import tutti.sim.fault.FaultKind;
import tutti.sim.fault.FaultPlan;
import tutti.sim.fault.FaultProfile;
import tutti.sim.world.Scenario.OrderKind;

/** A few scenarios of every protocol; many more: {@code ./tutti sim check}. */
class ScenarioRunTest {
    private static final int SEEDS = 4;
    private static final int TRANSACTIONS = 300;

    /** One that Tutti does not come with is among them: a world needs no more than its descriptor. */
    private static final Protocols PROTOCOLS = Protocols.STANDARD.with(new FirstCommitterDescriptor());

    static List<String> protocols() {
        return PROTOCOLS.names();
    }

    private static Scenario scenario(long seed, String protocol, OrderKind order) {
        // Of all the kinds there are, few plans of so few seeds would have a crash.
        return Scenario.random(seed, PROTOCOLS.descriptor(protocol), Map.of(), order, TRANSACTIONS,
                FaultProfile.parse(seed % 2 == 0 ? "crash,kill" : "all"));
    }

    @ParameterizedTest
    @MethodSource("protocols")
    void aProtocolKeepsItsPromisesUnderFaults(String protocol) {
        Map<String, Integer> counts = new TreeMap<>();
        for (long seed = 1; seed <= SEEDS; seed++) {
            for (OrderKind order : OrderKind.values()) {
                ScenarioResult result = ScenarioRun.run(scenario(seed, protocol, order));
                assertTrue(result.passed(), () -> result.scenario().describe() + ": " + result.failed() + " "
                        + result.why() + "\n" + result.scenario().plan());
                result.counts().forEach((what, count) -> counts.merge(what, count, Integer::sum));
            }
        }
        assertTrue(counts.getOrDefault("committed", 0) > SEEDS * TRANSACTIONS / 2, counts::toString);
        assertTrue(counts.getOrDefault("end of a life", 0) > 0, counts::toString);
    }

    /** As many disks as there are may be full at once: nothing that was acknowledged is undone. */
    @ParameterizedTest
    @ValueSource(strings = {"si", "passive", "active", "hybrid", "2pc"})
    void fullDisksAreNoVote(String protocol) {
        for (long seed = 1; seed <= 2 * SEEDS; seed++) {
            ScenarioResult result = ScenarioRun.run(Scenario.random(seed, PROTOCOLS.descriptor(protocol), Map.of(),
                    OrderKind.RAFT, TRANSACTIONS, FaultProfile.parse("engine-full,long")));
            assertTrue(result.passed(), () -> result.scenario().describe() + ": " + result.failed() + " "
                    + result.why() + "\n" + result.scenario().plan());
        }
    }

    /**
     * Damage of disks and lost data, besides all else: within the bound nodes recover or refuse and the others go on, beyond it
     * nobody lies. Seeds that found faults once are mutants now ({@link MutantsTest}), which say what the fault was.
     */
    @ParameterizedTest
    @ValueSource(strings = {"disks", "network,hosts,engine,disks", "beyond", "network,hosts,engine,beyond"})
    void dataThatIsLostIsNeverLostSilently(String faults) {
        Map<String, Integer> counts = new TreeMap<>();
        Set<FaultKind> happened = EnumSet.noneOf(FaultKind.class);
        for (long seed = 1; seed <= 2 * SEEDS; seed++) {
            ScenarioResult result = ScenarioRun.run(Scenario.random(seed, PROTOCOLS.descriptor("si"), Map.of(),
                    OrderKind.RAFT, TRANSACTIONS, FaultProfile.parse(faults)));
            assertTrue(result.passed(), () -> result.scenario().describe() + ": " + result.failed() + " "
                    + result.why() + "\n" + result.scenario().plan());
            result.counts().forEach((what, count) -> counts.merge(what, count, Integer::sum));
            result.happened().forEach((kind, times) -> {
                if (times > 0) {
                    happened.add(kind);
                }
            });
        }
        assertTrue(counts.getOrDefault("committed", 0) > SEEDS * TRANSACTIONS / 2, counts::toString);
        assertTrue(counts.getOrDefault("node refused", 0) > 0, counts::toString);
        assertTrue(happened.size() > 2, happened::toString);
    }

    /**
     * Nodes come with copies, go, take each other's place and move, while hosts crash: all that are members in the end hold the same, and
     * whoever has come serves.
     */
    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "active", "nodo"})
    void membersComeAndGo(String protocol) {
        Map<String, Integer> counts = new TreeMap<>();
        for (long seed = 1; seed <= SEEDS; seed++) {
            Scenario scenario = Scenario.random(seed, PROTOCOLS.descriptor(protocol), Map.of(), OrderKind.RAFT,
                    TRANSACTIONS, FaultProfile.parse("members,crash,pause,long"));
            ScenarioResult result = ScenarioRun.run(scenario);
            assertTrue(result.passed(), () -> scenario.describe() + ": " + result.failed() + " " + result.why() + "\n"
                    + scenario.plan());
            assertEquals(result.fingerprint(),
                    ScenarioRun.run(ReplayFile.parse(new ReplayFile(scenario, ReplayFile.NO_MUTANT, List.of(), "")
                            .text()).scenario()).fingerprint());
            result.counts().forEach((what, count) -> counts.merge(what, count, Integer::sum));
        }
        for (String what : List.of("member added", "member removed", "member moved", "node copied", "node removed")) {
            assertTrue(counts.getOrDefault(what, 0) > 0, counts::toString);
        }
    }

    /** A sector of the note that says so is bad when the copy has come: an operator has to look at that disk. */
    @Test
    void aNodeThatCannotReadWhichCopyItWantsRefusesToGoOn() {
        Scenario drawn = Scenario.random(105328099445L, PROTOCOLS.descriptor("si"), Map.of(), OrderKind.RAFT, 1000,
                FaultProfile.parse("all,disks"));
        FaultPlan plan = FaultPlan.parse("""
                fault-plan 1
                seed 105328099445
                hosts n0,n1,n2
                spares n3,n4
                safety 2s
                f3 at 100ms for 1ms join host n4
                f2 at 830ms for 167ms pause host n4
                f1 at 1s for 1ms bad-sectors host n4 count 1
                """);
        ScenarioResult result = ScenarioRun.run(drawn.withPlan(plan));
        assertTrue(result.passed(), result.why());
    }

    /** Sectors of a copy that has come are bad before it is in place: it is another node's data, so another copy is got. */
    @ParameterizedTest
    @CsvSource({"si, 105328099662", "active, 105328099445"})
    void aCopyThatCannotBeReadIsGotAnew(String protocol, long seed) {
        Map<Long, String> faults = Map.of(105328099662L, """
                hosts n0,n1,n2,n3
                spares n4,n5
                safety 2s
                f4 at 0s for 1ms move host n3
                f5 at 400ms for 1ms engine-old-checkpoint host n0
                f2 at 900ms for 1ms bad-sectors host n0 count 3
                """, 105328099445L, """
                hosts n0,n1,n2
                spares n3,n4
                safety 2s
                f3 at 100ms for 1ms join host n4
                f2 at 800ms for 335ms pause host n4
                f1 at 1s for 1ms bad-sectors host n4 count 2
                """);
        Scenario drawn = Scenario.random(seed, PROTOCOLS.descriptor(protocol), Map.of(), OrderKind.RAFT, 1000,
                FaultProfile.parse("all,disks"));
        FaultPlan plan = FaultPlan.parse("fault-plan 1\nseed " + seed + "\n" + faults.get(seed));
        ScenarioResult result = ScenarioRun.run(drawn.withPlan(plan));
        assertTrue(result.passed(), result.why());
        assertEquals(1, result.counts().get("node copied"));
    }

    /** The snapshot of a copy may be older than the message that adds its node, and older than changes before that. */
    @Test
    void aNodeComesWithASnapshotFromBeforeItWasAdded() {
        Scenario drawn = Scenario.random(32, PROTOCOLS.descriptor("si"), Map.of(), OrderKind.RAFT, 1000,
                FaultProfile.parse("members,crash,pause,long"));
        FaultPlan plan = FaultPlan.parse("""
                fault-plan 1
                seed 32
                hosts n0,n1,n2,n3
                spares n4,n5
                safety 2s
                f1 at 636ms for 3ms replace host n3 by n4
                f2 at 1.703s for 297ms replace host n1 by n5
                """);
        ScenarioResult result = ScenarioRun.run(drawn.withPlan(plan));
        assertTrue(result.passed(), result.why());
        assertEquals(2, result.counts().get("node copied"));
    }

    /** Where nodes refuse to change the members, plans have no such change. */
    @ParameterizedTest
    @CsvSource({"2pc, RAFT", "wice, RAFT", "passive, RAFT", "akara, RAFT", "si, GROUP", "si, IDEAL"})
    void membersStayWhereNodesRefuse(String protocol, OrderKind order) {
        for (long seed = 1; seed <= 20; seed++) {
            Scenario scenario = Scenario.random(seed, PROTOCOLS.descriptor(protocol), Map.of(), order, TRANSACTIONS,
                    FaultProfile.parse("all"));
            assertFalse(scenario.plan().changesMembers());
            assertEquals(List.of(), scenario.plan().spares());
            assertTrue(scenario.describe().endsWith("members that stay")
                    || scenario.describe().contains(", members that stay,"));
        }
    }

    /**
     * Effects that one node cannot make, or only the one that has executed them: nobody who serves differs from the others, the
     * minority is behind until it can, or excluded, and the others go on. Under two-phase commit all nodes make changes before they
     * are decided, so there nobody is excluded.
     */
    @ParameterizedTest
    @CsvSource({"si, true", "dbsm, true", "passive, true", "akara, true", "wice, true", "2pc, false"})
    void whatSomeNodeCannotMakeCostsThatNodeAtMost(String protocol, boolean excluded) {
        Map<String, Integer> counts = new TreeMap<>();
        Map<FaultKind, Long> happened = new EnumMap<>(FaultKind.class);
        for (long seed = 1; seed <= 3 * SEEDS; seed++) {
            ScenarioResult result = ScenarioRun.run(Scenario.random(seed, PROTOCOLS.descriptor(protocol), Map.of(),
                    OrderKind.values()[(int) (seed % OrderKind.values().length)], TRANSACTIONS,
                    FaultProfile.parse(seed % 2 == 0 ? "rows,long" : "crash,rows,long")));
            assertTrue(result.passed(), () -> result.scenario().describe() + ": " + result.failed() + " "
                    + result.why() + "\n" + result.scenario().plan());
            result.counts().forEach((what, count) -> counts.merge(what, count, Integer::sum));
            result.happened().forEach((kind, times) -> happened.merge(kind, times, Long::sum));
        }
        assertTrue(happened.getOrDefault(FaultKind.ENGINE_REFUSES, 0L) > 0, happened::toString);
        assertTrue(happened.getOrDefault(FaultKind.OWN_ROWS, 0L) > 0, happened::toString);
        assertEquals(excluded, counts.getOrDefault("node restarted", 0) > 0, counts::toString);
        assertEquals(excluded, counts.getOrDefault("node excluded", 0) > 0, counts::toString);
        assertEquals(excluded, counts.getOrDefault("left out", 0) > 0, counts::toString);
    }

    /**
     * A transaction that waited for admission lost its connection, and with it its locks: what was made visible after that and
     * before its turn was taken to have been kept out by them, and its update was lost.
     */
    @Test
    void locksThatAreLostWhileATransactionWaitsForAdmissionKeepNothingOut() {
        ScenarioResult result = ScenarioRun.run(Scenario.random(1069601642900L, PROTOCOLS.descriptor("si"), Map.of(),
                OrderKind.RAFT, 1000, FaultProfile.parse("hosts")));
        assertTrue(result.passed(), () -> result.failed().toString());
    }

    /**
     * Whoever ends by itself with nothing to commit, while its node has it rolled back or gives it priority, was run again by its
     * session and never ended in the database.
     */
    @ParameterizedTest
    @CsvSource({"1051196177280, none", "984587347929, network", "1069601642887, hosts"})
    void aSessionThatHasEndedRunsNoMore(long seed, String faults) {
        ScenarioResult result = ScenarioRun.run(Scenario.random(seed, PROTOCOLS.descriptor("akara"), Map.of(),
                OrderKind.RAFT, 1000, FaultProfile.parse(faults)));
        assertTrue(result.passed(), result::why);
    }

    /** A session that has booked begins when those before it are over, at whichever node, and not because it does not want to wait any longer. */
    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r"})
    void whatIsBookedComes(String protocol) {
        ScenarioResult result = ScenarioRun.run(Scenario.random(1, PROTOCOLS.descriptor(protocol), Map.of(),
                OrderKind.RAFT, 300, FaultProfile.parse("none")));
        assertTrue(result.passed(), result::why);
        assertTrue(result.counts().getOrDefault("booked", 0) > 10, result.counts()::toString);
        assertEquals(0, result.counts().getOrDefault("booked for too long", 0), result.counts()::toString);
    }

    /** A node that could not reach the others again so soon after the faults was probed forty times in one instant. */
    @ParameterizedTest
    @ValueSource(longs = {11, 135})
    void aNodeHasTimeToReachTheOthersAgain(long seed) {
        ScenarioResult result = ScenarioRun.run(Scenario.random(seed, PROTOCOLS.descriptor("si"), Map.of(),
                OrderKind.RAFT, 1000, FaultProfile.parse("clogging")));
        assertTrue(result.passed(), result::why);
    }

    /** Two of three members forgot a group's order at once, for their processes ended with their databases' servers. */
    @Test
    void noMoreThanAMinorityForgetsAGroupsOrder() {
        ScenarioResult result = ScenarioRun.run(Scenario.random(603320222355L, PROTOCOLS.descriptor("si"), Map.of(),
                OrderKind.GROUP, 1000, FaultProfile.parse("all")));
        assertTrue(result.passed(), result::why);
    }

    /**
     * A node that was cut off for a moment had the others' lives ended, which was ordered when it could reach them again: those
     * began anew for nothing, and forgot the order of a group.
     */
    @Test
    void whoIsCutOffEndsNobodysLife() {
        ScenarioResult result = ScenarioRun.run(Scenario.random(608137522973L, PROTOCOLS.descriptor("dbsm"), Map.of(),
                OrderKind.GROUP, 1000, FaultProfile.parse("all")));
        assertTrue(result.passed(), result::why);
    }

    /** A node that came back gave up, for one that had stood still took its former life for alive for longer than it waited. */
    @Test
    void aNodeIsNotTurnedAwayForGoodByOneThatStoodStill() {
        ScenarioResult result = ScenarioRun.run(Scenario.random(1051702926616L, PROTOCOLS.descriptor("si"), Map.of(),
                OrderKind.RAFT, 1000, FaultProfile.parse("all")));
        assertTrue(result.passed(), result::why);
    }

    /** Clients stayed at a node that had refused to go on, or waited for a cluster that had. */
    @ParameterizedTest
    @CsvSource({"1054775863485, passive, 'all,disks'", "1054775863499, passive, disks", "1054775863496, wice, disks"})
    void nobodyWaitsForANodeThatRefuses(long seed, String protocol, String faults) {
        ScenarioResult result = ScenarioRun.run(Scenario.random(seed, PROTOCOLS.descriptor(protocol), Map.of(),
                OrderKind.RAFT, 1000, FaultProfile.parse(faults)));
        assertTrue(result.passed(), result::why);
    }

    /** The replicas were taken to be at rest though one had not been given the last message, which changed nothing. */
    @Test
    void atRestEverybodyHasBeenGivenEverything() {
        ScenarioResult result = ScenarioRun.run(Scenario.random(1325, PROTOCOLS.descriptor("si"), Map.of(),
                OrderKind.RAFT, 1000, FaultProfile.parse("all")));
        assertTrue(result.passed(), () -> result.failed().toString());
    }

    /**
     * Where few may wait for their outcome, those that have executed hold locks until it is their turn; prepared changes that
     * waited for them were not known to wait for whoever was in flight, nor for themselves where a transaction that still ran
     * stood between, so each of these deadlocks lasted until a timeout.
     */
    @Test
    void noDeadlockOfTwoPhaseCommitLastsUntilATimeout() {
        ScenarioResult result = ScenarioRun.run(Scenario.random(314025325968L,
                PROTOCOLS.descriptor(TwoPhaseCommit.NAME), Map.of(), OrderKind.RAFT, 1000,
                FaultProfile.parse("none")));
        assertTrue(result.passed(), result::why);
        assertEquals(0, result.counts().getOrDefault("aborted: lock-timeout", 0), result.counts()::toString);
    }

    /** A client's transaction that had executed when its database's server died: what it changed cannot be read any more. */
    @ParameterizedTest
    @CsvSource({"passive, 207816160062", "si, 207816160043"})
    void whatIsLostIsNotCaptured(String protocol, long seed) {
        ScenarioResult result = ScenarioRun.run(Scenario.random(seed, PROTOCOLS.descriptor(protocol), Map.of(),
                OrderKind.RAFT, 1000, FaultProfile.parse("all")));
        assertTrue(result.passed(), () -> result.failed().toString());
    }

    /**
     * A client that asked a backup was told of what the primary did not show yet, and an update that began there afterwards had
     * not seen it.
     */
    @ParameterizedTest
    @ValueSource(longs = {889001065571L, 889001065671L, 889001065762L})
    void nobodyIsToldOfWhatAnUpdateMayNotHaveSeen(long seed) {
        ScenarioResult result = ScenarioRun.run(Scenario.random(seed, PROTOCOLS.descriptor("passive"), Map.of(),
                OrderKind.RAFT, 1000, FaultProfile.parse("all")));
        assertTrue(result.passed(), () -> result.failed().toString());
    }

    /**
     * A prepared transaction whose commit failed in the engine lost its locks before it was visible, and one that read in between
     * what it overwrites was decided before it could be pushed aside.
     */
    @Test
    void whoReadsWhileLocksAreLostIsNotDecided() {
        ScenarioResult result = ScenarioRun.run(Scenario.random(889001065493L,
                PROTOCOLS.descriptor(TwoPhaseCommit.NAME), Map.of(), OrderKind.RAFT, 1000,
                FaultProfile.parse("all")));
        assertTrue(result.passed(), () -> result.failed().toString());
    }

    /**
     * A node's disk had failed to force its log; started again, the node took for safe what it read, forced it once more and went on
     * from there, and the next crash took it.
     */
    @ParameterizedTest
    @ValueSource(strings = {"dbsm", "active"})
    void whatCouldNotBeForcedIsWrittenOnceMore(String protocol) {
        ScenarioResult result = ScenarioRun.run(Scenario.random(6824400031L, PROTOCOLS.descriptor(protocol), Map.of(),
                OrderKind.RAFT, 1000, FaultProfile.parse("all,disks")));
        assertTrue(result.passed(), result::why);
    }

    /**
     * Two transactions with priority, which share no class with a request of every node, were pushed aside by it and ran
     * again at once, for ever: in a database that has to be alone for it, one of them was always there.
     */
    @Test
    void whatEveryNodeExecutesIsNotKeptOutByThoseThatRunAgain() {
        ScenarioResult result = ScenarioRun.run(Scenario.random(328818793314L, PROTOCOLS.descriptor("akara"),
                Map.of(), OrderKind.RAFT, 1000, FaultProfile.parse("network")));
        assertTrue(result.passed(), result::why);
    }

    @Test
    void theSameSeedIsTheSameRunAndAnotherIsNot() {
        for (OrderKind order : OrderKind.values()) {
            ScenarioResult once = ScenarioRun.run(scenario(3, "akara", order));
            ScenarioResult again = ScenarioRun.run(scenario(3, "akara", order));
            assertEquals(once.fingerprint(), again.fingerprint());
            assertEquals(once.counts(), again.counts());
            assertNotEquals(once.traceHash(), ScenarioRun.run(scenario(4, "akara", order)).traceHash());
        }
    }

    @Test
    void aScenarioFromItsTextIsTheSameRun() {
        ScenarioResult result = ScenarioRun.run(scenario(5, "dbsm", OrderKind.GROUP));
        ReplayFile file = new ReplayFile(result.scenario(), ReplayFile.NO_MUTANT, result.failed(),
                result.fingerprint());
        ReplayFile read = ReplayFile.parse(file.text());
        assertEquals(file, read);
        assertEquals(result.fingerprint(), ScenarioRun.run(read.scenario()).fingerprint());
    }

    @Test
    void campaignsRunSideBySideAndHearInOrder() throws Exception {
        List<Long> seeds = new ArrayList<>();
        Campaign.run(seed -> scenario(seed, "si", OrderKind.IDEAL), 1, 6, 2, () -> Mutation.NONE, result -> {
            assertTrue(result.passed());
            seeds.add(result.scenario().seed());
        });
        assertEquals(List.of(1L, 2L, 3L, 4L, 5L, 6L), seeds);
    }
}
