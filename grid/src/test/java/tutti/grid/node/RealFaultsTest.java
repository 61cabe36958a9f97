package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tutti.grid.CommitProtocol;
import tutti.grid.IsolationLevel;
import tutti.sim.kernel.RandomStream;

/**
 * Real nodes over sockets, in this process and each in its own, while they crash, come, leave and are cut off: their histories are judged as those of simulated ones.
 * {@code -Dtutti.grid.faults=N} makes N faults in each run.
 */
@Tag("long")
class RealFaultsTest {
    private static final int FAULTS = Integer.getInteger("tutti.grid.faults", 5);
    private static final int KEYS = 40;
    private static final int TRANSACTIONS = 100;
    private static final long L1_BYTES_MAX = 10_000;

    /** What happens. */
    private enum Fault {
        /** A node crashes, and others get its keys; then it is started anew. */
        CRASH,
        /** A node crashes while another one joins. */
        CRASH_WHILE_JOINING,
        /** A node leaves, and is started anew. */
        LEAVE,
        /** A node is not heard for long, and is left out; what it sent comes later. */
        HOLD,
        /** Connections of some nodes to the others break, and these go on without them. */
        PARTITION,
        /** A node is not heard for a moment. */
        MOMENT
    }

    @ParameterizedTest
    @CsvSource({"TOM_2,READ_COMMITTED,false", "TOM_3,REPEATABLE_READ,false", "TOM_2,REPEATABLE_READ_WRITE_SKEW,false",
            "TOM_3,SERIALIZABLE,false", "TWO_PHASE,REPEATABLE_READ_WRITE_SKEW,false", "GROUPS,SERIALIZABLE,false",
            "TOM_3,SERIALIZABLE,true", "GROUPS,SERIALIZABLE,true"})
    @Timeout(600)
    void keepsWhatItsLevelPromises(CommitProtocol protocol, IsolationLevel level, boolean processes)
            throws IOException {
        boolean byGroups = protocol == CommitProtocol.GROUPS;
        RandomStream dice = new RandomStream(protocol.ordinal() * 10L + level.ordinal());
        Map<Fault, Integer> counts = new EnumMap<>(Fault.class);
        List<String> figures = new ArrayList<>();
        long begin = System.nanoTime();
        try (RealGrid grid = new RealGrid(protocol, level, byGroups ? 6 : 5, 3, 2, KEYS,
                byGroups ? 0 : L1_BYTES_MAX, processes)) {
            grid.awaitWhole();
            grid.awaitTransactions(TRANSACTIONS);
            List<Fault> faults = faults(dice, byGroups);
            for (Fault fault : faults) {
                counts.merge(fault, 1, Integer::sum);
                if (byGroups) {
                    happensToGroups(grid, fault, dice);
                } else {
                    happens(grid, fault, dice, protocol == CommitProtocol.TWO_PHASE ? 1 : 2);
                }
                grid.awaitWhole();
                grid.awaitTransactions(TRANSACTIONS);
            }
            List<String> wrong = grid.judge(history -> history.committed() + " committed, " + history.conflicts()
                    + " conflicts, " + history.others() + " failed otherwise", figures);
            String what = protocol + ", " + level + (processes ? ", in processes" : "") + ": " + counts + ", " + figures
                    + ", " + Duration.ofNanos(System.nanoTime() - begin).toMillis() + " ms";
            System.getLogger("grid").log(System.Logger.Level.INFO, what);
            assumeFalse(grid.isLost(), () -> "this machine has too much to do: " + what);
            assertEquals(List.of(), wrong, what);
            assertTrue(faults.size() >= FAULTS, what);
        }
    }

    private static List<Fault> faults(RandomStream dice, boolean byGroups) {
        List<Fault> kinds = new ArrayList<>(byGroups
                ? List.of(Fault.MOMENT, Fault.HOLD, Fault.PARTITION, Fault.CRASH)
                : List.of(Fault.values()));
        List<Fault> faults = new ArrayList<>();
        while (faults.size() < FAULTS) {
            dice.shuffle(kinds);
            faults.addAll(kinds);
        }
        return faults;
    }

    private static int one(RealGrid grid, RandomStream dice) {
        List<Integer> all = new ArrayList<>(grid.nodes());
        return all.get(dice.nextInt(all.size()));
    }

    /** @param most so many may be left out at a time */
    private static void happens(RealGrid grid, Fault fault, RandomStream dice, int most) {
        int victim = one(grid, dice);
        Set<Integer> cutOff = new TreeSet<>(Set.of(victim));
        switch (fault) {
            case CRASH -> {
                grid.crash(victim);
                grid.awaitWhole();
                grid.start(victim);
            }
            case CRASH_WHILE_JOINING -> {
                int joining = 1 + grid.nodes().stream().mapToInt(node -> node).max().orElseThrow();
                grid.start(joining);
                grid.awaitTransactions(TRANSACTIONS / 2);
                grid.crash(victim);
                grid.awaitWhole();
                grid.leave(joining);
                grid.start(victim);
            }
            case LEAVE -> {
                grid.leave(victim);
                grid.awaitTransactions(TRANSACTIONS);
                grid.start(victim);
            }
            case HOLD -> {
                grid.cut(cutOff, false);
                grid.awaitExcluded(cutOff);
                grid.heal();
            }
            case PARTITION -> {
                int other = one(grid, dice);
                if (most > 1) {
                    cutOff.add(other);
                }
                grid.cut(cutOff, true);
                grid.awaitExcluded(cutOff);
                grid.heal();
            }
            case MOMENT -> {
                grid.cut(cutOff, false);
                grid.awaitTransactions(TRANSACTIONS / 10);
                grid.heal();
            }
        }
    }

    /** As long as more than half of each group live, all goes on; when a group has too few, it waits until they are heard again. */
    private static void happensToGroups(RealGrid grid, Fault fault, RandomStream dice) {
        Set<Integer> cutOff = new TreeSet<>(Set.of(one(grid, dice)));
        switch (fault) {
            case CRASH -> {
                int victim = cutOff.iterator().next();
                grid.crash(victim);
                grid.awaitTransactions(dice.chance(0.5) ? TRANSACTIONS : TRANSACTIONS / 10);
                grid.start(victim);
            }
            case PARTITION -> {
                cutOff.add(one(grid, dice));
                grid.cut(cutOff, true);
                grid.awaitExcluded(cutOff);
                grid.heal();
            }
            case HOLD -> {
                grid.cut(cutOff, false);
                grid.awaitExcluded(cutOff);
                grid.heal();
            }
            default -> {
                grid.cut(cutOff, false);
                grid.awaitTransactions(TRANSACTIONS / 10);
                grid.heal();
            }
        }
    }
}
