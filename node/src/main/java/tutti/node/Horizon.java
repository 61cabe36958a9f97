package tutti.node;

import java.util.Map;
import java.util.TreeMap;

/**
 * Which position each open local transaction began at, and the lowest of them: what the protocol may not forget yet. Safe
 * for use by several threads; a transaction that begins while the visible position moves gets one or the other, and the
 * horizon never passes it.
 */
final class Horizon {
    private final TreeMap<Long, Integer> open = new TreeMap<>();
    private long visible;
    /** The highest that was answered: what is below may be forgotten. */
    private long told;

    /** A transaction begins, or may soon; answers the position that it has seen at least. */
    synchronized long begin() {
        open.merge(visible, 1, Integer::sum);
        return visible;
    }

    /**
     * A transaction has begun a little earlier, at a position that was visible then. Answers the position that counts for
     * it: the same, or a higher one if that may be forgotten already.
     */
    synchronized long begin(long since) {
        long begun = Math.max(since, told);
        open.merge(begun, 1, Integer::sum);
        return begun;
    }

    /** A transaction that began at this position has ended. */
    synchronized void end(long begun) {
        open.computeIfPresent(begun, (_, count) -> count == 1 ? null : count - 1);
    }

    /** The visible position moves; answers the horizon, which is at most that. */
    synchronized long visible(long position) {
        visible = position;
        Map.Entry<Long, Integer> oldest = open.firstEntry();
        told = oldest == null ? position : oldest.getKey();
        return told;
    }
}
