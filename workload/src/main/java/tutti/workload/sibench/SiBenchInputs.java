package tutti.workload.sibench;

import java.util.SplittableRandom;

/**
 * Transactions of sibench. Consistency condition: the numbers of all rows together have grown by the number of increments
 * that committed. The same seed gives the same transactions. One thread.
 */
public final class SiBenchInputs {
    private final int rows;
    private final int queryPercent;
    private final SplittableRandom random;

    /**
     * The first transactions of this seed.
     *
     * @param rows at least 1; the paper uses 10, 100 and 1,000
     * @param queryPercent how many transactions are queries, 0 to 100; the paper uses 50 and, for its query-mostly mix, 91
     */
    public SiBenchInputs(int rows, int queryPercent, long seed) {
        if (rows < 1 || queryPercent < 0 || queryPercent > 100) {
            throw new IllegalArgumentException(
                    "rows must be at least 1 and queries 0 to 100 percent, were " + rows + " and " + queryPercent);
        }
        this.rows = rows;
        this.queryPercent = queryPercent;
        random = new SplittableRandom(seed);
    }

    /** The next transaction. */
    public SiBenchInput next() {
        return random.nextInt(100) < queryPercent
                ? new SiBenchInput.Minimum(rows)
                : new SiBenchInput.Increment(random.nextInt(rows));
    }
}
