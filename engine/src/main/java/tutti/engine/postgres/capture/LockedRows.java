package tutti.engine.postgres.capture;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.RowLock;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.catalog.KeyHash;
import tutti.engine.postgres.catalog.RowText;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.TableCatalog;

/**
 * What a transaction has locked without changing it: rows, by SELECT ... FOR UPDATE and the like, and advisory locks. If it changes something, too, its write set
 * gets keys for them, so that of two concurrent transactions whose locks conflict, at whatever nodes, one is aborted (docs/decisions/0128). Not for use by several threads.
 *
 * <p>
 * <b>The keys</b> of a row are those that {@link RowLock} says.
 *
 * <p>
 * Each refers to its table's key, and reads it: who locks too many rows of a table to name them locks it as a whole, EXCLUSIVE.
 *
 * <p>
 * An advisory lock has one key, EXCLUSIVE, or REFERENCE if it is shared, and then READ.
 */
public final class LockedRows {
    /** Of more rows than this the whole table is taken to be locked, by which it excludes all who change it. */
    static final int ROWS_MAX = 100_000;
    private static final int DESCRIBED_MAX = 1000;
    private static final long LOCK = KeyHash.seed("locked row");
    private static final long KEY = KeyHash.seed("locked key");
    private static final long ADVISORY = KeyHash.seed("advisory lock");

    /** A row; of an advisory lock the table is null. */
    private record Row(@Nullable Table table, RowLock strength, String text) {
        String describe() {
            return table == null
                    ? "advisory lock " + text
                    : "table " + table.displayName() + ", locked row" + (text.isEmpty() ? "" : " " + text);
        }
    }

    private final Map<Long, Row> rows = new LinkedHashMap<>();
    private final Set<Table> tables = new LinkedHashSet<>();
    private final Set<Table> whole = new LinkedHashSet<>();
    private final List<String> described = new ArrayList<>();
    private int[] rowOf = {};

    /** The letter that stands for a strength in what {@link #read} reads. */
    public static char letter(RowLock strength) {
        return (char) ('a' + strength.ordinal());
    }

    /** Whether nothing has been locked. */
    public boolean isEmpty() {
        return rows.isEmpty() && tables.isEmpty();
    }

    /**
     * Adds what a row of a result tells: entries of a {@linkplain #letter letter}, the object id of the row's own table, and the columns of its key as a row. What is locked of
     * tables that are not replicated is left out.
     *
     * @param exact whether values are written as they are where they are certified; otherwise all of each table is taken to be locked
     * @throws IllegalArgumentException if it is nothing of that kind
     */
    public void read(TableCatalog catalog, byte[] entries, boolean exact) {
        RowText row = new RowText();
        int at = 0;
        while (at < entries.length) {
            int strength = entries[at++] - 'a';
            if (strength < 0 || strength >= RowLock.values().length) {
                throw new IllegalArgumentException("no lock is told at " + (at - 1));
            }
            long oid = 0;
            for (; at < entries.length && entries[at] >= '0' && entries[at] <= '9'; at++) {
                oid = oid * 10 + entries[at] - '0';
            }
            int start = at;
            at = row.parse(entries, at).end();
            Table table = catalog.table(oid);
            if (table == null || !table.hasKey()) {
                continue;
            }
            tables.add(table);
            if (!exact || rows.size() >= ROWS_MAX || row.columns() != table.key().columns().size()) {
                whole.add(table);
            } else {
                List<Integer> places = IntStream.range(0, row.columns()).boxed().toList();
                add(table.key().hash(row, places), new Row(table, RowLock.values()[strength],
                        rows.size() < DESCRIBED_MAX ? text(entries, start, at) : ""));
            }
        }
    }

    private static String text(byte[] entries, int start, int end) {
        return new String(entries, start, Math.min(end - start, 200), StandardCharsets.UTF_8);
    }

    /**
     * Adds advisory locks.
     *
     * @param held of each, with blanks between: objsubid, classid, objid and mode as {@code pg_locks} has them, with colons between; null for none
     */
    public void advisory(@Nullable String held) {
        for (String one : held == null ? new String[0] : held.split(" ", -1)) {
            String[] parts = one.split(":", -1);
            long first = Long.parseLong(parts[1]);
            long second = Long.parseLong(parts[2]);
            String key = parts[0].equals("1")
                    ? "(" + (first << Integer.SIZE | second) + ")"
                    : "(" + (int) first + ", " + (int) second + ")";
            byte[] bytes = key.getBytes(StandardCharsets.US_ASCII);
            add(KeyHash.finish(KeyHash.part(ADVISORY, bytes, 0, bytes.length)),
                    new Row(null, parts[3].equals("ShareLock") ? RowLock.SHARE : RowLock.UPDATE, key));
        }
    }

    private void add(long key, Row row) {
        rows.merge(key, row,
                (before, now) -> now.strength().and(before.strength()) == before.strength() ? before : now);
    }

    /**
     * What a transaction has changed, with the keys of what it has locked.
     *
     * @param compared whether {@link #reads} are compared
     */
    public WriteSet addTo(WriteSet writes, boolean compared) {
        KeySet.Builder keys = new KeySet.Builder();
        KeySet changed = writes.keys();
        for (int i = 0; i < changed.size(); i++) {
            keys.add(changed.hash(i), changed.kind(i));
        }
        described.clear();
        rowOf = new int[3 * rows.size() + tables.size() + 1];
        Adding adding = new Adding(keys);
        adding.add(KeySet.LOCKS, KeyKind.REFERENCE, "locks");
        tables.forEach(table -> adding.add(table.hash(),
                whole.contains(table) ? KeyKind.EXCLUSIVE : KeyKind.REFERENCE, "table " + table.displayName()));
        rows.forEach((key, row) -> adding.add(key, row, compared));
        return new WriteSet(keys.build(), writes.changes());
    }

    private final class Adding {
        private final KeySet.Builder keys;
        private int size;

        Adding(KeySet.Builder keys) {
            this.keys = keys;
        }

        void add(long key, KeyKind kind, String what) {
            described.add(what);
            put(key, kind);
        }

        private void put(long key, KeyKind kind) {
            keys.add(key, kind);
            rowOf[size++] = described.size() - 1;
        }

        void add(long key, Row row, boolean compared) {
            described.add(row.describe());
            if (row.table() == null) {
                put(key, row.strength().advisory(compared));
            } else {
                row.strength().write(keysOf(key), compared, (kind, one) -> put(one, kind));
            }
        }
    }

    private static long tableOf(Row row) {
        return row.table() == null ? ADVISORY : row.table().hash();
    }

    private static RowLock.Keys keysOf(long key) {
        return new RowLock.Keys(key, KeyHash.finish(KeyHash.nullPart(LOCK ^ key)),
                KeyHash.finish(KeyHash.nullPart(KEY ^ key)));
    }

    /** What is to be compared as if it had been read; empty if nothing is. */
    public ReadSet reads() {
        ReadSet.Builder reads = new ReadSet.Builder();
        rows.forEach((key, row) -> {
            if (row.table() != null || row.strength() == RowLock.SHARE) {
                reads.row(tableOf(row), row.strength().read(keysOf(key))); // and by it the table's key
            }
        });
        return reads.build();
    }

    /** In words, of the keys that {@link #addTo} has added, the one at this index among these. */
    public String describe(int index) {
        return described.get(rowOf[index]);
    }
}
