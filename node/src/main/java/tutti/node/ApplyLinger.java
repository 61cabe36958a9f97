package tutti.node;

import java.util.function.BooleanSupplier;
import tutti.runtime.Clock;

/**
 * Decides for how long the head of the {@link CommitPipeline} waits for others to be applied together with it. A
 * transaction of other nodes that is applied alone costs the engine, and this node, several times what it costs among
 * others. So where nobody waits to see it, it waits for a bounded time.
 *
 * <p>
 * It waits only if the one before it came shortly before it, so that a node with little to do is not late without a
 * gain; and not if somebody does wait: a commit of this node behind it, a statement that all nodes execute, a local
 * transaction that is open or begins, a session that asked for a position, a replica that is still catching up.
 *
 * <p>
 * Waiting changes nothing but the time at which an engine transaction begins, so neither the order in which positions
 * become visible nor what is applied depends on it.
 *
 * <p>
 * All methods run on the replica's event loop, except {@link #lingers}.
 */
final class ApplyLinger {
    private final Clock clock;
    private long nanos;
    private final BooleanSupplier unwatched;
    private long lastNanos;
    private long hurriedPosition;
    private long changedPosition;
    private long changedUntilNanos;
    private boolean timerSet;
    private volatile boolean lingers;

    /**
     * @param nanos for how long at most, in nanoseconds; 0 for never
     * @param unwatched whether nobody at this node waits to see something; whoever begins to, and is not seen by it, asks
     *            {@link #lingers} afterwards
     */
    ApplyLinger(Clock clock, long nanos, BooleanSupplier unwatched) {
        this.clock = clock;
        this.nanos = nanos;
        this.unwatched = unwatched;
        this.lastNanos = clock.nanoTime() - nanos;
    }

    /**
     * From now on so long at most, in nanoseconds; 0 for never.
     *
     * @param decided up to this position, what waits waits for so long from now at most
     */
    void atMost(long nanosMax, long decided) {
        nanos = nanosMax;
        changedPosition = decided;
        changedUntilNanos = clock.nanoTime() + nanosMax;
        // The timer that is set may run longer than anything waits now. It does no harm when it runs out.
        timerSet = false;
    }

    /** A remote transaction has come; answers until when, by the clock, it may wait. */
    long arrived() {
        long nowNanos = clock.nanoTime();
        boolean likely = nowNanos - lastNanos < nanos;
        lastNanos = nowNanos;
        return likely ? nowNanos + nanos : nowNanos;
    }

    /**
     * For how much longer the head waits, in nanoseconds; at most 0 if it does not.
     *
     * @param enough whether there is a reason to begin that lies in the queue
     */
    long remaining(long position, long untilNanos, boolean enough) {
        if (enough || position <= hurriedPosition) {
            lingers = false;
            return 0;
        }
        // First said, then asked: whoever begins to wait meanwhile either is seen here or sees it.
        lingers = nanos > 0;
        long until = position <= changedPosition && changedUntilNanos - untilNanos < 0 ? changedUntilNanos : untilNanos;
        long left = lingers && unwatched.getAsBoolean() ? until - clock.nanoTime() : 0;
        lingers = left > 0;
        return left;
    }

    /** Nothing up to this position waits. */
    void hurry(long position) {
        hurriedPosition = Math.max(hurriedPosition, position);
    }

    /** Whether a timer is to be set: none is under way. */
    boolean setTimer() {
        boolean wanted = !timerSet;
        timerSet = true;
        return wanted;
    }

    /** The timer has run out. */
    void timerRan() {
        timerSet = false;
    }

    /** Whether somebody who begins to wait must say so. Any thread. */
    boolean lingers() {
        return lingers;
    }
}
