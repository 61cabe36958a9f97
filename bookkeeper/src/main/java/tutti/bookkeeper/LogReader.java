package tutti.bookkeeper;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.bookkeeper.client.api.ReadHandle;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.schema.ByteStrings;
import tutti.core.spi.DurableLog;
import tutti.order.DeliveryLoop;
import tutti.order.batch.Batch;
import tutti.runtime.Loop;

/**
 * Reads the log behind a position, as far as it is known to be written: in the last ledger up to where its writer says so, in all others
 * to the end. Reads a little ahead of deliveries, and waits when they do.
 *
 * <p>
 * Of the order's loop, but for what {@link DeliveryLoop.Source} says.
 */
final class LogReader implements DeliveryLoop.Source {
    private static final Logger LOG = LoggerFactory.getLogger(LogReader.class);
    /** So much that was read waits for deliveries, in bytes, and what one read brings besides. */
    private static final long AHEAD_BYTES = 8 << 20;
    private static final int ENTRIES_AT_ONCE = 32;
    private static final long AGAIN_NANOS = 200_000_000;

    /** Who is told. */
    interface Owner {
        /** A batch was read. */
        void read(Batch batch);

        /** Something can be delivered. */
        void readable();

        /** All messages of a batch have been delivered. On the loop of deliveries. */
        void delivered(Batch batch);

        /** The log does not hold any more what comes next, or cannot be read. */
        void failed(Throwable cause);
    }

    private final LedgerStore store;
    private final int self;
    private final long after;
    private final Loop loop;
    private final Owner owner;
    private final Runnable relist;
    private final ConcurrentLinkedQueue<LedgerScan.Numbered> ready = new ConcurrentLinkedQueue<>();
    private final AtomicLong readyBytes = new AtomicLong();
    /** Up to which entry ledgers are known to be written. */
    private final Map<Long, Long> told = new HashMap<>();
    private LedgerList list;
    private LedgerList.@Nullable Segment segment;
    private @Nullable ReadHandle handle;
    private LedgerScan scan = new LedgerScan(-1);
    private long position;
    private long largestBytes = 1;
    private long readBytes;
    private boolean busy;
    private boolean ended;
    /* Of the loop of deliveries. */
    private LedgerScan.@Nullable Numbered begun;
    private ByteBuffer rest = ByteBuffer.allocate(0);
    private long next;

    /**
     * Reads nothing before it knows of a ledger.
     *
     * @param after last position that is not delivered
     * @param relist has the list be read anew, and told
     */
    LogReader(LedgerStore store, int self, String identity, long after, Loop loop, Runnable relist, Owner owner) {
        this.store = store;
        this.self = self;
        this.after = after;
        this.loop = loop;
        this.relist = relist;
        this.owner = owner;
        list = LedgerList.empty(identity);
        position = after;
    }

    /** Bytes of the ledger that is being read, as far as that is. */
    long readBytes() {
        return readBytes;
    }

    /** Reads nothing more. */
    void close() {
        ended = true;
        store.release(handle);
        handle = null;
    }

    /** The list is this now. */
    void listed(LedgerList now) {
        list = now;
        told.keySet().retainAll(now.segments().stream().map(LedgerList.Segment::ledger).toList());
        pump();
    }

    /** A ledger of the list is written up to an entry. */
    void written(long ledger, long entry) {
        told.merge(ledger, entry, Math::max);
        if (segment == null || segment.ledger() == ledger) {
            pump();
        }
    }

    private void fail(Throwable cause) {
        if (!ended) {
            close();
            owner.failed(cause);
        }
    }

    /** Does the next thing, if there is one and nothing is being done. */
    void pump() {
        if (busy || ended || !store.isOpen() || readyBytes.get() >= AHEAD_BYTES) {
            return;
        }
        LedgerList.Segment present = segment;
        if (present == null || list.find(present.ledger()) == null) {
            begin();
            return;
        }
        ReadHandle from = handle;
        if (from == null) {
            open(present);
            return;
        }
        long end = LedgerStore.end(from);
        long last = Math.max(told.getOrDefault(present.ledger(), -1L), end);
        if (scan.entry() < last) {
            read(present, from, last);
            return;
        }
        LedgerList.Segment following = list.next(present);
        if (following != null) {
            // This one is closed, whatever its handle has heard of that.
            forget();
            if (end >= 0) {
                enter(following);
            } else {
                open(present);
            }
        }
    }

    /** Finds the ledger with which to begin. */
    private void begin() {
        if (list.last() == null) {
            return;
        }
        LedgerList.Segment first = list.behind(position);
        if (first == null) {
            fail(new DurableLog.TruncatedException(position, list.firstRetained()));
        } else {
            forget();
            enter(first);
        }
    }

    private void enter(LedgerList.Segment of) {
        segment = of;
        scan = new LedgerScan(of.ledger());
        readBytes = 0;
        pump();
    }

    private void forget() {
        store.release(handle);
        handle = null;
    }

    private void open(LedgerList.Segment of) {
        busy = true;
        store.open(of.ledger(), false, (opened, failure) -> {
            busy = false;
            if (ended) {
                store.release(opened);
            } else if (opened == null) {
                again("open", of, failure);
            } else {
                handle = opened;
                pump();
            }
        });
    }

    private void read(LedgerList.Segment of, ReadHandle from, long last) {
        busy = true;
        long first = scan.entry() + 1;
        long most = Math.clamp(AHEAD_BYTES / largestBytes, 1, ENTRIES_AT_ONCE);
        store.read(from, first, Math.min(last, first + most - 1), (entries, failure) -> {
            busy = false;
            if (ended) {
                return;
            }
            if (entries == null) {
                again("read", of, failure);
                return;
            }
            try {
                take(of, entries);
            } catch (IOException damaged) {
                fail(damaged);
                return;
            }
            pump();
        });
    }

    private void take(LedgerList.Segment of, List<byte[]> entries) throws IOException {
        boolean some = false;
        for (byte[] entry : entries) {
            largestBytes = Math.max(largestBytes, entry.length);
            readBytes += entry.length;
            LedgerScan.Numbered numbered = scan.take(entry);
            if (scan.entry() == 0 && scan.table().positions() != of.before()) {
                throw new IOException("ledger " + of.ledger() + " begins behind position " + scan.table().positions()
                        + ", but ZooKeeper says behind " + of.before() + ": it is not of this log");
            }
            if (numbered == null) {
                continue;
            }
            owner.read(numbered.batch());
            position = Math.max(position, scan.table().positions());
            ready.add(numbered);
            readyBytes.addAndGet(numbered.batch().messages().bytes());
            some = true;
        }
        if (some) {
            owner.readable();
        }
    }

    /** It did not work: the ledger has been let go, or bookies or ZooKeeper do not answer. */
    private void again(String what, LedgerList.Segment of, @Nullable Throwable failure) {
        LOG.debug("node {} could not {} ledger {}: {}", self, what, of.ledger(), String.valueOf(failure));
        forget();
        if (failure != null && LedgerStore.isGone(failure)) {
            relist.run();
        }
        busy = true;
        var _ = loop.schedule(AGAIN_NANOS, () -> {
            busy = false;
            pump();
        });
    }

    // ------------------------------------------------------------------------------------------ delivery

    @Override
    public boolean deliverSome(DeliveryLoop to) {
        while (to.mayDeliver()) {
            LedgerScan.Numbered present = begun;
            if (present == null) {
                present = ready.poll();
                if (present == null) {
                    return false;
                }
                begun = present;
                rest = present.batch().messages().encoded();
                next = present.first();
            }
            if (deliver(to, present.batch())) {
                begun = null;
                owner.delivered(present.batch());
                long before = readyBytes.getAndAdd(-present.batch().messages().bytes());
                if (before >= AHEAD_BYTES) {
                    loop.execute(this::pump);
                }
            }
        }
        return true;
    }

    /** Whether all of it is delivered. */
    private boolean deliver(DeliveryLoop to, Batch from) {
        while (rest.hasRemaining()) {
            if (next > after && !to.mayDeliver()) {
                return false;
            }
            ByteBuffer message = ByteStrings.next(rest);
            if (next > after) {
                to.deliver(next, from.sender(), message);
            }
            next++;
        }
        return true;
    }
}
