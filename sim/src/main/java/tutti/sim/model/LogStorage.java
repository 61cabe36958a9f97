package tutti.sim.model;

import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;

/**
 * The storage of a modelled database (D5.1, section 2.5.2): log writes of equal length, a bounded number of them at a time,
 * first come, first served. Reading takes no time. A transaction's log writes are one request and one event.
 */
final class LogStorage {
    private final Kernel kernel;
    private final Label label;
    private final long accessNanos;
    /** When each of the places is free, in a ring: since all writes take equally long, they are so in turn. */
    private final long[] freeAt;
    private int next;
    private long writes;
    private int open;

    LogStorage(Kernel kernel, String host, long accessNanos, int parallelism) {
        this.kernel = kernel;
        this.label = Label.of("storage", host);
        this.accessNanos = accessNanos;
        this.freeAt = new long[parallelism];
    }

    /** Log writes asked for so far. */
    long writes() {
        return writes;
    }

    /** Requests that have not been served. */
    int open() {
        return open;
    }

    /** Nanoseconds of one place that all writes so far take. */
    long busyNanos() {
        return writes * accessNanos;
    }

    /** Writes, and then does something. */
    void write(int count, Runnable done) {
        long last = kernel.now();
        for (int i = 0; i < count; i++) {
            last = Math.max(kernel.now(), freeAt[next]) + accessNanos;
            freeAt[next] = last;
            next = next + 1 == freeAt.length ? 0 : next + 1;
        }
        writes += count;
        open++;
        kernel.schedule(last - kernel.now(), label, () -> {
            open--;
            done.run();
        });
    }
}
