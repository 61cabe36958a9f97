package tutti.sim.world.database;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TablePlacement;
import tutti.node.copy.CopySource;
import tutti.node.copy.NodeCopySource;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.sim.disk.Disk;
import tutti.sim.disk.DiskFile;
import tutti.sim.disk.Folder;

/**
 * Copies of the databases of one simulated world. A copy is a file, as long as its rows are, that goes from one disk to another and is
 * lost, torn and left behind like any other; the rows themselves are kept here, by the number in the file.
 */
public final class Images {
    /** How the part of a node's data is called that a copied database is. */
    public static final String PART = "rows";
    private static final String FILE = "image";
    private static final int ROW_BYTES = 64;

    /** What a database held at a position, and which placement of tables it had since which one. */
    record Image(long number, Store store, Set<Long> skipped, SortedMap<Long, TablePlacement> placed) {}

    private final Map<Long, Image> images = new HashMap<>();

    /** A world without copies. */
    public Images() {
        // Nothing has been copied yet.
    }

    /** Writes a copy of what a database holds now into a directory, forced. */
    CopySource.Copy write(Store store, Set<Long> skipped, SortedMap<Long, TablePlacement> placed, Directory into)
            throws IOException {
        long number = images.size() + 1L;
        Store copied = store.copy();
        images.put(number, new Image(number, copied, skipped, new TreeMap<>(placed)));
        ByteBuffer content = ByteBuffer.allocate(Long.BYTES + ROW_BYTES * copied.rows());
        content.putLong(0, number);
        try (DataFile file = into.open(FILE, Directory.Open.EMPTY)) {
            file.write(content, 0);
            file.force(true);
        }
        into.sync();
        return new CopySource.Unchanging(NodeCopySource.below(into, PART));
    }

    /** The copy that was put in the place of a database on a disk; null if there is none. */
    @Nullable
    Image placed(Disk disk) {
        Folder part = disk.root().folder(PART);
        DiskFile file = part == null ? null : part.file(FILE);
        return file == null || file.size() < Long.BYTES
                ? null
                : images.get(ByteBuffer.wrap(file.read(0, Long.BYTES)).getLong());
    }
}
