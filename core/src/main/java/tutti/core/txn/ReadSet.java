package tutti.core.txn;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * What a transaction read, table by table: the rows that it named, found or not, or everything in the table. Kept by table
 * because whoever ships it may prefer a table to its many rows (GORDA D5.1 section 3.3.1), which hashes alone would not
 * allow. The keys are those of write sets ({@link KeySet}). Immutable.
 */
public final class ReadSet {
    /** Nothing was read. */
    public static final ReadSet EMPTY = new ReadSet(List.of());

    /**
     * What was read of one table.
     *
     * @param key of the table: every write set that touches the table refers to it
     * @param rows keys of the rows that were read, ascending; null if everything in the table may have been read
     */
    private record Table(long key, long @Nullable [] rows) {}

    private final List<Table> tables;

    private ReadSet(List<Table> tables) {
        this.tables = tables;
    }

    /** Whether nothing was read. */
    public boolean isEmpty() {
        return tables.isEmpty();
    }

    /**
     * The same with no more than so many rows of any table: of a table with more, everything was read.
     *
     * @param rowsPerTableMax 0 or more
     */
    public ReadSet coarser(int rowsPerTableMax) {
        List<Table> coarser = new ArrayList<>(tables.size());
        for (Table table : tables) {
            long[] rows = table.rows();
            coarser.add(rows != null && rows.length > rowsPerTableMax ? new Table(table.key(), null) : table);
        }
        return new ReadSet(coarser);
    }

    /** All keys: {@code SCAN} of a table that was read as a whole, otherwise {@code READ} of the table and of its rows. */
    public KeySet keys() {
        KeySet.Builder keys = new KeySet.Builder();
        for (Table table : tables) {
            long[] rows = table.rows();
            keys.add(table.key(), rows == null ? KeyKind.SCAN : KeyKind.READ);
            if (rows != null) {
                for (long row : rows) {
                    keys.add(row, KeyKind.READ);
                }
            }
        }
        return keys.build();
    }

    /** The keys of the tables alone: {@code SCAN} of those that were read as a whole, {@code READ} of the others. */
    public KeySet tableKeys() {
        KeySet.Builder keys = new KeySet.Builder();
        tables.forEach(table -> keys.add(table.key(), table.rows() == null ? KeyKind.SCAN : KeyKind.READ));
        return keys.build();
    }

    /** The keys of all rows of tables that were not read as a whole. */
    public long[] rowKeys() {
        LongStream rows = LongStream.empty();
        for (Table table : tables) {
            long[] some = table.rows();
            rows = some == null ? rows : LongStream.concat(rows, LongStream.of(some));
        }
        return rows.toArray();
    }

    /** Bytes that {@link #encode} writes. */
    public int encodedSize() {
        int bytes = 4;
        for (Table table : tables) {
            long[] rows = table.rows();
            bytes += 8 + 4 + (rows == null ? 0 : 8 * rows.length);
        }
        return bytes;
    }

    /** Appends it at the buffer's position. */
    public void encode(ByteBuffer to) {
        to.putInt(tables.size());
        for (Table table : tables) {
            long[] rows = table.rows();
            to.putLong(table.key()).putInt(rows == null ? -1 : rows.length);
            for (int i = 0; rows != null && i < rows.length; i++) {
                to.putLong(rows[i]);
            }
        }
    }

    /** Reads what {@link #encode} wrote, and advances the buffer. */
    public static ReadSet decode(ByteBuffer from) {
        int size = from.getInt();
        if (size < 0 || (long) size * 12 > from.remaining()) {
            throw new IllegalArgumentException("read set of " + size + " tables in " + from.remaining() + " bytes");
        }
        List<Table> tables = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            long key = from.getLong();
            int count = from.getInt();
            if (count < -1 || (long) count * 8 > from.remaining()) {
                throw new IllegalArgumentException(count + " rows in " + from.remaining() + " bytes");
            }
            tables.add(new Table(key, count < 0 ? null : rows(from, count)));
        }
        return tables.isEmpty() ? EMPTY : new ReadSet(tables);
    }

    private static long[] rows(ByteBuffer from, int count) {
        long[] rows = new long[count];
        for (int i = 0; i < count; i++) {
            rows[i] = from.getLong();
        }
        return rows;
    }

    @Override
    public String toString() {
        return keys().toString();
    }

    /** Collects what is read; not for use by several threads. */
    public static final class Builder {
        private final TreeMap<Long, TreeSet<Long>> rows = new TreeMap<>();
        private final TreeSet<Long> whole = new TreeSet<>();

        /** A row of a table was looked for under its key. The same may be told several times. */
        public Builder row(long table, long key) {
            if (!whole.contains(table)) {
                rows.computeIfAbsent(table, _ -> new TreeSet<>()).add(key);
            }
            return this;
        }

        /** Any row of a table may have been read, or missed. */
        public Builder scan(long table) {
            whole.add(table);
            rows.remove(table);
            return this;
        }

        /** What was told so far. */
        public ReadSet build() {
            if (rows.isEmpty() && whole.isEmpty()) {
                return EMPTY;
            }
            List<Table> tables = new ArrayList<>();
            whole.forEach(table -> tables.add(new Table(table, null)));
            rows.forEach((table, keys) -> tables
                    .add(new Table(table, keys.stream().mapToLong(Long::longValue).toArray())));
            return new ReadSet(tables);
        }
    }
}
