package tutti.workload.sibench;

import java.util.List;
import java.util.stream.LongStream;

/** A transaction of sibench, over rows 0 to n - 1 that each hold a number. */
public sealed interface SiBenchInput {
    /** The rows that it reads. */
    List<Long> reads();

    /** The rows that it writes, all of which it also reads. */
    List<Long> writes();

    /**
     * Find the row with the least number.
     *
     * @param rows how many there are
     */
    record Minimum(int rows) implements SiBenchInput {
        @Override
        public List<Long> reads() {
            return LongStream.range(0, rows).boxed().toList();
        }

        @Override
        public List<Long> writes() {
            return List.of();
        }
    }

    /** Add one to a row's number. */
    record Increment(long row) implements SiBenchInput {
        @Override
        public List<Long> reads() {
            return List.of(row);
        }

        @Override
        public List<Long> writes() {
            return List.of(row);
        }
    }
}
