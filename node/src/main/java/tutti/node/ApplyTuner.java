package tutti.node;

import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import tutti.core.tune.ConcurrencyTuning;
import tutti.core.tune.ConcurrencyTuning.Bounds;
import tutti.core.tune.ConcurrencyTuning.Choice;
import tutti.node.metrics.NodeMetrics;
import tutti.runtime.Clock;
import tutti.runtime.Loop;

/**
 * Says how many appliers work side by side and how many positions they make visible together: the numbers in the settings, or, where those
 * say {@linkplain ApplySettings#AUTO automatic}, what {@link ConcurrencyTuning} makes of what it counts. Of the replica's loop.
 */
final class ApplyTuner {
    /** A server of ours has connections for so many. */
    private static final int APPLIERS_MAX = 64;
    private static final int BATCH_MIN = 16;
    private static final int BATCH_MAX = 1024;

    /** What is counted. */
    interface Counts {
        /** The last position that is decided. */
        long decided();

        /** The last one that is visible. */
        long visible();
    }

    private final Clock clock;
    private final Loop loop;
    private final Counts counts;
    private final NodeMetrics metrics;
    private final BiConsumer<Integer, Integer> changed;
    private Choice now;
    private @Nullable ConcurrencyTuning tuning;
    private Loop.@Nullable Timer timer;
    private long sinceNanos;
    private long visibleBefore;

    /**
     * Begins with these settings.
     *
     * @param changed told what is chosen from now on when that has changed by itself: appliers, positions
     */
    ApplyTuner(ApplySettings settings, Clock clock, Loop loop, NodeMetrics metrics, Counts counts,
            BiConsumer<Integer, Integer> changed) {
        this.clock = clock;
        this.loop = loop;
        this.counts = counts;
        this.metrics = metrics;
        this.changed = changed;
        this.now = begin(settings,
                new Choice(ApplySettings.DEFAULTS.appliers(), ApplySettings.DEFAULTS.groupPositionsMax()));
    }

    private static Choice begin(ApplySettings settings, Choice before) {
        return new Choice(settings.autoAppliers() ? before.sideBySide() : settings.appliers(),
                settings.autoGroups() ? before.together() : settings.groupPositionsMax());
    }

    int appliers() {
        return now.sideBySide();
    }

    int positionsMax() {
        return now.together();
    }

    /** These settings count from now on; what is automatic begins with what there is. */
    void settings(ApplySettings settings) {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
        now = begin(settings, now);
        tuning = null;
        if (settings.autoAppliers() || settings.autoGroups()) {
            tuning = new ConcurrencyTuning(new Bounds(settings.autoAppliers() ? 1 : now.sideBySide(),
                    settings.autoAppliers() ? APPLIERS_MAX : now.sideBySide(),
                    settings.autoGroups() ? BATCH_MIN : now.together(),
                    settings.autoGroups() ? BATCH_MAX : now.together()), now);
            now = tuning.choice();
            sinceNanos = clock.nanoTime();
            visibleBefore = counts.visible();
            again();
        }
        metrics.applying(now.sideBySide(), now.together());
    }

    private void again() {
        timer = loop.schedule(ConcurrencyTuning.INTERVAL_NANOS, this::look);
    }

    private void look() {
        ConcurrencyTuning by = tuning;
        if (by == null) {
            return;
        }
        long nanos = clock.nanoTime();
        long visible = counts.visible();
        Choice next = by.next(nanos - sinceNanos, visible - visibleBefore, counts.decided() - visible);
        sinceNanos = nanos;
        visibleBefore = visible;
        if (!next.equals(now)) {
            now = next;
            metrics.applying(next.sideBySide(), next.together());
            changed.accept(next.sideBySide(), next.together());
        }
        again();
    }
}
