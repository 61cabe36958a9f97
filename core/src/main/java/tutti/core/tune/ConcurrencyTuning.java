package tutti.core.tune;

import org.jspecify.annotations.Nullable;

/**
 * Decides how many work side by side, and how much one of them does together at most, from how far a replica is behind: as few as keep it from being
 * behind. They are appliers and positions, or executors and requests. Knows no clock; somebody tells it what has been counted, about every {@link #INTERVAL_NANOS}. For one thread at a time.
 *
 * <p>
 * <b>Up.</b> While the replica is behind and does not catch up, one of the two is doubled, in turn. If that brought less than a twentieth more, it is taken back, and not
 * tried again for a while, which doubles each time: what is bounded by the database's disk or processors is not helped by more at a time.
 *
 * <p>
 * <b>Down.</b> When it has not been behind for a while, one is halved. If it is behind again soon, that while doubles; it gets shorter again when
 * that was in order several times. So with a load that stays the
 * same changes become rare, and with one that changes it follows within seconds.
 *
 * <p>
 * What is chosen says when and how many together, and nothing else: whatever it is, the same is applied, in the same order.
 */
public final class ConcurrencyTuning {
    /** How often it wants to be told what has been counted, in nanoseconds. */
    public static final long INTERVAL_NANOS = 500_000_000L;

    /** Behind is who needs so long to make visible what has been decided, at the speed of the last interval; in nanoseconds. */
    private static final double BEHIND_NANOS = 100_000_000.0;
    /** Whatever the speed, so few positions are not worth a thought. */
    private static final long BEHIND_POSITIONS = 32;
    /** It catches up if so much of what waited is left after an interval, or less. */
    private static final double CATCHES_UP = 0.75;
    /** More is worth having if it makes the replica faster by this factor. */
    private static final double WORTH_HAVING = 1.05;
    private static final int WAIT_MIN = 16;
    private static final int WAIT_MAX = 4096;

    /**
     * Between which numbers it may choose; equal ones for what is not to change.
     *
     * @param sideBySideMin at least 1
     * @param togetherMin at least 1
     */
    public record Bounds(int sideBySideMin, int sideBySideMax, int togetherMin, int togetherMax) {
        /** Checks the ranges. */
        public Bounds {
            if (sideBySideMin < 1 || togetherMin < 1 || sideBySideMax < sideBySideMin || togetherMax < togetherMin) {
                throw new IllegalArgumentException(
                        sideBySideMin + " to " + sideBySideMax + " side by side, " + togetherMin + " to "
                                + togetherMax + " together");
            }
        }

        private Choice nearest(Choice choice) {
            return new Choice(Math.clamp(choice.sideBySide, sideBySideMin, sideBySideMax),
                    Math.clamp(choice.together, togetherMin, togetherMax));
        }
    }

    /**
     * What is chosen.
     *
     * @param sideBySide how many work at a time
     * @param together how much one does in one transaction, at most
     */
    public record Choice(int sideBySide, int together) {}

    /** One of the two, with what is known of raising it. */
    private static final class Side {
        /** For so many intervals it is not raised. */
        private int rests;
        private int wait = WAIT_MIN;

        void helpsNot() {
            rests = wait;
            wait = Math.min(WAIT_MAX, wait * 2);
        }

        void helps() {
            wait = WAIT_MIN;
        }
    }

    /** Something was raised: what it was before, and how fast the replica was, in positions a nanosecond. */
    private record Trial(Side side, Choice before, double speed) {}

    private final Bounds bounds;
    private final Side sideBySide = new Side();
    private final Side together = new Side();
    private Choice choice;
    private @Nullable Trial trial;
    private boolean togetherNext = true;
    private long waitingBefore;
    /** For so many intervals it has not been behind. */
    private int calm;
    /** After so many something is lowered. */
    private int calmUntilLower = WAIT_MIN;
    private int sinceLowered = WAIT_MAX;
    /** So often it was lowered since it was behind last. */
    private int lowered;

    /** Begins with a choice, or the nearest within the bounds. */
    public ConcurrencyTuning(Bounds bounds, Choice begin) {
        this.bounds = bounds;
        this.choice = bounds.nearest(begin);
    }

    /** What is chosen now. */
    public Choice choice() {
        return choice;
    }

    /**
     * An interval has passed.
     *
     * @param nanos how long it was; nothing is learnt from one of 0
     * @param done what has been done in it
     * @param waiting what is left to be done at its end
     * @return what is chosen from now on
     */
    public Choice next(long nanos, long done, long waiting) {
        if (nanos <= 0) {
            return choice;
        }
        double speed = (double) done / nanos;
        boolean behind = waiting >= BEHIND_POSITIONS && waiting >= speed * BEHIND_NANOS;
        boolean catchesUp = waiting <= waitingBefore * CATCHES_UP;
        waitingBefore = waiting;
        sideBySide.rests = Math.max(0, sideBySide.rests - 1);
        together.rests = Math.max(0, together.rests - 1);
        sinceLowered = Math.min(WAIT_MAX, sinceLowered + 1);
        Trial tried = trial;
        trial = null;
        if (tried != null && behind && !catchesUp && speed < tried.speed * WORTH_HAVING) {
            tried.side.helpsNot();
            choice = tried.before;
            return choice;
        }
        if (tried != null) {
            tried.side.helps();
        }
        if (!behind) {
            if (++calm >= calmUntilLower) {
                lower();
            }
        } else {
            calm = 0;
            lowered = 0;
            if (sinceLowered < WAIT_MIN) {
                calmUntilLower = Math.min(WAIT_MAX, calmUntilLower * 2);
                sinceLowered = WAIT_MAX;
            }
            if (!catchesUp) {
                raise(speed);
            }
        }
        return choice;
    }

    private void raise(double speed) {
        boolean togetherCan = together.rests == 0 && choice.together < bounds.togetherMax;
        boolean sideBySideCan = sideBySide.rests == 0 && choice.sideBySide < bounds.sideBySideMax;
        if (!togetherCan && !sideBySideCan) {
            return;
        }
        boolean raisesTogether = togetherCan && (togetherNext || !sideBySideCan);
        togetherNext = !raisesTogether;
        trial = new Trial(raisesTogether ? together : sideBySide, choice, speed);
        choice = bounds.nearest(raisesTogether
                ? new Choice(choice.sideBySide, choice.together * 2)
                : new Choice(choice.sideBySide * 2, choice.together));
    }

    private void lower() {
        calm = 0;
        Choice less = bounds.nearest(choice.sideBySide > bounds.sideBySideMin
                ? new Choice(choice.sideBySide / 2, choice.together)
                : new Choice(choice.sideBySide, choice.together / 2));
        if (!less.equals(choice)) {
            choice = less;
            sinceLowered = 0;
            if (++lowered > 2) {
                calmUntilLower = Math.max(WAIT_MIN, calmUntilLower / 2);
            }
        }
    }
}
