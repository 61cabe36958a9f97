package tutti.order.raft;

import java.io.Closeable;
import java.io.IOException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.schema.Encoded;
import tutti.runtime.Clock;
import tutti.runtime.DamagedFileException;
import tutti.runtime.Directory;
import tutti.runtime.LostDirectoryException;
import tutti.runtime.RemovedNodeException;

/**
 * A node's directory: locked against a second process, bound to one node of one cluster, and holding what Raft must not
 * forget besides the log: the current term and whom this node voted for in it.
 * A directory has a number that no other has, and so has each life of a node that begins with it: by these others know it
 * again ({@link MetNodes}).
 */
final class NodeDirectory implements AutoCloseable {
    private static final Logger LOGGER = LoggerFactory.getLogger(NodeDirectory.class);
    private static final String LOCK = "lock";
    /** The file that says which node of which cluster it is of. */
    static final String IDENTITY = "identity";
    private static final String CLUSTER = "cluster";
    private static final String VOTE = "vote";
    private static final String INCARNATION = "incarnation";
    private static final String NUMBER = "number";
    private static final String OUTDATED = "outdated";
    private static final String REMOVED = "removed";

    private final Directory directory;
    private final Closeable lock;
    private final boolean fresh;
    private final long incarnation;
    private final long life;
    private final long number;
    private final String cluster;
    private int term;
    private @Nullable Integer votedFor;

    /**
     * Takes the directory.
     *
     * @param unused a number that no other directory has, for a new one
     * @param identity which node this is among which members, in words that people can compare
     * @param claimed id of the cluster as the node is configured; nothing if its configuration does not say
     * @throws IOException if another process uses it, if it belongs to another node or cluster, or if it is damaged
     */
    NodeDirectory(Directory directory, String identity, String claimed, Clock clock, long unused)
            throws IOException {
        this.directory = directory;
        lock = lock(directory);
        try {
            if (directory.exists(OUTDATED)) {
                throw new LostDirectoryException(RaftFiles.read(directory, OUTDATED, RaftFiles.Outdated.class).why());
            }
            if (directory.exists(REMOVED)) {
                throw new RemovedNodeException(RaftFiles.read(directory, REMOVED, RaftFiles.Removed.class).why());
            }
            fresh = !directory.exists(IDENTITY);
            cluster = cluster(claimed);
            if (!fresh) {
                String known = RaftFiles.read(directory, IDENTITY, RaftFiles.Identity.class).words();
                if (!known.equals(identity)) {
                    throw new IOException(
                            directory.location() + " belongs to " + known + ", but this node is configured as "
                                    + identity + ": use the same member list as before, or another directory");
                }
                RaftFiles.Vote vote = RaftFiles.read(directory, VOTE, RaftFiles.Vote.class);
                term = vote.term();
                votedFor = vote.votedFor();
            }
            number = fresh ? unused : RaftFiles.read(directory, NUMBER, RaftFiles.DirectoryNumber.class).of();
            RaftFiles.Incarnation begun = nextIncarnation(clock);
            incarnation = begun.last();
            life = begun.life();
        } catch (IOException | RuntimeException e) {
            lock.close();
            throw e;
        }
    }

    /**
     * Makes a directory that another node has used, or a copy of what it held, that of this one. With it comes which directories the others have.
     * By whoever has its {@linkplain #lock lock}.
     *
     * @param term of the last entry of its log
     * @param unused a number that no other directory has
     * @param incarnation the last one of this node of which the log has heard
     * @throws IOException if it cannot be written
     */
    static void adopt(Directory directory, String identity, int self, int term, long unused, long incarnation)
            throws IOException {
        int told = directory.exists(VOTE) ? RaftFiles.read(directory, VOTE, RaftFiles.Vote.class).term() : 0;
        if (directory.exists(IDENTITY)) {
            MetNodes.met(directory, RaftFiles.read(directory, IDENTITY, RaftFiles.Identity.class).node(),
                    RaftFiles.read(directory, NUMBER, RaftFiles.DirectoryNumber.class).of());
        }
        // Whoever is cut short here finds a directory of nobody, with a vote that counts.
        directory.delete(IDENTITY);
        for (String name : directory.list()) {
            if (name.equals(MetNodes.MET + self) || name.equals(OUTDATED)) {
                directory.delete(name);
            }
        }
        directory.sync();
        RaftFiles.write(directory, VOTE, new RaftFiles.Vote(Math.max(told, term), self));
        RaftFiles.write(directory, INCARNATION, new RaftFiles.Incarnation(incarnation, 0));
        RaftFiles.write(directory, NUMBER, new RaftFiles.DirectoryNumber(unused));
        RaftFiles.write(directory, IDENTITY, new RaftFiles.Identity(identity));
    }

    /**
     * Takes a directory, in which even to open the log is to change it.
     *
     * @throws IOException if it is in use
     */
    static Closeable lock(Directory directory) throws IOException {
        return directory.lock(LOCK);
    }

    /** Why no node may start with a directory; nothing if it may. */
    static String unusable(Directory directory) throws IOException {
        if (directory.exists(OUTDATED)) {
            return RaftFiles.read(directory, OUTDATED, RaftFiles.Outdated.class).why();
        }
        return directory.exists(REMOVED) ? RaftFiles.read(directory, REMOVED, RaftFiles.Removed.class).why() : "";
    }

    /** Writes what the directory of a copy has, besides the log, before somebody adopts it. */
    static void copied(Directory into, String cluster, int term) throws IOException {
        if (!cluster.isEmpty()) {
            RaftFiles.write(into, CLUSTER, new RaftFiles.ClusterId(cluster));
        }
        RaftFiles.write(into, VOTE, new RaftFiles.Vote(term, null));
    }

    /** Id of the cluster that a copy is of, or nothing. */
    static String clusterOf(Directory copy) throws IOException {
        return copy.exists(CLUSTER) ? RaftFiles.read(copy, CLUSTER, RaftFiles.ClusterId.class).id() : "";
    }

    /** The id of its cluster, which it gets with the first start that says one, and keeps. */
    private String cluster(String claimed) throws IOException {
        String known = directory.exists(CLUSTER)
                ? RaftFiles.read(directory, CLUSTER, RaftFiles.ClusterId.class).id()
                : "";
        if (known.isEmpty() && !claimed.isEmpty()) {
            RaftFiles.write(directory, CLUSTER, new RaftFiles.ClusterId(claimed));
            return claimed;
        }
        if (!known.isEmpty() && !claimed.isEmpty() && !known.equals(claimed)) {
            throw new IOException(directory.location() + " belongs to cluster " + known
                    + ", but this node is configured for cluster " + claimed
                    + ": give it the certificate of the first, or another directory");
        }
        return known;
    }

    private RaftFiles.Incarnation nextIncarnation(Clock clock) throws IOException {
        RaftFiles.Incarnation last = directory.exists(INCARNATION)
                ? RaftFiles.read(directory, INCARNATION, RaftFiles.Incarnation.class)
                : new RaftFiles.Incarnation(0, 0);
        // The clock makes it grow even where the log has not heard of those before.
        RaftFiles.Incarnation next = new RaftFiles.Incarnation(
                Math.max(last.last() + 1, clock.now().toEpochMilli()), last.life() + 1);
        RaftFiles.write(directory, INCARNATION, next);
        return next;
    }

    /** Whether the node has never been started with this directory. */
    boolean fresh() {
        return fresh;
    }

    /** Id of its cluster; nothing if it never had one. */
    String cluster() {
        return cluster;
    }

    /**
     * Looks whether the vote may be that of a log's node: a node votes in a term, safely, before its log gets an entry of it.
     *
     * @throws DamagedFileException if not
     */
    void check(SegmentedLog log) throws DamagedFileException {
        if (log.lastIndex() >= log.firstIndex() && log.term(log.lastIndex()) > term) {
            throw new DamagedFileException(directory.location() + " has a log with an entry of term "
                    + log.term(log.lastIndex()) + ", and a vote " + (fresh ? "of no term" : "of term " + term));
        }
    }

    /** Ends a first start: from now on the log and the vote must be there. */
    void established(String identity) throws IOException {
        if (fresh) {
            writeVote();
            RaftFiles.write(directory, NUMBER, new RaftFiles.DirectoryNumber(number));
            RaftFiles.write(directory, IDENTITY, new RaftFiles.Identity(identity));
        }
    }

    /** Number of this directory, which no other has. */
    long number() {
        return number;
    }

    /** How often the node has been started with this directory. */
    long life() {
        return life;
    }

    /**
     * It is an old copy: no later start takes it. Tells the log if that cannot be noted.
     *
     * @param why for people
     */
    void outdated(String why) {
        mark(OUTDATED, new RaftFiles.Outdated(directory.location() + " was found to be an old copy: " + why));
    }

    /**
     * Its node was removed from the cluster: no later start takes it. Tells the log if that cannot be noted.
     *
     * @param why for people
     */
    void removed(String why) {
        mark(REMOVED, new RaftFiles.Removed(why + ". " + directory.location() + " is of no use any more"));
    }

    private void mark(String file, Encoded why) {
        try {
            RaftFiles.write(directory, file, why);
        } catch (IOException broken) {
            LOGGER.error("{} cannot be marked as one that no later start may take", directory.location(), broken);
        }
    }

    /** Number of this start of the node, greater than that of every earlier one. */
    long incarnation() {
        return incarnation;
    }

    /** The highest in which it takes part. */
    int term() {
        return term;
    }

    /** Whom this node voted for in its term, or null. */
    @Nullable
    Integer votedFor() {
        return term == 0 ? null : votedFor;
    }

    /** Notes term and vote; on disk when it returns. */
    void vote(int newTerm, @Nullable Integer candidate) throws IOException {
        if (newTerm != term || !Objects.equals(candidate, votedFor)) {
            term = newTerm;
            votedFor = candidate;
            writeVote();
        }
    }

    private void writeVote() throws IOException {
        RaftFiles.write(directory, VOTE, new RaftFiles.Vote(term, votedFor));
    }

    @Override
    public void close() throws IOException {
        lock.close();
    }
}
