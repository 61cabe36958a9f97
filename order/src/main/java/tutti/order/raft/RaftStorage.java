package tutti.order.raft;

import io.microraft.model.log.LogEntry;
import io.microraft.model.log.RaftGroupMembersView;
import io.microraft.model.log.SnapshotChunk;
import io.microraft.model.persistence.RaftEndpointPersistentState;
import io.microraft.model.persistence.RaftTermPersistentState;
import io.microraft.persistence.RaftStore;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * MicroRaft's view of what is on disk: the log and the vote. The first thing that goes wrong stops the node: nothing is
 * stored or promised any more after it, since nobody knows what the disk holds then. Used on Raft's loop only.
 *
 * <p>
 * MicroRaft's snapshots are not stored. They only bound its log in memory; our {@link Checkpoints} are what a restart
 * begins with, and the log on disk is cut when every node has applied it.
 *
 * <p>
 * <b>Checked.</b> Nothing that is committed is cut from the end of the log: a leader that asks for it was elected by nodes that have
 * forgotten what they had acknowledged.
 */
final class RaftStorage implements RaftStore {
    private interface Write {
        void run() throws IOException;
    }

    private final SegmentedLog log;
    private final NodeDirectory directory;
    private final LongSupplier committed;
    private final Consumer<Throwable> onFailure;
    private boolean failed;

    /**
     * Of a node.
     *
     * @param committed the last entry that is committed, as far as the node knows
     * @param onFailure told what has gone wrong
     */
    RaftStorage(SegmentedLog log, NodeDirectory directory, LongSupplier committed, Consumer<Throwable> onFailure) {
        this.log = log;
        this.committed = committed;
        this.directory = directory;
        this.onFailure = onFailure;
    }

    private void write(String what, Write write) throws IOException {
        if (failed) {
            throw new IOException("the log has failed before");
        }
        try {
            write.run();
        } catch (IOException | RuntimeException e) {
            failed = true;
            onFailure.accept(new IOException("cannot " + what + ": " + e.getMessage()
                    + ". This node stops; make room or repair the disk, then start it again", e));
            throw e;
        }
    }

    @Override
    public void persistLogEntries(List<LogEntry> entries) throws IOException {
        write("write to the order's log", () -> {
            for (LogEntry entry : entries) {
                Operation operation = MessageCodec.operation(entry);
                log.append(new tutti.order.raft.LogEntry(entry.getIndex(), entry.getTerm(), operation.kind,
                        operation.body()));
                operation.stored(entry.getIndex(), log);
            }
        });
    }

    @Override
    public void flush() throws IOException {
        write("flush the order's log", log::flush);
    }

    @Override
    public void truncateLogEntriesFrom(long index) throws IOException {
        if (index <= committed.getAsLong()) {
            failed = true;
            IllegalStateException forgotten = new IllegalStateException("entry " + index + " and those behind it are to"
                    + " be cut from the order's log, but all up to " + committed.getAsLong() + " were committed: other"
                    + " nodes have forgotten what they had promised to keep. Compare the databases of all nodes, and"
                    + " begin a new cluster, in empty directories, with a copy of the right one");
            onFailure.accept(forgotten);
            throw forgotten;
        }
        write("cut the end of the order's log", () -> log.truncateFrom(index));
    }

    @Override
    public void persistAndFlushTerm(RaftTermPersistentState state) throws IOException {
        write("store this node's vote", () -> directory.vote(state.getTerm(),
                state.getVotedFor() == null ? null : Node.id(state.getVotedFor())));
    }

    @Override
    public void persistAndFlushLocalEndpoint(RaftEndpointPersistentState state) {
        // The directory was bound to this node when it was opened.
    }

    @Override
    public void persistAndFlushInitialGroupMembers(RaftGroupMembersView members) {
        // Likewise.
    }

    @Override
    public void truncateLogEntriesUntil(long index) {
        // In memory only: see above.
    }

    @Override
    public void persistSnapshotChunk(SnapshotChunk chunk) {
        // Likewise.
    }

    @Override
    public void deleteSnapshotChunks(long index, int count) {
        // Likewise.
    }
}
