package tutti.model;

import java.util.ArrayList;
import java.util.List;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.RandomStream;

/**
 * The storage of a modelled database (D5.1, section 2.5.2): a bounded number of log writes at a time, first come, first
 * served. Reading takes no time. A transaction's log writes are one request and one event.
 *
 * <p>
 * A <i>shared</i> log writes for all who wait at once: one write at a time, which begins when the one before it has ended
 * and serves everybody who has come by then. That is what PostgreSQL does, whose writers wait for the lock of the log and
 * then write whatever is in its buffers. It takes as long as for the one among them alone that has written most rows.
 */
final class LogStorage {
    private final Kernel kernel;
    private final Label label;
    private final Calibration.Log log;
    private final boolean shared;
    private final RandomStream random;
    /** When each of the places is free. */
    private final long[] freeAt;
    /** The place that is free first: if all writes take equally long, places are so in turn. */
    private int next;
    private final boolean equal;
    /** Of a shared log: who waits for the next write. */
    private List<Request> waiting = new ArrayList<>();
    private boolean writing;
    private long writes;
    private long busyNanos;
    private int open;

    private record Request(RequestKind kind, int rows, Runnable done) {}

    LogStorage(Kernel kernel, String host, Calibration.Log log) {
        this.kernel = kernel;
        this.label = Label.of("storage", host);
        this.log = log;
        this.shared = log.shared();
        this.equal = log.access() instanceof Distribution.Constant && log.accessOf().isEmpty();
        this.random = kernel.random("storage " + host);
        this.freeAt = new long[shared ? 1 : log.parallelism()];
    }

    /** Log writes that go on at a time. */
    int places() {
        return freeAt.length;
    }

    /** Log writes asked for so far; of a shared log, those that were begun. */
    long writes() {
        return writes;
    }

    /** Requests that have not been served. */
    int open() {
        return open;
    }

    /** Nanoseconds of one place that all writes so far take. */
    long busyNanos() {
        return busyNanos;
    }

    /** Writes what a transaction of some kind has changed, so many rows, and then does something. */
    void write(RequestKind kind, int rows, Runnable done) {
        open++;
        int count = log.writes(rows);
        if (shared && count > 0) {
            waiting.add(new Request(kind, rows, done));
            if (!writing) {
                writeForAll();
            }
            return;
        }
        long last = equal ? writeInTurn(kind, count) : writeWhereFree(kind, count);
        writes += count;
        kernel.schedule(last - kernel.now(), label, () -> {
            open--;
            done.run();
        });
    }

    /** Writes that take equally long, each at the next place, in as many steps as there are places; returns when the last has ended. */
    private long writeInTurn(RequestKind kind, int count) {
        long nanos = log.access(kind).sample(random);
        long last = kernel.now();
        for (int i = 0; i < Math.min(count, freeAt.length); i++) {
            int place = (next + i) % freeAt.length;
            int here = (count - i - 1) / freeAt.length + 1;
            freeAt[place] = Math.max(kernel.now(), freeAt[place]) + here * nanos;
            last = Math.max(last, freeAt[place]);
        }
        next = (next + count) % freeAt.length;
        busyNanos += count * nanos;
        return last;
    }

    private long writeWhereFree(RequestKind kind, int count) {
        long last = kernel.now();
        for (int i = 0; i < count; i++) {
            long nanos = log.access(kind).sample(random);
            freeAt[next] = Math.max(kernel.now(), freeAt[next]) + nanos;
            last = Math.max(last, freeAt[next]);
            busyNanos += nanos;
            next = firstFree();
        }
        return last;
    }

    private int firstFree() {
        int first = 0;
        for (int i = 1; i < freeAt.length; i++) {
            first = freeAt[i] < freeAt[first] ? i : first;
        }
        return first;
    }

    private void writeForAll() {
        List<Request> served = waiting;
        waiting = new ArrayList<>();
        writing = true;
        Request biggest = served.getFirst();
        for (Request one : served) {
            biggest = one.rows > biggest.rows ? one : biggest;
        }
        long nanos = log.access(biggest.kind).sample(random);
        writes++;
        busyNanos += nanos;
        kernel.schedule(nanos, label, () -> {
            open -= served.size();
            writing = false;
            if (!waiting.isEmpty()) {
                writeForAll();
            }
            served.forEach(one -> one.done.run());
        });
    }
}
