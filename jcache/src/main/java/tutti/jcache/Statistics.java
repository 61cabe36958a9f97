package tutti.jcache;

import java.util.concurrent.atomic.LongAdder;
import javax.cache.management.CacheStatisticsMXBean;

/** What was done with a cache through this manager. Any thread. */
final class Statistics implements CacheStatisticsMXBean {
    private static final float NANOS_PER_MICRO = 1000;
    private static final float PERCENT = 100;

    private final Kind hits = new Kind();
    private final Kind misses = new Kind();
    private final Kind gets = new Kind();
    private final Kind puts = new Kind();
    private final Kind removals = new Kind();

    private static final class Kind {
        private final LongAdder count = new LongAdder();
        private final LongAdder nanos = new LongAdder();

        void add(long number, long took) {
            if (number > 0) {
                count.add(number);
                nanos.add(took);
            }
        }

        float averageMicros() {
            long number = count.sum();
            return number == 0 ? 0 : nanos.sum() / NANOS_PER_MICRO / number;
        }

        void clear() {
            count.reset();
            nanos.reset();
        }
    }

    /** Adds what one operation has done. */
    void add(Counts counts, long nanos) {
        hits.add(counts.hits, nanos);
        misses.add(counts.misses, nanos);
        gets.add(counts.hits + counts.misses, nanos);
        puts.add(counts.puts, nanos);
        removals.add(counts.removals, nanos);
    }

    /** What one run of an operation has done. */
    static final class Counts {
        long hits;
        long misses;
        long puts;
        long removals;
    }

    @Override
    public void clear() {
        hits.clear();
        misses.clear();
        gets.clear();
        puts.clear();
        removals.clear();
    }

    @Override
    public long getCacheHits() {
        return hits.count.sum();
    }

    @Override
    public float getCacheHitPercentage() {
        return percentage(getCacheHits());
    }

    @Override
    public long getCacheMisses() {
        return misses.count.sum();
    }

    @Override
    public float getCacheMissPercentage() {
        return percentage(getCacheMisses());
    }

    private float percentage(long part) {
        long all = getCacheGets();
        return all == 0 ? 0 : PERCENT * part / all;
    }

    @Override
    public long getCacheGets() {
        return gets.count.sum();
    }

    @Override
    public long getCachePuts() {
        return puts.count.sum();
    }

    @Override
    public long getCacheRemovals() {
        return removals.count.sum();
    }

    /** None: a grid holds what it is given. */
    @Override
    public long getCacheEvictions() {
        return 0;
    }

    @Override
    public float getAverageGetTime() {
        return gets.averageMicros();
    }

    @Override
    public float getAveragePutTime() {
        return puts.averageMicros();
    }

    @Override
    public float getAverageRemoveTime() {
        return removals.averageMicros();
    }
}
