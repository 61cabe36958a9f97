package tutti.cli.torture;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Which faults come, in which order, at whom and for how long. The same seed, kinds, nodes and seconds give the same plan; at which
 * instant of the cluster's work each of them comes, time decides. Every kind comes once before any comes again.
 *
 * @param seed it was made from
 * @param steps in their order
 */
record TorturePlan(long seed, List<Step> steps) {
    private static final int REST_MIN_MILLIS = 1_500;
    private static final int REST_MAX_MILLIS = 4_000;
    private static final int HELD_MIN_MILLIS = 1_000;
    private static final int HELD_MAX_MILLIS = 6_000;
    private static final int CLOCK_SECONDS_MAX = 3_600;
    /** What a fault takes besides, on average, until everything is as it was: for the number of steps. */
    private static final int RECOVERY_MILLIS = 2_000;

    TorturePlan {
        steps = List.copyOf(steps);
    }

    /**
     * One fault.
     *
     * @param restMillis since the one before is over
     * @param victim at which node; {@link #LEADER} for the one that orders when its time has come
     * @param heldMillis for how long
     * @param choice of what the kind leaves open, such as the direction that is lost
     */
    record Step(int restMillis, FaultKind kind, int victim, int heldMillis, int choice) {
        /** In place of a node: the one that orders. */
        static final int LEADER = -1;

        /** For people. */
        String text() {
            String where = switch (kind) {
                case POWER, ROLLING_RESTART -> "all nodes";
                case MEMBER_ADD, MEMBER_REPLACE -> "a further node";
                default -> victim == LEADER ? "the leader" : "node-" + victim;
            };
            return kind.label() + " of " + where + (kind == FaultKind.ROLLING_RESTART || kind == FaultKind.MEMBER_MOVE
                    ? ""
                    : String.format(java.util.Locale.ROOT, " for %.1f s", heldMillis / 1e3))
                    + (kind == FaultKind.CLOCK ? ", " + clock() : "");
        }

        /** By how many seconds a clock is set forward, or back if negative. */
        long clockSeconds() {
            long seconds = 1L + choice / 2 % CLOCK_SECONDS_MAX;
            return choice % 2 == 0 ? seconds : -seconds;
        }

        /** The same in words. */
        String clock() {
            return Math.abs(clockSeconds()) + " s " + (clockSeconds() < 0 ? "back" : "forward");
        }
    }

    /**
     * A plan.
     *
     * @param kinds at least one
     * @param seconds that it is to fill, roughly; faults that take longer leave the last steps undone
     */
    static TorturePlan of(long seed, List<FaultKind> kinds, int nodes, long seconds) {
        Random random = new Random(seed);
        List<Step> steps = new ArrayList<>();
        List<FaultKind> deck = new ArrayList<>();
        long millis = 0;
        while (millis < seconds * 1_000 || steps.isEmpty()) {
            if (deck.isEmpty()) {
                deck.addAll(kinds);
                Collections.shuffle(deck, random);
            }
            // The leader more often than others: there most can go wrong.
            int victim = random.nextInt(3) == 0 ? Step.LEADER : random.nextInt(nodes);
            Step step = new Step(random.nextInt(REST_MIN_MILLIS, REST_MAX_MILLIS), deck.removeLast(), victim,
                    random.nextInt(HELD_MIN_MILLIS, HELD_MAX_MILLIS), random.nextInt(1 << 16));
            steps.add(step);
            millis += step.restMillis() + step.heldMillis() + RECOVERY_MILLIS;
        }
        return new TorturePlan(seed, steps);
    }
}
