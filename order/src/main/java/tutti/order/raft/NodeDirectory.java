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
 *
 * <p>
 * <b>Lost directories.</b> A directory has a number that no other has, and the node notes those of the others when it meets them
 * first. A member that comes back without its vote and its log would break what a majority rests on: it could vote twice in a
 * term, and for a leader that lacks what it has helped to commit. It comes with a directory of another number, and the others
 * turn it away.
 */
final class NodeDirectory implements AutoCloseable {
    private static final int NOBODY = Integer.MIN_VALUE;

    private static final String LOCK = "lock";
    private static final String IDENTITY = "identity";
    private static final String VOTE = "vote";
    private static final String INCARNATION = "incarnation";
    private static final String NUMBER = "number";
    private static final String MET = "met-";

    private final Directory directory;
    private final Closeable lock;
    private final boolean fresh;
    private final long incarnation;
    private final long number;
    private int term;
    private int votedFor = NOBODY;

    /**
     * Takes the directory.
     *
     * @param unused a number that no other directory has, for a new one
     * @param identity who this node is and which cluster it belongs to, in words that people can compare
     * @throws IOException if another process uses it, if it belongs to another node or cluster, or if it is damaged
     */
    NodeDirectory(Directory directory, String identity, Clock clock, long unused) throws IOException {
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
            number = fresh ? unused : DurableFiles.read(directory, NUMBER).getLong();
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
        write(INCARNATION, next);
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
            write(NUMBER, number);
            DurableFiles.write(directory, IDENTITY, identity.getBytes(StandardCharsets.UTF_8));
        }
    }

    private void write(String name, long value) throws IOException {
        DurableFiles.write(directory, name, ByteBuffer.allocate(Long.BYTES).putLong(value).array());
    }

    /** Number of this directory, which no other has. */
    long number() {
        return number;
    }

    /**
     * Whether another node has the directory that it had when this one met it first, which may be now.
     *
     * @throws IOException if that cannot be read or noted
     */
    boolean knows(int node, long itsDirectory) throws IOException {
        String name = MET + node;
        if (!directory.exists(name)) {
            write(name, itsDirectory);
            return true;
        }
        return DurableFiles.read(directory, name).getLong() == itsDirectory;
    }

    /** What helps a node that has lost its directory. */
    String remedy(int node) {
        return "put its directory back. If it is lost, see that all other nodes run and are up to date, delete the file "
                + directory.location(MET + node) + " and its like at each of them, and give the node a copy of another"
                + " node's database";
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
