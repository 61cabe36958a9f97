package tutti.order.raft;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * A node's directory: locked against a second process, bound to one node of one cluster, and holding what Raft must not
 * forget besides the log: the current term and whom this node voted for in it.
 */
final class NodeDirectory implements AutoCloseable {
    private static final int NOBODY = Integer.MIN_VALUE;

    private final Path directory;
    private final FileOpener files;
    private final FileChannel lock;
    private final boolean fresh;
    private final long incarnation;
    private int term;
    private int votedFor = NOBODY;

    /**
     * Opens or creates the directory.
     *
     * @param identity who this node is and which cluster it belongs to, in words that people can compare
     * @throws IOException if another process uses it, if it belongs to another node or cluster, or if it is damaged
     */
    NodeDirectory(Path directory, String identity, FileOpener files) throws IOException {
        this.directory = directory;
        this.files = files;
        Files.createDirectories(directory);
        lock = FileChannel.open(directory.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        try {
            if (!acquire(lock)) {
                throw new IOException(directory + " is in use by another process: stop it first, or give this node a "
                        + "directory of its own");
            }
            fresh = !Files.exists(directory.resolve("identity"));
            if (!fresh) {
                String known = StandardCharsets.UTF_8.decode(DurableFiles.read(directory.resolve("identity")))
                        .toString();
                if (!known.equals(identity)) {
                    throw new IOException(directory + " belongs to " + known + ", but this node is configured as "
                            + identity + ": use the same member list as before, or another directory");
                }
                ByteBuffer vote = DurableFiles.read(directory.resolve("vote"));
                term = vote.getInt();
                votedFor = vote.getInt();
            }
            incarnation = nextIncarnation();
        } catch (IOException | RuntimeException e) {
            lock.close();
            throw e;
        }
    }

    private static boolean acquire(FileChannel channel) throws IOException {
        try {
            @SuppressWarnings("resource") // released with the channel
            FileLock held = channel.tryLock();
            return held != null;
        } catch (OverlappingFileLockException e) {
            return false;
        }
    }

    private long nextIncarnation() throws IOException {
        Path file = directory.resolve("incarnation");
        long last = Files.exists(file) ? DurableFiles.read(file).getLong() : 0;
        // The clock makes it grow even after the directory was lost.
        long next = Math.max(last + 1, System.currentTimeMillis());
        DurableFiles.write(file, ByteBuffer.allocate(8).putLong(next).array(), files);
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
            DurableFiles.write(directory.resolve("identity"), identity.getBytes(StandardCharsets.UTF_8), files);
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
        DurableFiles.write(directory.resolve("vote"), ByteBuffer.allocate(8).putInt(term).putInt(votedFor).array(),
                files);
    }

    @Override
    public void close() throws IOException {
        lock.close();
    }
}
