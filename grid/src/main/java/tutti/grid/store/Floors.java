package tutti.grid.store;

import java.util.TreeMap;

/** Stamps that something still needs, each as often as it was added. */
public final class Floors {
    private final TreeMap<Long, Integer> counts = new TreeMap<>();

    /** One more needs this. */
    public void add(long stamp) {
        counts.merge(stamp, 1, Integer::sum);
    }

    /** One less does. */
    public void remove(long stamp) {
        counts.computeIfPresent(stamp, (_, count) -> count == 1 ? null : count - 1);
    }

    /** The lowest of these and another one. */
    public long lowest(long other) {
        return counts.isEmpty() ? other : Math.min(other, counts.firstKey());
    }
}
