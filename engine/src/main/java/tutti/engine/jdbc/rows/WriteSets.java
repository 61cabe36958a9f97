package tutti.engine.jdbc.rows;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.jdbc.rows.CapturedWrites.Origin;
import tutti.engine.jdbc.rows.Change.Operation;
import tutti.engine.jdbc.rows.Table.ForeignKey;
import tutti.engine.jdbc.rows.Table.UniqueKey;
import tutti.engine.postgres.catalog.KeyHash;
import tutti.engine.postgres.catalog.TableCatalog;

/**
 * Makes a write set of a transaction's changed rows, and changes of rows of a write set.
 *
 * <p>
 * <b>Keys.</b> A row that comes or goes touches all its unique keys exclusively; one that changes touches those keys
 * exclusively that change, before and after, and else its primary key as an update. A row that is new or changed refers
 * to its parents' keys. Every write set refers to the key of each table in it, and to the schema's.
 *
 * <p>
 * <b>Order.</b> A row of which a unique key changes is deleted and inserted again; all deletions come first, and all
 * insertions last. So at any moment the rows present are rows of the state after the write set, or untouched by it, and
 * no unique constraint is violated on the way.
 *
 * <p>
 * <b>Columns.</b> Of a row that stays, only its primary key and the columns that have changed travel. The others are the same at
 * every replica: whoever changes one of them later touches the row's primary key, too, so the two are ordered, and made in that
 * order everywhere.
 */
public final class WriteSets {
    private static final int TABLES_MAX = 1 << 16;
    /** Space for a table's name and width, mostly. */
    private static final int TABLE_BYTES = 32;
    /** Space for a row, mostly. */
    private static final int ROW_BYTES = 128;
    private static final int ROWS_AT_FIRST_MAX = 1 << 13;
    /** Of a schema or a table, in bytes. */
    private static final int NAME_BYTES_MAX = 1 << 16;
    /** Of a {@code long}, with its sign. */
    private static final int DIGITS_MAX = 20;

    private final KeySet.Builder keys = new KeySet.Builder();
    private final List<Origin> origins = new ArrayList<>();
    private final Map<Table, Integer> tables = new LinkedHashMap<>();
    private final RowBytes rows;
    private final byte[] digits = new byte[DIGITS_MAX];
    private int count;

    private WriteSets(int changes) {
        rows = new RowBytes(ROW_BYTES * Math.min(changes, ROWS_AT_FIRST_MAX));
    }

    /** What becomes of the row with one primary key. */
    private static final class Fate {
        final Table table;
        @Nullable
        Object @Nullable [] before;
        @Nullable
        Object @Nullable [] after;

        Fate(Table table, @Nullable Object @Nullable [] before, @Nullable Object @Nullable [] after) {
            this.table = table;
            this.before = before;
            this.after = after;
        }
    }

    /**
     * A transaction's write set.
     *
     * @param changes what it made of each row that it touched, each row once
     * @throws SQLException with {@code 55000} if a table has no primary key
     */
    public static CapturedWrites of(Collection<RowChange> changes) throws SQLException {
        if (changes.isEmpty()) {
            return CapturedWrites.NOTHING;
        }
        WriteSets set = new WriteSets(changes.size());
        set.add(TableCatalog.SCHEMA_KEY, KeyKind.REFERENCE, Origin.SCHEMA);
        for (Fate fate : fates(changes)) {
            set.add(fate);
        }
        return new CapturedWrites(new WriteSet(set.keys.build(), set.bytes()), List.copyOf(set.origins));
    }

    /**
     * Brings what was before and after under one primary key together. A row that keeps its primary key is the only one that had
     * it before, and the only one that has it after; only what comes and what goes can belong together.
     */
    private static List<Fate> fates(Collection<RowChange> changes) throws SQLException {
        List<Fate> fates = new ArrayList<>(changes.size());
        List<RowChange> halves = new ArrayList<>();
        boolean come = false;
        boolean go = false;
        for (RowChange change : changes) {
            Table table = change.table();
            SQLException refusal = table.refusal();
            if (refusal != null) {
                throw refusal;
            }
            if (keeps(Objects.requireNonNull(table.primaryKey()), change)) {
                fates.add(new Fate(table, change.before(), change.after()));
            } else {
                halves.add(change);
                come |= change.after() != null;
                go |= change.before() != null;
            }
        }
        if (come && go) {
            join(halves, fates);
        } else {
            halves.forEach(half -> fates.add(new Fate(half.table(), half.before(), half.after())));
        }
        return fates;
    }

    /** Whether the row keeps its primary key, to the letter. */
    private static boolean keeps(UniqueKey primary, RowChange change) {
        @Nullable
        Object[] before = change.before();
        @Nullable
        Object[] after = change.after();
        if (before == null || after == null) {
            return false;
        }
        for (int column : primary.columns()) {
            if (!ValueForm.same(before[column], after[column])) {
                return false;
            }
        }
        return true;
    }

    private static void join(List<RowChange> halves, List<Fate> to) {
        Map<Name, Fate> fates = LinkedHashMap.newLinkedHashMap(halves.size());
        RowBytes scratch = new RowBytes(ROW_BYTES);
        for (RowChange half : halves) {
            Table table = half.table();
            UniqueKey primary = Objects.requireNonNull(table.primaryKey());
            if (half.before() != null) {
                fate(fates, scratch, table, primary, half.before()).before = half.before();
            }
            if (half.after() != null) {
                fate(fates, scratch, table, primary, half.after()).after = half.after();
            }
        }
        to.addAll(fates.values());
    }

    /** A row's table and primary key, as bytes. */
    private record Name(byte[] bytes) {
        @Override
        public int hashCode() {
            return Arrays.hashCode(bytes);
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Name name && Arrays.equals(bytes, name.bytes);
        }
    }

    private static Fate fate(Map<Name, Fate> fates, RowBytes scratch, Table table, UniqueKey primary,
            @Nullable Object[] row) {
        scratch.clear();
        scratch.putLong(primary.seed());
        for (int column : primary.columns()) {
            Values.write(scratch, row[column]);
        }
        return fates.computeIfAbsent(new Name(scratch.toArray()), _ -> new Fate(table, null, null));
    }

    private void add(Fate fate) {
        Table table = fate.table;
        @Nullable
        Object[] before = fate.before;
        @Nullable
        Object[] after = fate.after;
        if (!tables.containsKey(table)) {
            tables.put(table, tables.size());
            add(table.hash(), KeyKind.REFERENCE, new Origin(table, null, List.of(), null));
        }
        if (before == null && after != null) {
            for (UniqueKey key : table.uniqueKeys()) {
                add(table, key, after, created(key));
            }
            references(table, null, after);
            row(Operation.INSERT, table, after);
        } else if (before != null && after == null) {
            for (UniqueKey key : table.uniqueKeys()) {
                add(table, key, before, gone(key));
            }
            references(table, before, null);
            row(Operation.DELETE, table, before);
        } else if (before != null && after != null) {
            boolean replaced = false;
            for (UniqueKey key : table.uniqueKeys()) {
                if (differs(table, key.columns(), before, after)) {
                    replaced = true;
                    add(table, key, before, gone(key));
                    add(table, key, after, created(key));
                } else if (key.equals(table.primaryKey())) {
                    add(table, key, after, KeyKind.UPDATE);
                }
            }
            references(table, before, after);
            if (replaced) {
                row(Operation.REPLACE, table, after);
            } else {
                update(table, before, after);
            }
        }
    }

    /**
     * The hash of a row's primary key, as the keys of write sets have it.
     *
     * @param values of the key's columns in their order, none null, as they travel
     */
    public static long primaryKeyHash(Table table, List<Object> values) {
        UniqueKey key = Objects.requireNonNull(table.primaryKey());
        @Nullable
        Object[] row = new @Nullable Object[table.columns().size()];
        for (int i = 0; i < values.size(); i++) {
            row[key.columns().get(i)] = values.get(i);
        }
        return hash(table, key, row, new byte[DIGITS_MAX]);
    }

    private static boolean differs(Table table, List<Integer> columns, @Nullable Object[] before,
            @Nullable Object[] after) {
        for (int column : columns) {
            Object one = before[column];
            Object other = after[column];
            if (ValueForm.same(one, other)) {
                continue;
            }
            ValueForm form = table.forms().get(column);
            if (one == null || other == null || form == ValueForm.OPAQUE
                    || !Arrays.equals(form.normalise(one), form.normalise(other))) {
                return true;
            }
        }
        return false;
    }

    /** Where all values count as one it is not known whether another row has the key. */
    private static KeyKind created(UniqueKey key) {
        return key.opaque() ? KeyKind.EXCLUSIVE : KeyKind.CREATED;
    }

    private static KeyKind gone(UniqueKey key) {
        return key.opaque() ? KeyKind.EXCLUSIVE : KeyKind.GONE;
    }

    private void add(Table table, UniqueKey key, @Nullable Object[] row, KeyKind kind) {
        for (int column : key.columns()) {
            if (row[column] == null && key.nullsDistinct()) {
                return;
            }
        }
        add(hash(table, key, row, digits), kind, new Origin(table, null, key.columns(), row));
    }

    private static long hash(Table table, UniqueKey key, @Nullable Object[] row, byte[] digits) {
        long hash = key.seed();
        for (int i = 0; !key.opaque() && i < key.columns().size(); i++) {
            int column = key.columns().get(i);
            Object value = row[column];
            hash = value == null ? KeyHash.nullPart(hash) : part(hash, table.forms().get(column), value, digits);
        }
        return KeyHash.finish(hash);
    }

    /** The parents that a row names from now on, and those that it names no longer. */
    private void references(Table table, @Nullable Object @Nullable [] before, @Nullable Object @Nullable [] after) {
        for (ForeignKey key : table.foreignKeys()) {
            if (before != null && after != null && !differs(table, key.columns(), before, after)) {
                continue;
            }
            Long named = after == null ? null : parent(key, after);
            if (named != null) {
                add(named, KeyKind.REFERENCE, new Origin(table, key, key.columns(), after));
            }
            Long released = before == null ? null : parent(key, before);
            UniqueKey primary = table.primaryKey();
            if (released != null && before != null && primary != null) {
                add(released, KeyKind.RELEASED, new Origin(table, key, key.columns(), before));
                add(hash(table, primary, before, digits), KeyKind.RELEASED,
                        new Origin(table, null, primary.columns(), before));
            }
        }
    }

    /** The key of the parent that a row names; null if it names none. */
    private @Nullable Long parent(ForeignKey key, @Nullable Object[] row) {
        long hash = key.parentSeed();
        for (int i = 0; i < key.columns().size(); i++) {
            Object value = row[key.columns().get(i)];
            if (value == null) {
                return null;
            }
            if (!key.opaque()) {
                hash = part(hash, key.forms().get(i), value, digits);
            }
        }
        return KeyHash.finish(hash);
    }

    /**
     * Whole numbers, which most keys are of, without a string for each.
     *
     * @param digits to write them into, {@link #DIGITS_MAX} long
     */
    private static long part(long hash, ValueForm form, Object value, byte[] digits) {
        if (value instanceof Long number && number > 0 && form != ValueForm.OPAQUE) {
            int start = DIGITS_MAX;
            for (long rest = number; rest > 0; rest /= 10) {
                digits[--start] = (byte) ('0' + rest % 10);
            }
            return KeyHash.part(hash, digits, start, DIGITS_MAX);
        }
        byte[] normal = form.normalise(value);
        return KeyHash.part(hash, normal, 0, normal.length);
    }

    private void add(long hash, KeyKind kind, Origin origin) {
        keys.add(hash, kind);
        origins.add(origin);
    }

    private void row(Operation operation, Table table, @Nullable Object[] row) {
        begin(operation, table);
        if (operation == Operation.DELETE) {
            UniqueKey primary = table.primaryKey();
            for (int column : primary == null ? List.<Integer>of() : primary.columns()) {
                Values.write(rows, row[column]);
            }
        } else {
            for (Object value : row) {
                Values.write(rows, value);
            }
        }
    }

    private void begin(Operation operation, Table table) {
        count++;
        rows.putByte(operation.ordinal());
        rows.putInt(tables.get(table));
    }

    /** Which columns: those of the primary key and those that have changed, a bit for each. Then their values. */
    private void update(Table table, @Nullable Object[] before, @Nullable Object[] after) {
        begin(Operation.UPDATE, table);
        byte[] travels = new byte[maskBytes(after.length)];
        UniqueKey primary = table.primaryKey();
        for (int column : primary == null ? List.<Integer>of() : primary.columns()) {
            travels[column >> 3] |= (byte) (1 << (column & 7));
        }
        for (int column = 0; column < after.length; column++) {
            if (!ValueForm.same(before[column], after[column])) {
                travels[column >> 3] |= (byte) (1 << (column & 7));
            }
        }
        rows.put(travels);
        for (int column = 0; column < after.length; column++) {
            if (travels(travels, column)) {
                Values.write(rows, after[column]);
            }
        }
    }

    private static int maskBytes(int columns) {
        return (columns + 7) >> 3;
    }

    private static boolean travels(byte[] mask, int column) {
        return (mask[column >> 3] & 1 << (column & 7)) != 0;
    }

    private byte[] bytes() {
        RowBytes head = new RowBytes(TABLE_BYTES * (tables.size() + 1));
        head.putInt(tables.size());
        for (Table table : tables.keySet()) {
            head.putSized(table.schema().getBytes(StandardCharsets.UTF_8));
            head.putSized(table.name().getBytes(StandardCharsets.UTF_8));
            head.putInt(table.columns().size());
        }
        head.putInt(count);
        return head.followedBy(rows);
    }

    /**
     * The rows that a write set changes, in an order in which they can be made.
     *
     * @throws IOException if it is damaged, or of tables that are not as they are here
     */
    public static List<Change> read(Tables tables, byte[] changes) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(changes));
        List<Table> known = new ArrayList<>();
        int tableCount = in.readInt();
        if (tableCount < 0 || tableCount > TABLES_MAX) {
            throw new IOException("a write set of " + tableCount + " tables");
        }
        for (int i = 0; i < tableCount; i++) {
            known.add(table(tables, in));
        }
        List<Change> deleted = new ArrayList<>();
        List<Change> updated = new ArrayList<>();
        List<Change> inserted = new ArrayList<>();
        int rowCount = in.readInt();
        for (int i = 0; i < rowCount; i++) {
            Change change = change(known, in);
            switch (change.operation()) {
                case DELETE -> deleted.add(change);
                case UPDATE -> updated.add(change);
                case REPLACE -> {
                    deleted.add(new Change(Operation.DELETE, change.table(), change.row()));
                    inserted.add(new Change(Operation.INSERT, change.table(), change.row()));
                }
                case INSERT -> inserted.add(change);
            }
        }
        if (in.read() >= 0) {
            throw new IOException("a write set is longer than its rows");
        }
        deleted.addAll(updated);
        deleted.addAll(inserted);
        return deleted;
    }

    private static Table table(Tables tables, DataInputStream in) throws IOException {
        String schema = name(in);
        String name = name(in);
        int columns = in.readInt();
        Table table = tables.find(schema, name);
        if (table == null || table.primaryKey() == null || table.columns().size() != columns) {
            throw new IOException("table " + schema + "." + name + " does not exist here, or has no primary key or not "
                    + columns + " columns: this replica differs from the others");
        }
        return table;
    }

    private static String name(DataInputStream in) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > NAME_BYTES_MAX) {
            throw new IOException("a name of " + length + " bytes");
        }
        return new String(in.readNBytes(length), StandardCharsets.UTF_8);
    }

    private static Change change(List<Table> known, DataInputStream in) throws IOException {
        int operation = in.readByte();
        int index = in.readInt();
        if (index < 0 || index >= known.size() || operation < 0 || operation >= Operation.values().length) {
            throw new IOException("row operation " + operation + " on table " + index);
        }
        Table table = known.get(index);
        @Nullable
        Object[] row = new @Nullable Object[table.columns().size()];
        UniqueKey primary = table.primaryKey();
        if (operation == Operation.DELETE.ordinal() && primary != null) {
            for (int column : primary.columns()) {
                row[column] = Values.read(in);
            }
        } else if (operation == Operation.UPDATE.ordinal()) {
            byte[] mask = new byte[maskBytes(row.length)];
            in.readFully(mask);
            for (int column = 0; column < row.length; column++) {
                row[column] = travels(mask, column) ? Values.read(in) : Change.KEPT;
            }
        } else {
            for (int column = 0; column < row.length; column++) {
                row[column] = Values.read(in);
            }
        }
        return new Change(Operation.of(operation), table, row);
    }
}
