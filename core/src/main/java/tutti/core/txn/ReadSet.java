package tutti.core.txn;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * What a transaction read, table by table: the rows that it named, found or not, or everything in the table. Kept by table
 * because whoever ships it may prefer a table to its many rows (GORDA D5.1 section 3.3.1), which hashes alone would not
 * allow. The keys are those of write sets ({@link KeySet}). Immutable.
 */
public final class ReadSet {
    /** How it is written. */
    public static final Schema<ReadSet> SCHEMA = Schema.part("read set", ReadSet.class)
            .of(Field.of("tables", Types.list(Table.SCHEMA, 1 << 20), reads -> reads.tables), ReadSet::new);

    /** Nothing was read. */
    public static final ReadSet EMPTY = new ReadSet(List.of());

    /**
     * What was read of one table.
     *
     * @param key of the table: every write set that touches the table refers to it
     * @param rows keys of the rows that were read, ascending; null if everything in the table may have been read
     */
    private record Table(long key, long @Nullable [] rows) {
        static final Schema<Table> SCHEMA = Schema.part("table that was read", Table.class).of(
                Field.of("key", Types.LONG, Table::key),
                Field.of("rows", Types.optional(Types.longs(Types.BYTES_MAX / Long.BYTES)), Table::rows), Table::new);
    }

    private final List<Table> tables;

    private ReadSet(List<Table> tables) {
        this.tables = List.copyOf(tables);
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

    /**
     * The same of another database.
     *
     * @param salt of the database, as for {@link KeySet#salted}
     */
    public ReadSet salted(long salt) {
        return new ReadSet(tables.stream().map(table -> {
            long[] rows = table.rows();
            return new Table(table.key() ^ salt,
                    rows == null ? null : LongStream.of(rows).map(row -> row ^ salt).sorted().toArray());
        }).toList());
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
