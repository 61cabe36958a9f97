package tutti.engine.jdbc;

import java.util.OptionalLong;

/**
 * Which values a node takes from sequences and identity columns, so that no two nodes take the same: with a step of n, each
 * takes every n-th, beginning at its own.
 *
 * @param node 0 to {@code step - 1}
 * @param step the same at all nodes, at least 1
 */
public record SequenceSteps(int node, int step) {
    /** All values: for a database that has no replicas. */
    public static final SequenceSteps ALL = new SequenceSteps(0, 1);
    /** How many values are skipped when a database is opened again: more than are given in what a crash can lose. */
    private static final long SKIPPED = 16_384;

    public SequenceSteps {
        if (step < 1 || node < 0 || node >= step) {
            throw new IllegalArgumentException("node " + node + " of " + step);
        }
    }

    /** Whether a sequence with this increment is in steps already. */
    boolean separated(long increment) {
        return increment % step == 0;
    }

    /** The increment that a sequence must have. */
    long increment(long increment) {
        return separated(increment) ? increment : Math.multiplyExact(increment, step);
    }

    /**
     * The first value that the node takes. After a crash it takes none that may have been lost if there is room for that.
     *
     * @param again whether the database has been opened again, and its last values may have been lost
     * @return nothing if the counter's range is too small for steps: it stays as it is, and of two nodes that take the same value as a key one loses
     */
    OptionalLong start(EmbeddedDatabase.Counter counter, boolean again) {
        try {
            if (Math.absExact(increment(counter.increment())) > counter.max() / 2 - counter.min() / 2) {
                return OptionalLong.empty();
            }
            if (again) {
                long skipped = start(counter.next(), counter.increment(), true);
                if (counter.min() <= skipped && skipped <= counter.max()) {
                    return OptionalLong.of(skipped);
                }
            }
            long own = start(counter.next(), counter.increment(), false);
            return counter.min() <= own && own <= counter.max() ? OptionalLong.of(own) : OptionalLong.empty();
        } catch (ArithmeticException outOfRange) {
            return again ? start(counter, false) : OptionalLong.empty();
        }
    }

    /**
     * Likewise, wherever that is.
     *
     * @param next value that the sequence would give
     * @param increment of the sequence now
     * @param again whether the database has been opened again, and its last values may have been lost
     */
    long start(long next, long increment, boolean again) {
        long unit = separated(increment) ? increment / step : increment;
        long place = Math.floorDiv(next, unit);
        long first = place + Math.floorMod(node - place, (long) step) + (again ? SKIPPED * step : 0);
        return Math.addExact(Math.multiplyExact(first, unit), next - Math.multiplyExact(place, unit));
    }
}
