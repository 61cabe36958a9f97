package tutti.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Whether a node has room for what clients change: its parts may be on disks of their own. */
final class DiskSpace {
    /** One file of PostgreSQL's write-ahead log: with less left, some change soon fails. */
    static final long BYTES_MIN = 16L << 20;
    private static final Logger LOG = LoggerFactory.getLogger(DiskSpace.class);

    private DiskSpace() {}

    /** Asks for what may still be written below a directory. */
    @FunctionalInterface
    interface Usable {
        /** In bytes. */
        long bytes(Path directory) throws IOException;
    }

    /** Why the node is not ready for changes; null if there is room, or nobody knows. */
    static @Nullable String shortage(List<Path> directories) {
        return shortage(directories, directory -> Files.getFileStore(directory).getUsableSpace());
    }

    static @Nullable String shortage(List<Path> directories, Usable usable) {
        for (Path directory : directories) {
            try {
                long left = Files.exists(directory) ? usable.bytes(directory) : Long.MAX_VALUE;
                if (left < BYTES_MIN) {
                    return "the disk of " + directory + " has " + (left >> 10) + " KiB left, less than "
                            + (BYTES_MIN >> 20) + " MiB: make room, since changes fail when there is none";
                }
            } catch (IOException unknown) {
                LOG.debug("how much room there is at {} is not known", directory, unknown);
            }
        }
        return null;
    }
}
