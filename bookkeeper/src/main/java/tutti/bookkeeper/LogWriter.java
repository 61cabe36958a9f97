package tutti.bookkeeper;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import org.apache.bookkeeper.client.api.ReadHandle;
import org.apache.bookkeeper.client.api.WriteHandle;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.bookkeeper.LogRegistry.Changed;
import tutti.order.batch.Batch;
import tutti.order.batch.SenderTable;
import tutti.runtime.Clock;

/**
 * Writes the log for as long as this node owns it: takes it over, puts batches into its last ledger, begins another one now and then, and
 * has the oldest removed. Made anew for each time that the node becomes the owner. All of the loop.
 *
 * <p>
 * <b>Taking over.</b> (1) The list is read, with its version. (2) Its last ledger is opened for recovery: BookKeeper fences it, so that
 * too few bookies take anything more of its writer for that to be told that it was written, and closes it behind everything that
 * a writer was told. (3) It is read from its head on, which says who has got how far. (4) Another ledger is made, with what
 * was found as its head. (5) It is put at the end of the list, if that has still the version of (1). Only then is anything
 * written to it. A writer that begins another ledger while it goes on does (4) and (5), and closes its last ledger itself.
 *
 * <p>
 * <b>Why one at a time writes.</b> Of all who go from one version of the list, one succeeds in (5). Whoever succeeds has had the last
 * ledger of that version closed, and it is the only one into which anybody could write messages: older ones are closed by the
 * same argument, and one that is not in the list gets no message. So a former writer is never told again that anything was
 * written, and what it had been told is in a closed ledger that all read.
 *
 * <p>
 * <b>What is delivered.</b> A message is delivered where it was told to be written, or in a ledger that is closed; the entries of both are
 * the same at every reader, and never less than were told. So if one node delivers a message, all do, at the same position.
 *
 * <p>
 * <b>Once.</b> What a sender repeats is left out here: the {@link SenderTable} is that of everything which has been put into the log. If
 * it is not known what of that was written, this writer ends, and the next one finds out in (3).
 */
final class LogWriter {
    private static final Logger LOG = LoggerFactory.getLogger(LogWriter.class);
    private static final int ENTRIES_AT_ONCE = 32;
    /** Batches of so many bytes wait for another ledger, and one more; senders repeat others. */
    private static final long HELD_BYTES_MAX = 16 << 20;

    private enum State {
        TAKING_OVER,
        WRITING,
        /** The ledger is full: nothing is written until there is another one. */
        CHANGING,
        OVER
    }

    /** Who is told. */
    interface Owner {
        /** It can be written, or what was written is known to be so. */
        void written(long ledger, long entry, long positions);

        /** This writer has ended. */
        void stopped(String why);

        /** Nobody can go on with this log. */
        void broken(IOException cause);
    }

    private final LedgerStore store;
    private final LogRegistry registry;
    private final int self;
    private final long segmentBytes;
    private final boolean mayBegin;
    private final IntSupplier version;
    private final Clock clock;
    private final Owner owner;
    private final ArrayDeque<byte[]> held = new ArrayDeque<>();
    private long heldBytes;
    private State state = State.TAKING_OVER;
    private LedgerList list;
    private int listVersion;
    private SenderTable table = new SenderTable();
    private @Nullable WriteHandle handle;
    private int underWay;
    /** Since when the oldest of these has not been told written, or another has. */
    private long waitsNanos;
    private long truncate;
    private boolean changesList;

    /**
     * One that begins to take over at once.
     *
     * @param segmentBytes at which a ledger is full
     * @param mayBegin whether a log that is not there may be begun, because this node has delivered nothing
     * @param truncate up to here nobody needs the log
     */
    LogWriter(LedgerStore store, LogRegistry registry, int self, String identity, long segmentBytes, boolean mayBegin,
            long truncate, IntSupplier version, Clock clock, Owner owner) {
        this.store = store;
        this.registry = registry;
        this.self = self;
        this.segmentBytes = segmentBytes;
        this.mayBegin = mayBegin;
        this.truncate = truncate;
        this.version = version;
        this.clock = clock;
        this.owner = owner;
        list = LedgerList.empty(identity);
        registry.read(this::listed);
    }

    /** Whether what is handed in is written soon. */
    boolean isWriting() {
        return state == State.WRITING || state == State.CHANGING;
    }

    /** For how long nothing has been told written though something is under way, in nanoseconds. */
    long waitsNanos() {
        return underWay == 0 ? 0 : clock.nanoTime() - waitsNanos;
    }

    private boolean isOver() {
        return state == State.OVER;
    }

    /** Ends it. What is under way may yet be written. */
    void end(String why) {
        if (!isOver()) {
            state = State.OVER;
            held.clear();
            store.release(handle);
            owner.stopped(why);
        }
    }

    // ------------------------------------------------------------------------------------------ taking over

    private void listed(LogRegistry.@Nullable Versioned read) {
        if (isOver()) {
            return;
        }
        if (read == null) {
            end("ZooKeeper does not answer");
            return;
        }
        list = read.list();
        listVersion = read.version();
        LedgerList.Segment last = list.last();
        if (last != null) {
            store.open(last.ledger(), true, (opened, failure) -> fenced(last.ledger(), opened, failure));
        } else if (mayBegin) {
            begin(0);
        } else {
            state = State.OVER;
            owner.broken(
                    new IOException("there is no log at the order.parameters.path of this cluster, but this node has"
                            + " applied some of it: it was lost, or that is another path or another ZooKeeper. Give the path"
                            + " back, or begin a new cluster with the database of the node whose position is highest"));
        }
    }

    private void fenced(long ledger, @Nullable ReadHandle opened, @Nullable Throwable failure) {
        if (opened == null) {
            end("ledger " + ledger + " could not be taken over: " + failure);
        } else if (isOver()) {
            store.release(opened);
        } else {
            LOG.info("node {} takes over the log: ledger {} is closed behind entry {}", self, ledger,
                    LedgerStore.end(opened));
            scan(opened, new LedgerScan(ledger));
        }
    }

    private void scan(ReadHandle from, LedgerScan scan) {
        long last = LedgerStore.end(from);
        if (scan.entry() >= last) {
            if (last >= 0) {
                table = scan.table();
            }
            long bytes = from.getLength();
            store.release(from);
            if (last < 0) {
                end("ledger " + from.getId() + " has no head");
            } else {
                begin(bytes);
            }
            return;
        }
        long first = scan.entry() + 1;
        store.read(from, first, Math.min(last, first + ENTRIES_AT_ONCE - 1), (entries, failure) -> {
            if (isOver()) {
                store.release(from);
                return;
            }
            if (entries == null) {
                store.release(from);
                end("ledger " + from.getId() + " could not be read: " + failure);
                return;
            }
            try {
                for (byte[] entry : entries) {
                    var _ = scan.take(entry);
                }
            } catch (IOException damaged) {
                state = State.OVER;
                store.release(from);
                owner.broken(damaged);
                return;
            }
            scan(from, scan);
        });
    }

    /** Makes another ledger, writes its head, and puts it into the list. */
    private void begin(long lastBytes) {
        store.create((made, failure) -> {
            if (made == null) {
                end("a ledger could not be made: " + failure);
                return;
            }
            if (isOver()) {
                discard(made);
                return;
            }
            store.append(made, new LedgerHead(table.image()).bytes(version.getAsInt()), (entry, unwritten) -> {
                if (entry == null || isOver()) {
                    discard(made);
                    end("the head of a ledger could not be written: " + unwritten);
                } else {
                    add(made, entry, lastBytes);
                }
            });
        });
    }

    /** Nobody has heard of a ledger. */
    private void discard(WriteHandle made) {
        store.release(made);
        store.delete(made.getId(), (_, failure) -> {
            if (failure != null) {
                LOG.info("node {} could not remove ledger {}, which nobody uses: {}", self, made.getId(),
                        failure.toString());
            }
        });
    }

    private void add(WriteHandle made, long entry, long lastBytes) {
        change(list.with(made.getId(), table.positions(), lastBytes), changed -> {
            switch (changed) {
                case DONE -> {
                    handle = made;
                    state = State.WRITING;
                    owner.written(made.getId(), entry, table.positions());
                    while (!held.isEmpty() && state == State.WRITING) {
                        byte[] next = held.remove();
                        heldBytes -= next.length;
                        write(next);
                    }
                    shorten();
                }
                case OVERTAKEN -> discard(made);
                // It may be in the list.
                case UNKNOWN -> store.release(made);
            }
        });
    }

    /** Changes the list; ends this writer if that was not done. */
    private void change(LedgerList to, Consumer<Changed> told) {
        changesList = true;
        registry.change(to, listVersion, version.getAsInt(), changed -> {
            changesList = false;
            if (changed == Changed.DONE) {
                list = to;
                // The version that ZooKeeper gives to what was made is 0.
                listVersion++;
            }
            if (isOver()) {
                return;
            }
            told.accept(changed);
            if (changed != Changed.DONE) {
                end(changed == Changed.OVERTAKEN
                        ? "another node has taken the log over"
                        : "ZooKeeper does not answer");
            }
        });
    }

    /** The list is this by now. A writer that has nothing to write would not notice otherwise that it is none any more. */
    void heard(LedgerList now) {
        WriteHandle mine = handle;
        LedgerList.Segment last = now.last();
        if (state == State.WRITING && mine != null && last != null && last.ledger() > mine.getId()) {
            end("another node has taken the log over");
        }
    }

    // ------------------------------------------------------------------------------------------ writing

    /** Has a batch written, if it is its sender's next one. */
    void submit(byte[] batch) {
        switch (state) {
            case WRITING -> write(batch);
            case CHANGING -> {
                if (heldBytes < HELD_BYTES_MAX) {
                    held.add(batch);
                    heldBytes += batch.length;
                }
            }
            case TAKING_OVER, OVER -> {
                // Its sender repeats it.
            }
        }
    }

    private void write(byte[] bytes) {
        Batch batch = Batch.of(bytes);
        long before = table.positions();
        if (table.accept(batch.sender(), batch.incarnation(), batch.sequence(), batch.messages().count()) == 0) {
            return;
        }
        WriteHandle to = handle();
        byte[][] entries = LedgerScan.entries(bytes);
        for (int i = 0; i < entries.length; i++) {
            if (underWay++ == 0) {
                waitsNanos = clock.nanoTime();
            }
            long positions = i < entries.length - 1 ? before : table.positions();
            store.append(to, entries[i], (number, failure) -> appended(to, number, positions, failure));
        }
        if (to.getLength() >= segmentBytes && list.segments().size() < LedgerList.SEGMENTS_MAX) {
            state = State.CHANGING;
        }
    }

    private WriteHandle handle() {
        WriteHandle present = handle;
        if (present == null) {
            throw new IllegalStateException("there is no ledger to write to");
        }
        return present;
    }

    private void appended(WriteHandle to, @Nullable Long entry, long positions, @Nullable Throwable failure) {
        if (isOver()) {
            return;
        }
        if (entry == null) {
            end("ledger " + to.getId() + " cannot be written any more: " + failure);
            return;
        }
        underWay--;
        waitsNanos = clock.nanoTime();
        owner.written(to.getId(), entry, positions);
        change();
    }

    /** Begins another ledger when everything is written to the one that is full. */
    private void change() {
        WriteHandle full = handle;
        if (state != State.CHANGING || full == null || underWay > 0 || changesList) {
            return;
        }
        long bytes = full.getLength();
        handle = null;
        store.close(full, failure -> {
            if (failure != null) {
                end("ledger " + full.getId() + " could not be closed: " + failure);
            } else if (!isOver()) {
                begin(bytes);
            }
        });
    }

    // ------------------------------------------------------------------------------------------ truncation

    /** Up to a position nobody needs the log. */
    void truncate(long position) {
        truncate = Math.max(truncate, position);
        shorten();
    }

    private void shorten() {
        if (state != State.WRITING || changesList) {
            return;
        }
        LedgerList shorter = list.truncated(truncate);
        if (shorter.doomed().isEmpty()) {
            return;
        }
        if (shorter.equals(list)) {
            remove(list.doomed());
        } else {
            change(shorter, changed -> {
                if (changed == Changed.DONE) {
                    remove(shorter.doomed());
                }
            });
        }
    }

    /** Removes ledgers that are in the list no more; the list forgets them afterwards. */
    private void remove(List<Long> doomed) {
        changesList = true;
        int[] left = {doomed.size()};
        boolean[] all = {true};
        for (long ledger : doomed) {
            store.delete(ledger, (_, failure) -> {
                if (failure != null && !LedgerStore.isGone(failure)) {
                    LOG.warn("node {} could not remove ledger {} yet: {}", self, ledger, failure.toString());
                    all[0] = false;
                }
                if (--left[0] > 0 || isOver()) {
                    return;
                }
                changesList = false;
                if (all[0]) {
                    change(list.removed(doomed), changed -> {
                        if (changed == Changed.DONE) {
                            change();
                        }
                    });
                } else {
                    change();
                }
            });
        }
    }
}
