package tutti.order.raft;

import java.io.IOException;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.order.batch.Batch;
import tutti.order.batch.SenderTable;
import tutti.runtime.DamagedFileException;
import tutti.runtime.Directory;
import tutti.runtime.DurableFiles;

/**
 * What the {@link SenderTable} was after certain entries of the log, kept in small files. They say where in the log a
 * position lies, so that delivery can begin in the middle and the log's beginning can be forgotten. One thread changes them, any
 * thread may look.
 */
final class Checkpoints {
    /**
     * The table as of an entry that is committed.
     *
     * @param index the entry, 0 for the beginning of time
     * @param term its term
     */
    record Checkpoint(long index, int term, SenderTable.Image table) implements Encoded {
        static final Schema<Checkpoint> SCHEMA = Schema
                .message("checkpoint", 4, Checkpoint.class, "The table of senders as of an entry of the log.").of(
                        Field.of("index", Types.NATURAL, Checkpoint::index),
                        Field.of("term", Types.COUNT, Checkpoint::term),
                        Field.of("table", SenderTable.Image.SCHEMA, Checkpoint::table), Checkpoint::new);

        /** Highest position that the entry and its predecessors gave out. */
        long positions() {
            return table.positions();
        }
    }

    private static final String PREFIX = "checkpoint-";

    private final Directory directory;
    private final SegmentedLog log;
    /** Never empty; replaced as a whole. */
    private volatile NavigableMap<Long, Checkpoint> byIndex;

    /** Reads those of a directory; a log that begins with entry 1 also has one at index 0. */
    Checkpoints(Directory directory, SegmentedLog log) throws IOException {
        this.directory = directory;
        this.log = log;
        NavigableMap<Long, Checkpoint> found = new TreeMap<>();
        if (log.firstIndex() == 1) {
            found.put(0L, new Checkpoint(0, 0, new SenderTable().image()));
        }
        for (String name : directory.list()) {
            if (!name.startsWith(PREFIX) || name.endsWith(DurableFiles.ASIDE)) {
                continue;
            }
            Checkpoint read = RaftFiles.read(directory, name, Checkpoint.class);
            long index = read.index();
            int term = read.term();
            if (index > log.lastIndex()) {
                throw new DamagedFileException(directory.location(name) + " is of entry " + index
                        + ", but the log ends with " + log.lastIndex());
            }
            if (index >= log.firstIndex() && log.term(index) != term) {
                throw new DamagedFileException(directory.location(name) + " is of entry " + index + " in term " + term
                        + ", but the log has one of term " + log.term(index) + " there");
            }
            if (index >= log.firstIndex() - 1) {
                found.put(index, read);
            } else {
                directory.delete(name);
            }
        }
        if (found.isEmpty()) {
            throw new DamagedFileException(directory.location()
                    + " has no checkpoint for a log that begins with entry " + log.firstIndex());
        }
        byIndex = found;
    }

    /** Adds one, of an entry that is safely on disk. */
    void add(long index, int term, SenderTable table) throws IOException {
        Checkpoint added = new Checkpoint(index, term, table.image());
        RaftFiles.write(directory, name(index), added);
        NavigableMap<Long, Checkpoint> more = new TreeMap<>(byIndex);
        more.put(index, added);
        byIndex = more;
    }

    /** Writes some into another directory, whose log begins behind the first of them. */
    static void write(Directory into, List<Checkpoint> some) throws IOException {
        for (Checkpoint each : some) {
            if (each.index() > 0) {
                RaftFiles.write(into, name(each.index()), each);
            }
        }
    }

    /** The one behind which the log of a copy begins, if it does not begin with its first entry: null then. */
    static @Nullable Checkpoint first(Directory copy) throws IOException {
        Checkpoint first = null;
        for (String name : copy.list()) {
            if (name.startsWith(PREFIX) && first == null) {
                first = RaftFiles.read(copy, name, Checkpoint.class);
            }
        }
        return first;
    }

    private static String name(long index) {
        return PREFIX + String.format("%020d", index);
    }

    Checkpoint oldest() {
        return byIndex.firstEntry().getValue();
    }

    /** The one behind the oldest, if there is one. */
    Checkpoint second() {
        return byIndex.values().stream().limit(2).reduce((_, second) -> second).orElseThrow();
    }

    Checkpoint newest() {
        return byIndex.lastEntry().getValue();
    }

    /** What one of the log's last entry would be. */
    Checkpoint atEnd() throws IOException {
        Checkpoint from = newest();
        SenderTable table = SenderTable.of(from.table());
        int term = from.term();
        for (long index = from.index() + 1; index <= log.lastIndex(); index++) {
            LogEntry entry = log.read(index);
            term = entry.term();
            if (entry.kind() == LogEntry.BATCH) {
                Batch batch = Batch.of(entry.body());
                table.accept(batch.sender(), batch.incarnation(), batch.sequence(), batch.messages().count());
            }
        }
        return new Checkpoint(Math.max(from.index(), log.lastIndex()), term, table.image());
    }

    /** The newest one that gave out no position after this one, or the oldest of all. */
    Checkpoint before(long position) {
        NavigableMap<Long, Checkpoint> present = byIndex;
        Checkpoint best = present.firstEntry().getValue();
        for (Checkpoint c : present.values()) {
            if (c.positions() <= position) {
                best = c;
            }
        }
        return best;
    }

    /** {@link #before} that position, and those behind it. */
    List<Checkpoint> from(long position) {
        return List.copyOf(byIndex.tailMap(before(position).index(), true).values());
    }

    /** Forgets those before this index. */
    void removeBefore(long index) throws IOException {
        NavigableMap<Long, Checkpoint> all = byIndex;
        byIndex = new TreeMap<>(all.tailMap(index, true));
        for (long old : all.headMap(index, false).keySet()) {
            directory.delete(name(old));
        }
    }
}
