package tutti.order;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import tutti.core.schema.DecodeException;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.runtime.Clock;
import tutti.runtime.Directory;
import tutti.runtime.DurableFiles;

/**
 * The little that a node keeps on its disk whose order lies elsewhere: which group it belongs to, how often it has been started, and
 * whether it has ever promised a view, so that a later life does not take itself for a new node. Locked against a second process.
 */
public final class NodeLives implements AutoCloseable {
    private static final String LOCK = "lock";

    /**
     * What is in the file.
     *
     * @param identity which node of which group the directory is of, in words that people can compare
     * @param last number of the last life
     * @param promised whether a view was ever promised
     */
    public record Lives(String identity, long last, boolean promised) implements Encoded {
        /** As it is written. */
        public static final Schema<Lives> SCHEMA = Schema
                .message("lives", 1, Lives.class, "Whose directory it is, and what its lives have come to.").of(
                        Field.of("identity", Types.text(1 << 20), Lives::identity),
                        Field.of("last", Types.NATURAL, Lives::last),
                        Field.of("promised", Types.BOOLEAN, Lives::promised), Lives::new);
    }

    /** All that is in files. */
    public static final MessageSet<Lives> SET = new MessageSet<>("group files",
            "In the file `group` of a node of a group order and `ledgers` of one whose log is in BookKeeper, behind its CRC-32C of 4 bytes.",
            List.of(Lives.SCHEMA));

    private final Directory directory;
    private final String file;
    private final Closeable lock;
    private final String identity;
    private final long former;
    private boolean promised;

    /**
     * Takes the directory, and notes a new life.
     *
     * @param file name of the file, another one for each kind of order
     * @param identity which node of which group this is, in words that people can compare
     * @throws IOException if another process uses it, if it belongs to something else, or if it is damaged
     */
    public NodeLives(Directory directory, String file, String identity, Clock clock) throws IOException {
        this.directory = directory;
        this.file = file;
        this.identity = identity;
        lock = directory.lock(LOCK);
        try {
            // The clock makes it grow even after the directory was lost.
            long now = clock.now().toEpochMilli();
            if (directory.exists(file)) {
                Lives known = read();
                promised = known.promised();
                if (!known.identity().equals(identity)) {
                    throw new IOException(
                            directory.location() + " belongs to " + known.identity()
                                    + ", but this node is configured as "
                                    + identity + ": use the same members as before, or another directory");
                }
                former = Math.max(known.last(), now - 1);
            } else if (directory.list().stream()
                    .anyMatch(name -> !name.equals(LOCK) && !name.endsWith(DurableFiles.ASIDE))) {
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
    public long formerLife() {
        return former;
    }

    /** Whether a view was ever promised. */
    public boolean hasPromised() {
        return promised;
    }

    /** A view is promised; on disk when this returns. */
    public void promise() throws IOException {
        if (!promised) {
            promised = true;
            write();
        }
    }

    private void write() throws IOException {
        DurableFiles.write(directory, file, new Lives(identity, former + 1, promised).bytes());
    }

    private Lives read() throws IOException {
        try {
            return SET.decode(DurableFiles.read(directory, file), Lives.class);
        } catch (DecodeException wrong) {
            throw new IOException(directory.location(file) + " cannot be used: " + wrong.getMessage(), wrong);
        }
    }

    @Override
    public void close() throws IOException {
        lock.close();
    }
}
