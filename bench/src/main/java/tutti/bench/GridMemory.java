package tutti.bench;

import java.io.IOException;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import tutti.command.Failure;
import tutti.grid.IsolationLevel;

/**
 * How many bytes of the heap an entry takes at each of its owners: what is used after so many small entries were written to two nodes in this virtual machine that own all of them, less what was before, both after the
 * collector has run, by two. (Infinispan refuses partitions only with two owners or more.)
 */
final class GridMemory {
    private static final int OWNERS = 2;
    private static final int COLLECTIONS = 4;
    private static final long REST_NANOS = TimeUnit.SECONDS.toNanos(60);

    private GridMemory() {}

    /**
     * What was found.
     *
     * @param entries how many were written
     * @param dataBytes of the key and the value of an entry, as bytes
     * @param heapBytes of the heap for each entry at each owner, those included
     */
    record Measured(GridContender protocol, int entries, double dataBytes, double heapBytes) {
        String line() {
            return String.format(Locale.ROOT,
                    "%-9s %9d entries, key and value %4.1f bytes: %6.1f bytes of the heap at each owner", protocol,
                    entries, dataBytes, heapBytes);
        }
    }

    /** Fills a node of one system; at a level that needs versions. */
    static Measured measure(GridContender protocol, int entries) throws IOException, InterruptedException {
        GridMeasurement plan = new GridMeasurement(GridScript.Workload.RADARGUN, protocol,
                IsolationLevel.REPEATABLE_READ_WRITE_SKEW, entries, OWNERS, OWNERS, 1, 0, Duration.ofSeconds(10), 1);
        try (GridSystem system = protocol.isOurs() ? GridNodes.start(plan) : InfinispanNodes.start(plan)) {
            // What is made with the first entry belongs to none.
            GridScript first = new GridScript(false);
            first.write(() -> -1, () -> 0L);
            system.run(0, first);
            long before = used();
            plan.load(system);
            long deadline = System.nanoTime() + REST_NANOS;
            while (!system.isAtRest()) {
                if (System.nanoTime() > deadline) {
                    throw new Failure(protocol + " still keeps transactions after a minute",
                            "look whether this machine has enough memory");
                }
                TimeUnit.MILLISECONDS.sleep(20);
            }
            return new Measured(protocol, entries, dataBytes(entries), (double) (used() - before) / OWNERS / entries);
        }
    }

    private static double dataBytes(int entries) {
        long bytes = 0;
        for (int i = 0; i < entries; i++) {
            bytes += GridScript.KEYS.write(i).length + GridScript.VALUES.write(0L).length;
        }
        return (double) bytes / entries;
    }

    private static long used() {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
            least = Math.min(least, Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory());
        }
        return least;
    }
}
