package tutti.order.group;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import tutti.runtime.Clock;
import tutti.runtime.Directory;
import tutti.runtime.DurableFiles;

/**
 * The little that a node of a group keeps on its disk: which group it belongs to, how often it has been started, and whether it
 * has ever promised a view, so that a later life does not take itself for a new node. Locked against a second process.
 */
final class GroupDirectory implements AutoCloseable {
    private static final String LOCK = "lock";
    private static final String LIVES = "group";

    private final Directory directory;
    private final Closeable lock;
    private final byte[] identity;
    private final long former;
    private boolean promised;

    /**
     * Takes the directory, and notes a new life.
     *
     * @param identity which node of which group this is, in words that people can compare
     * @throws IOException if another process uses it, if it belongs to something else, or if it is damaged
     */
    GroupDirectory(Directory directory, String identity, Clock clock) throws IOException {
        this.directory = directory;
        this.identity = identity.getBytes(StandardCharsets.UTF_8);
        lock = directory.lock(LOCK);
        try {
            // The clock makes it grow even after the directory was lost.
            long now = clock.now().toEpochMilli();
            if (directory.exists(LIVES)) {
                ByteBuffer known = DurableFiles.read(directory, LIVES);
                long last = known.getLong();
                promised = known.get() != 0;
                String owner = StandardCharsets.UTF_8.decode(known).toString();
                if (!owner.equals(identity)) {
                    throw new IOException(directory.location() + " belongs to " + owner + ", but this node is configured as "
                            + identity + ": use the same members as before, or another directory");
                }
                former = Math.max(last, now - 1);
            } else if (directory.list().stream().anyMatch(name -> !name.equals(LOCK) && !name.endsWith(DurableFiles.ASIDE))) {
                throw new IOException(directory.location() + " holds the log of an order of another kind, "
                        + directory.list() + ": choose that order.kind, or begin a new cluster in empty directories");
            } else {
                former = Math.max(0, now - 1);
            }
            write();
        } catch (IOException | RuntimeException failed) {
            lock.close();
            throw failed;
        }
    }

    /** Number of the last life before this one, at most; this one's is the next. */
    long formerLife() {
        return former;
    }

    /** Whether a view was ever promised. */
    boolean hasPromised() {
        return promised;
    }

    /** A view is promised; on disk when this returns. */
    void promise() throws IOException {
        if (!promised) {
            promised = true;
            write();
        }
    }

    private void write() throws IOException {
        DurableFiles.write(directory, LIVES, ByteBuffer.allocate(Long.BYTES + 1 + identity.length).putLong(former + 1)
                .put((byte) (promised ? 1 : 0)).put(identity).array());
    }

    @Override
    public void close() throws IOException {
        lock.close();
    }
}
