package tutti.order.raft;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * What the {@link SenderTable} was after certain entries of the log, kept in small files. They say where in the log a
 * position lies, so that delivery can begin in the middle and the log's beginning can be forgotten. Thread safe.
 */
final class Checkpoints {
    /**
     * The table as of an entry that is committed.
     *
     * @param index the entry, 0 for the beginning of time
     * @param term its term
     * @param positions highest position that it and its predecessors gave out
     */
    record Checkpoint(long index, int term, long positions, byte[] encodedTable) {
        SenderTable table() {
            return SenderTable.decode(ByteBuffer.wrap(encodedTable));
        }
    }

    private static final String PREFIX = "checkpoint-";

    private final Path directory;
    private final FileOpener files;
    private final NavigableMap<Long, Checkpoint> byIndex = new TreeMap<>();

    /** Reads those of a directory; a log that begins with entry 1 also has one at index 0. */
    Checkpoints(Path directory, FileOpener files, SegmentedLog log) throws IOException {
        this.directory = directory;
        this.files = files;
        if (log.firstIndex() == 1) {
            byIndex.put(0L, new Checkpoint(0, 0, 0, new SenderTable().encode()));
        }
        List<Path> paths;
        try (Stream<Path> list = Files.list(directory)) {
            paths = list.filter(p -> p.getFileName().toString().startsWith(PREFIX)
                    && !p.getFileName().toString().endsWith(".new")).toList();
        }
        for (Path path : paths) {
            ByteBuffer in = DurableFiles.read(path);
            long index = in.getLong();
            int term = in.getInt();
            byte[] table = new byte[in.remaining()];
            in.get(table);
            if (index > log.lastIndex()) {
                throw new DamagedLogException(
                        path + " is of entry " + index + ", but the log ends with " + log.lastIndex());
            }
            if (index >= log.firstIndex() - 1) {
                byIndex.put(index, new Checkpoint(index, term, ByteBuffer.wrap(table).getLong(), table));
            } else {
                Files.delete(path);
            }
        }
        if (byIndex.isEmpty()) {
            throw new DamagedLogException(
                    directory + " has no checkpoint for a log that begins with entry " + log.firstIndex());
        }
    }

    synchronized void add(long index, int term, SenderTable table) throws IOException {
        byte[] encoded = table.encode();
        DurableFiles.write(path(index),
                ByteBuffer.allocate(12 + encoded.length).putLong(index).putInt(term).put(encoded).array(), files);
        byIndex.put(index, new Checkpoint(index, term, table.positions(), encoded));
    }

    private Path path(long index) {
        return directory.resolve(PREFIX + String.format("%020d", index));
    }

    synchronized Checkpoint oldest() {
        return byIndex.firstEntry().getValue();
    }

    synchronized Checkpoint newest() {
        return byIndex.lastEntry().getValue();
    }

    /** The newest one that gave out no position after this one, or the oldest of all. */
    synchronized Checkpoint before(long position) {
        Checkpoint best = oldest();
        for (Checkpoint c : byIndex.values()) {
            if (c.positions() <= position) {
                best = c;
            }
        }
        return best;
    }

    /** Forgets those before this index. */
    synchronized void removeBefore(long index) throws IOException {
        while (byIndex.firstKey() < index) {
            Files.deleteIfExists(path(byIndex.pollFirstEntry().getKey()));
        }
    }
}
