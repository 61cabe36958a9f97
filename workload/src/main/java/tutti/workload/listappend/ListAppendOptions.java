package tutti.workload.listappend;

/**
 * What list-append transactions are like.
 *
 * @param keys lists in use at a time, at least 1: fewer make more conflicts
 * @param appendsPerKey after so many appends a list is left alone and a new one taken into use, so that lists stay short;
 *            1 to 10,000
 * @param operationsMin fewest operations of a transaction, at least 1
 * @param operationsMax most operations of a transaction
 * @param appendPercent how many operations are appends, in percent, except in transactions that only read
 * @param tables tables that the lists are spread over, key k in table k modulo tables; at least 1
 */
public record ListAppendOptions(int keys, int appendsPerKey, int operationsMin, int operationsMax, int appendPercent,
        int tables) {
    // A list of so many values fits into its column.
    private static final int APPENDS_PER_KEY_MAX = 10_000;

    public ListAppendOptions {
        if (keys < 1 || appendsPerKey < 1 || appendsPerKey > APPENDS_PER_KEY_MAX || operationsMin < 1
                || operationsMax < operationsMin || appendPercent < 0
                || appendPercent > 100 || tables < 1) {
            throw new IllegalArgumentException(
                    "keys, appends per key (to 10,000), operations and tables must be at least 1, "
                            + "operations not fewer at most than at least, appends 0 to 100 percent; were " + keys
                            + ", "
                            + appendsPerKey + ", " + operationsMin + " to " + operationsMax + ", " + appendPercent
                            + ", "
                            + tables);
        }
    }
}
