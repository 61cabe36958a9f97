package tutti.engine;

import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.WriteSet;

/**
 * Write sets that were captured before their transactions committed, as a node tells them here when they have: positions are those of the
 * cluster's order. The last ones are kept in memory, up to a bound; nothing is kept before somebody has asked to read. What the order holds
 * is not lost with them: it is the node's log, and its database.
 */
public final class CapturedWriteSets implements WriteSetService {
    /** What a transaction takes besides its changes. */
    private static final int OVERHEAD_BYTES = 100;
    private static final int KEY_BYTES = 9;

    private final long bytesMax;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition more = lock.newCondition();
    private final TreeMap<Long, Committed> kept = new TreeMap<>();
    private final LongSupplier visible;
    private long bytes;
    /** What was committed up to here is not kept. */
    private long floor;
    private boolean wanted;

    /**
     * Keeps some.
     *
     * @param bytesMax about so many bytes at most, but for the last transaction
     * @param visible the position up to which everything is visible now; asked from any thread
     */
    public CapturedWriteSets(long bytesMax, LongSupplier visible) {
        this.bytesMax = bytesMax;
        this.visible = visible;
    }

    /**
     * A transaction has committed here. Called in the order of positions. Does not block for long.
     *
     * @param position in the order
     */
    public void committed(long position, WriteSet writes) {
        lock.lock();
        try {
            if (!wanted || position <= floor || writes.isEmpty()) {
                return;
            }
            kept.put(position, new Committed(position, position, writes));
            bytes += size(writes);
            while (bytes > bytesMax && kept.size() > 1) {
                forget();
            }
            more.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void forget() {
        Committed oldest = kept.pollFirstEntry().getValue();
        bytes -= size(oldest.writes());
        floor = oldest.position();
    }

    private static long size(WriteSet writes) {
        return OVERHEAD_BYTES + writes.changes().length + (long) KEY_BYTES * writes.keys().size();
    }

    @Override
    public Reader read(long after) throws IOException {
        lock.lock();
        try {
            if (!wanted) {
                // What becomes visible behind this position is told from now on; what was told of it meanwhile is not kept.
                floor = visible.getAsLong();
                wanted = true;
            }
            long from = after == NOW ? Math.max(floor, visible.getAsLong()) : after == ALL ? floor : after;
            check(from);
            return new RingReader(from);
        } finally {
            lock.unlock();
        }
    }

    private void check(long from) throws IOException {
        if (from < floor) {
            throw new IOException(
                    "what was committed after position " + from + " is not kept any more, only what came after "
                            + floor + ": begin again with what the database holds, and read from then on");
        }
    }

    private final class RingReader implements Reader {
        private long from;
        private boolean closed;

        RingReader(long from) {
            this.from = from;
        }

        @Override
        public @Nullable Committed next(Duration patience) throws IOException, InterruptedException {
            long left = patience.toNanos();
            lock.lock();
            try {
                while (true) {
                    if (closed) {
                        throw new IOException("the reader is closed");
                    }
                    check(from);
                    Map.Entry<Long, Committed> next = kept.higherEntry(from);
                    if (next != null) {
                        from = next.getKey();
                        return next.getValue();
                    }
                    if (left <= 0) {
                        return null;
                    }
                    left = more.awaitNanos(left);
                }
            } finally {
                lock.unlock();
            }
        }

        /** Others may still want it: the bound forgets. */
        @Override
        public void confirm(long position) {
            // nothing waits for it
        }

        @Override
        public void close() {
            lock.lock();
            try {
                closed = true;
                more.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }
}
