package tutti.core.tune;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Decides how many work side by side, and how much one of them does together at most, from how far a replica is behind: as few as keep it from being
 * behind. They are appliers and positions, or executors and requests. Knows no clock; somebody tells it what has been counted, about every {@link #INTERVAL_NANOS}. For one thread at a time.
 *
 * <p>
 * <b>Trials.</b> While the replica is behind and does not catch up, one of the two is doubled, in turn, or halved where doubling rests: what a transaction of a database costs with
 * more in it, or with more beside it, has an optimum, and what is bounded by disk or processors is not helped by more. Speeds differ from interval to interval, so
 * those before are compared with those since: it is kept once it is a twentieth faster and that by twice the standard error of the difference, and taken back
 * once it is unlikely to become so, or after {@value #TRIAL_MAX} intervals. Then it is not tried again for a while, which doubles each time.
 *
 * <p>
 * <b>Less.</b> When it has not been behind for a while, one is halved. If it is behind again soon, that while doubles; it gets shorter again when
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
    /** What makes the replica faster by this share is worth having. */
    private static final double WORTH_HAVING = 0.05;
    /** So many intervals a trial takes at most. */
    private static final int TRIAL_MAX = 16;
    /** How speeds scatter, as a share of them, as long as little is known; and what one more says of it counts for so much. */
    private static final double SCATTER = 0.1;
    private static final double LATEST = 0.1;
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

    /** One of the two is doubled, or halved; and what is known of doing so. */
    private static final class Change {
        private final boolean ofTogether;
        private final boolean doubles;
        /** For so many intervals it is not tried. */
        private int rests;
        private int wait = WAIT_MIN;

        Change(boolean ofTogether, boolean doubles) {
            this.ofTogether = ofTogether;
            this.doubles = doubles;
        }

        Choice of(Choice choice) {
            return ofTogether
                    ? new Choice(choice.sideBySide, doubles ? choice.together * 2 : choice.together / 2)
                    : new Choice(doubles ? choice.sideBySide * 2 : choice.sideBySide / 2, choice.together);
        }

        void helpsNot() {
            rests = wait;
            wait = Math.min(WAIT_MAX, wait * 2);
        }

        void helps() {
            wait = WAIT_MIN;
        }
    }

    /** Speeds of intervals with one choice, in what is done a nanosecond; of many, the last ones count most. */
    private static final class Speeds {
        private int count;
        private double mean;
        private double last;

        void add(double speed) {
            count = Math.min(TRIAL_MAX, count + 1);
            mean += (speed - mean) / count;
            last = speed;
        }
    }

    /** Something was changed: what it was before, and how fast the replica has been since. */
    private record Trial(Change change, Choice before, Speeds since) {}

    private final Bounds bounds;
    /** Those that double before those that halve, and of each kind the one first that was not tried last. */
    private final List<Change> changes = new ArrayList<>(List.of(
            new Change(true, true), new Change(false, true), new Change(true, false), new Change(false, false)));
    private Choice choice;
    private @Nullable Trial trial;
    /** With what was chosen before the trial, or is chosen now if there is none. */
    private Speeds speeds = new Speeds();
    /** Of speeds with one choice, as a share of their square. */
    private double variance = SCATTER * SCATTER;
    /** What the last interval began with was still the choice before. */
    private boolean settles;
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
        changes.forEach(change -> change.rests = Math.max(0, change.rests - 1));
        sinceLowered = Math.min(WAIT_MAX, sinceLowered + 1);
        if (behind) {
            calm = 0;
            lowered = 0;
            if (sinceLowered < WAIT_MIN) {
                calmUntilLower = Math.min(WAIT_MAX, calmUntilLower * 2);
                sinceLowered = WAIT_MAX;
            }
        }
        if (!behind || catchesUp) {
            enough();
            if (!behind && ++calm >= calmUntilLower) {
                lower();
            }
        } else if (settles) {
            settles = false;
        } else if (trial != null) {
            add(trial.since, speed);
            judge(trial);
        } else {
            add(speeds, speed);
            tryNext();
        }
        return choice;
    }

    /** What is chosen does; how fast the replica could be cannot be seen now. */
    private void enough() {
        if (trial != null) {
            trial.change.helps();
            trial = null;
        }
        speeds = new Speeds();
        settles = false;
    }

    /** How far one speed is from the next with the same choice tells how speeds scatter, whatever is tried meanwhile. */
    private void add(Speeds to, double speed) {
        double sum = to.last + speed;
        if (to.count > 0 && sum > 0) {
            double apart = 2 * (speed - to.last) / sum;
            variance += LATEST * (apart * apart / 2 - variance);
        }
        to.add(speed);
    }

    private void judge(Trial tried) {
        double gain = tried.since.mean - speeds.mean;
        double error = 2 * Math.max(tried.since.mean, speeds.mean)
                * Math.sqrt(variance * (1.0 / tried.since.count + 1.0 / speeds.count));
        double wanted = WORTH_HAVING * speeds.mean;
        if (gain > wanted && gain > error) {
            tried.change.helps();
            speeds = tried.since;
            trial = null;
        } else if (gain + error < wanted || tried.since.count >= TRIAL_MAX) {
            tried.change.helpsNot();
            choice = tried.before;
            settles = true;
            trial = null;
        }
    }

    private void tryNext() {
        for (Change change : changes) {
            Choice changed = bounds.nearest(change.of(choice));
            if (change.rests == 0 && !changed.equals(choice)) {
                trial = new Trial(change, choice, new Speeds());
                choice = changed;
                settles = true;
                changes.sort(Comparator.comparing((Change other) -> !other.doubles)
                        .thenComparing(other -> other == change));
                return;
            }
        }
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
