package tutti.order.raft;

import io.microraft.impl.statemachine.InternalCommitAware;
import io.microraft.statemachine.StateMachine;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;
import tutti.order.batch.SenderTable;

/**
 * What this node's log has committed: numbers its messages, keeps {@link Checkpoints} of that, and forgets the beginning of the
 * log when it may. It is what MicroRaft calls the state machine. On Raft's loop, but for {@link #lastKnown}.
 */
final class CommittedEntries implements StateMachine, InternalCommitAware {
    private static final int CHECKPOINT_ENTRIES = 4096;

    /** Hears of what is committed. */
    interface Listener {
        /**
         * An entry was committed.
         *
         * @param counts whether it has messages that got positions
         */
        void committed(long index, Operation operation, boolean counts);

        /** The last entry that has been read to be delivered; 0 before that begins. */
        long read();

        /** Has something done in a moment, when what waits for the loop, and connections, have had their turn. */
        void later(Runnable task);

        /** It cannot go on. */
        void failed(Throwable cause);
    }

    private final SegmentedLog log;
    private final Checkpoints checkpoints;
    private final VotingGroups groups;
    private final int segmentBytes;
    private final Listener listener;
    /** After the entry {@link #index}. */
    private final SenderTable table;
    private long index;
    private int term;
    private long bytesSinceCheckpoint;
    private long checkpointIndex;
    /** The caller allowed to forget positions up to here. */
    private long forgettable;
    /** The rest of that is forgotten later. */
    private boolean forgetsMore;
    private boolean failed;
    private volatile long lastKnown;

    /** Goes on from the newest checkpoint. */
    CommittedEntries(SegmentedLog log, Checkpoints checkpoints, VotingGroups groups, int segmentBytes,
            Listener listener) {
        this.log = log;
        this.checkpoints = checkpoints;
        this.groups = groups;
        this.segmentBytes = segmentBytes;
        this.listener = listener;
        Checkpoints.Checkpoint newest = checkpoints.newest();
        table = SenderTable.of(newest.table());
        index = newest.index();
        term = newest.term();
        checkpointIndex = index;
        lastKnown = table.positions();
    }

    /** The last entry that is committed, as far as this node knows. */
    long index() {
        return index;
    }

    /** The last position that is known to be given out. Any thread. */
    long lastKnown() {
        return lastKnown;
    }

    /** Term of an entry, or -1 if that is not known any more. */
    int termAt(long of) {
        if (of >= log.firstIndex() && of <= log.lastIndex()) {
            return log.term(of);
        }
        Checkpoints.Checkpoint oldest = checkpoints.oldest();
        return of == oldest.index() ? oldest.term() : -1;
    }

    /** Positions up to this one may be forgotten. */
    void truncate(long position) {
        forgettable = Math.max(forgettable, position);
        carefully(this::forget);
    }

    @Override
    public Object runOperation(long of, Object operation) {
        carefully(() -> apply(of, (Operation) operation));
        return of;
    }

    /** A change of the group was committed, of which MicroRaft tells nothing else. */
    @Override
    public void onInternalCommit(long of) {
        carefully(() -> {
            GroupChange change = GroupChange.of(log.read(of).body());
            groups.add(new VotingGroups.Group(of, change.members(), change.voters()), checkpoints.oldest().index());
            apply(of, Operation.of(LogEntry.GROUP, change.bytes()));
        });
    }

    private interface Step {
        void run() throws IOException;
    }

    /** MicroRaft would only log what goes wrong, and go on. */
    private void carefully(Step step) {
        if (failed) {
            return;
        }
        try {
            step.run();
        } catch (IOException | RuntimeException e) {
            failed = true;
            listener.failed(e);
        }
    }

    private void apply(long of, Operation operation) throws IOException {
        if (of != index + 1) {
            throw new IllegalStateException("entry " + of + " was committed after " + index);
        }
        int ofTerm = termAt(of);
        if (ofTerm < term) {
            throw new IllegalStateException("entry " + of + " of term " + ofTerm + " was committed after one of term "
                    + term + ": it is not in this node's log, or not as it was written");
        }
        boolean counts = operation.kind == LogEntry.BATCH && table.accept(operation.sender, operation.incarnation,
                operation.sequence, operation.messages) > 0;
        index = of;
        term = ofTerm;
        lastKnown = table.positions();
        listener.committed(of, operation, counts);
        bytesSinceCheckpoint += operation.bodyBytes();
        if (wantsCheckpoint(index - checkpointIndex, bytesSinceCheckpoint, segmentBytes)) {
            checkpoint();
        }
    }

    /**
     * Whether so much lies behind the last checkpoint that there is to be another. MicroRaft is given all that does when a node starts, and
     * its memory has room for some 20,000 entries.
     */
    static boolean wantsCheckpoint(long entries, long bytes, int segmentBytes) {
        return entries >= CHECKPOINT_ENTRIES || bytes >= segmentBytes;
    }

    /**
     * The log must not end before a checkpoint. MicroRaft 0.7 flushes what a node has appended before it answers; a leader's flush is a task of its
     * own, queued when it sends, and need not be done when a majority has answered. What is safe is not flushed again.
     */
    private void checkpoint() throws IOException {
        log.flush();
        checkpoints.add(index, term, table);
        checkpointIndex = index;
        bytesSinceCheckpoint = 0;
        forget();
    }

    /**
     * Not what is still to be read: delivery begins with the checkpoint before what it delivers first. By one checkpoint in a turn of the loop, for
     * each file that is removed waits for the disk, nothing is sent or heard meanwhile, and all nodes may forget at the same position.
     */
    private void forget() throws IOException {
        Checkpoints.Checkpoint keep = checkpoints.before(forgettable);
        if (keep.index() > checkpoints.oldest().index() && keep.positions() <= forgettable
                && keep.index() <= listener.read()) {
            long until = Math.min(keep.index(), checkpoints.second().index());
            log.truncateUntil(until);
            checkpoints.removeBefore(until);
            if (until < keep.index() && !forgetsMore) {
                forgetsMore = true;
                listener.later(() -> carefully(() -> {
                    forgetsMore = false;
                    forget();
                }));
            }
        }
    }

    @Override
    public void takeSnapshot(long of, Consumer<Object> chunks) {
        chunks.accept(table.image());
    }

    @Override
    public void installSnapshot(long of, List<Object> chunks) {
        if (of != index) {
            throw new IllegalStateException("a snapshot of entry " + of + " at entry " + index);
        }
    }

    @Override
    public Object getNewTermOperation() {
        return Operation.of(LogEntry.NEW_TERM, new byte[0]);
    }
}
