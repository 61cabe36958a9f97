package tutti.node.copy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.CopyNeededException;
import tutti.core.spi.DurableLog;
import tutti.runtime.DamagedFileException;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.runtime.DurableFiles;
import tutti.runtime.LostDirectoryException;

/**
 * A copy of another node's state, with which this node is to begin anew: where it is put, and how it takes the place of what is there.
 *
 * <p>
 * <b>What a crash leaves.</b> In the directory {@code incoming} of the node's data:
 * <ul>
 * <li>the file {@code wanted}, with the number of the new order directory, from before anybody is asked until all is in place. As long as
 * it is there, the node begins nothing with the data that it has: what it had promised may count no more
 * ({@code OrderCopy} in {@code tutti.order.raft}).
 * <li>the directory {@code files}, with the copy's. It is whole if the file {@link CopyReceiver#COMPLETE} is in there, which the receiver
 * makes last. If not, it is removed, and another copy is got.
 * </ul>
 * Of a whole one, the order directory is first made that of this node, and then each part takes the place of the one that is there. That can
 * be done again from wherever it was cut short, since a part that has been moved is not in {@code files} any more. The last is to
 * remove {@code wanted}, then the rest.
 *
 * <p>
 * Used by one thread.
 */
public final class IncomingFiles {
    private static final Logger LOG = LoggerFactory.getLogger(IncomingFiles.class);
    private static final String INCOMING = "incoming";
    private static final String WANTED = "wanted";
    private static final String FILES = "files";
    private static final String REMEDY = ": look at its disk, remove the directory it is in,"
            + " and start the node with `tutti node --copy-from any`";

    /** Makes the order directory of a copy that of this node. */
    @FunctionalInterface
    public interface Adopter {
        /**
         * Does it; may be done again if it was cut short.
         *
         * @param directory of the order, in the copy
         * @param number of the directory from now on
         */
        void adopt(Directory directory, long number) throws IOException;
    }

    private final Directory data;
    private final List<String> parts;
    private final String order;

    /**
     * In a node's data directory.
     *
     * @param parts names of the directories there that a copy consists of
     * @param order that of them which is the order's
     */
    public IncomingFiles(Directory data, List<String> parts, String order) {
        this.data = data;
        this.parts = List.copyOf(parts);
        this.order = order;
    }

    /** Whether a new start with a copy helps a node that cannot go on for this reason. */
    public static boolean helps(Throwable cause) {
        for (Throwable each = cause; each != null; each = each.getCause()) {
            if (each instanceof LostDirectoryException || each instanceof DurableLog.TruncatedException
                    || each instanceof CopyNeededException) {
                return true;
            }
        }
        return false;
    }

    /** Whether the node must not begin before it has a copy. */
    public boolean isWanted() throws IOException {
        return data.exists(INCOMING) && data.directory(INCOMING).exists(WANTED);
    }

    /**
     * From now on the node does not begin before it has a copy; without effect if that is so already.
     *
     * @param number of the new order directory, which no other has
     */
    public void want(long number) throws IOException {
        if (!isWanted()) {
            data.deleteAll(INCOMING);
            Directory incoming = data.directory(INCOMING);
            String aside = WANTED + DurableFiles.ASIDE;
            try (DataFile file = incoming.open(aside, Directory.Open.EMPTY)) {
                file.write(ByteBuffer.wrap(Long.toString(number).getBytes(StandardCharsets.US_ASCII)), 0);
                file.force(true);
            }
            incoming.move(aside, WANTED);
            incoming.sync();
        }
    }

    /**
     * The number of the new order directory.
     *
     * @throws DamagedFileException if the note that says it is damaged. It is this node's own: somebody has to look at the disk
     */
    public long number() throws IOException {
        Directory incoming = data.directory(INCOMING);
        try (DataFile file = incoming.open(WANTED, Directory.Open.EXISTING)) {
            ByteBuffer content = ByteBuffer.allocate(Math.toIntExact(file.size()));
            file.read(content, 0);
            return Long.parseLong(new String(content.array(), StandardCharsets.US_ASCII).strip());
        } catch (NumberFormatException damaged) {
            throw new DamagedFileException(incoming.location(WANTED) + " holds no number" + REMEDY, damaged);
        } catch (DamagedFileException unreadable) {
            throw new DamagedFileException(unreadable.getMessage() + REMEDY, unreadable);
        }
    }

    /** Whether the copy has come. */
    public boolean isWhole() throws IOException {
        Directory incoming = data.directory(INCOMING);
        return incoming.exists(FILES) && incoming.directory(FILES).exists(CopyReceiver.COMPLETE);
    }

    /** Where a copy is to be put; empty. */
    public Directory emptied() throws IOException {
        Directory incoming = data.directory(INCOMING);
        if (incoming.exists(FILES)) {
            // First, and safely: what a crash leaves of a copy that is being removed must not pass for a whole one.
            Directory files = incoming.directory(FILES);
            files.delete(CopyReceiver.COMPLETE);
            files.sync();
        }
        incoming.deleteAll(FILES);
        incoming.sync();
        return incoming.directory(FILES);
    }

    /**
     * Puts a copy that has come in the place of what is there. One whose files are damaged is removed: another one is to be got, since
     * nothing in it is this node's own.
     *
     * @throws DamagedFileException as {@link #number}
     * @throws IOException if it cannot be put there now, or was removed, which {@link #isWhole} tells
     */
    public void install(Adopter adopter) throws IOException {
        Directory incoming = data.directory(INCOMING);
        Directory files = incoming.directory(FILES);
        if (files.exists(order)) {
            adopt(files.directory(order), number(), adopter);
        }
        for (String part : parts) {
            if (files.exists(part)) {
                data.deleteAll(part);
                data.sync();
                files.moveTo(part, data);
                data.sync();
                files.sync();
            }
        }
        incoming.delete(WANTED);
        incoming.sync();
        data.deleteAll(INCOMING);
        LOG.info("{} holds a copy of another node's state", data.location());
    }

    private void adopt(Directory directory, long number, Adopter adopter) throws IOException {
        try {
            adopter.adopt(directory, number);
        } catch (DamagedFileException damaged) {
            emptied();
            throw new IOException("a copy of another node's state was removed, since it was damaged ("
                    + damaged.getMessage() + "): another one is needed", damaged);
        }
    }
}
