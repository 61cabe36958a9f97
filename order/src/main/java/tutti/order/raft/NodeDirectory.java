package tutti.order.raft;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import tutti.runtime.Clock;
import tutti.runtime.Directory;
import tutti.runtime.DurableFiles;

/**
 * A node's directory: locked against a second process, bound to one node of one cluster, and holding what Raft must not
 * forget besides the log: the current term and whom this node voted for in it.
 */
final class NodeDirectory implements AutoCloseable {
    private static final int NOBODY = Integer.MIN_VALUE;

    private static final String LOCK = "lock";
    private static final String IDENTITY = "identity";
    private static final String VOTE = "vote";
    private static final String INCARNATION = "incarnation";

    private final Directory directory;
    private final Closeable lock;
    private final boolean fresh;
    private final long incarnation;
    private int term;
    private int votedFor = NOBODY;

    /**
     * Takes the directory.
     *
     * @param identity who this node is and which cluster it belongs to, in words that people can compare
     * @throws IOException if another process uses it, if it belongs to another node or cluster, or if it is damaged
     */
    NodeDirectory(Directory directory, String identity, Clock clock) throws IOException {
        this.directory = directory;
        lock = directory.lock(LOCK);
        try {
            fresh = !directory.exists(IDENTITY);
            if (!fresh) {
                String known = StandardCharsets.UTF_8.decode(DurableFiles.read(directory, IDENTITY)).toString();
                if (!known.equals(identity)) {
                    throw new IOException(
                            directory.location() + " belongs to " + known + ", but this node is configured as "
                                    + identity + ": use the same member list as before, or another directory");
                }
                ByteBuffer vote = DurableFiles.read(directory, VOTE);
                term = vote.getInt();
                votedFor = vote.getInt();
            }
            incarnation = nextIncarnation(clock);
        } catch (IOException | RuntimeException e) {
            lock.close();
            throw e;
        }
    }

    private long nextIncarnation(Clock clock) throws IOException {
        long last = directory.exists(INCARNATION) ? DurableFiles.read(directory, INCARNATION).getLong() : 0;
        // The clock makes it grow even after the directory was lost.
        long next = Math.max(last + 1, clock.now().toEpochMilli());
        DurableFiles.write(directory, INCARNATION, ByteBuffer.allocate(8).putLong(next).array());
        return next;
    }

    /** Whether the node has never been started with this directory. */
    boolean fresh() {
        return fresh;
    }

    /** Ends a first start: from now on the log and the vote must be there. */
    void established(String identity) throws IOException {
        if (fresh) {
            writeVote();
            DurableFiles.write(directory, IDENTITY, identity.getBytes(StandardCharsets.UTF_8));
        }
    }

    /** Number of this start of the node, greater than that of every earlier one. */
    long incarnation() {
        return incarnation;
    }

    int term() {
        return term;
    }

    /** Whom this node voted for in its term, or null. */
    @Nullable
    Integer votedFor() {
        return votedFor == NOBODY || term == 0 ? null : Integer.valueOf(votedFor);
    }

    /** Notes term and vote; on disk when it returns. */
    void vote(int newTerm, @Nullable Integer candidate) throws IOException {
        int newVote = candidate == null ? NOBODY : candidate;
        if (newTerm != term || newVote != votedFor) {
            term = newTerm;
            votedFor = newVote;
            writeVote();
        }
    }

    private void writeVote() throws IOException {
        DurableFiles.write(directory, VOTE, ByteBuffer.allocate(8).putInt(term).putInt(votedFor).array());
    }

    @Override
    public void close() throws IOException {
        lock.close();
    }
}
