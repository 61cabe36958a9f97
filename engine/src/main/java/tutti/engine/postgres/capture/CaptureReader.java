package tutti.engine.postgres.capture;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.capture.Changes.TableName;
import tutti.engine.postgres.catalog.CatalogQuery;
import tutti.engine.postgres.catalog.KeyHash;
import tutti.engine.postgres.catalog.RowText;
import tutti.engine.postgres.catalog.Table.Column;
import tutti.engine.postgres.catalog.Table.ForeignKey;
import tutti.engine.postgres.catalog.Table.UniqueKey;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.TableCatalog;

/**
 * Makes a write set out of what {@code tutti.finish} returned: which keys were touched how, and the changes in a form
 * that another node understands. Pure; one use per transaction, from one
 * thread.
 *
 * <p>
 * The input is text, entries one after the other: {@code i}, {@code u}, {@code d} with the table's object id and a row,
 * {@code f} like {@code u} of a row that the transaction had not changed before, {@code k} with two rows, {@code t} with the object id and a semicolon, {@code s} with the length in bytes, a colon and
 * a {@link Statement}. Before one in a function may stand {@code c} with the length in bytes, a colon and the catalog
 * ({@link CatalogQuery#read(byte[])}) by which rows are to be understood that were changed since the last one.
 *
 * <p>
 * <b>Order.</b> Triggers tell changes in the order in which statements end, so what a function changes comes before what the statement changes
 * that calls it, though some of that may have been done before. Between different rows that makes no difference, since several
 * changes of a row are folded into one. Of one row, each change must begin with what the one before it has left; if one does
 * not, the order is not known, and the transaction is refused. Each change says with which text of the row it begins, but for the first one
 * ({@code f}), and for those of statements that call no functions, which come in order ({@code u}).
 */
public final class CaptureReader {
    private final List<@Nullable TableCatalog> catalogs;
    /** By which rows are to be understood that were changed before each schema change that is left; null if there are none. */
    private final List<@Nullable TableCatalog> befores = new ArrayList<>();
    private TableCatalog catalog;
    private final byte[] text;
    private final RowText row = new RowText();
    private final RowText before = new RowText();
    private final KeySet.Builder keys = new KeySet.Builder();
    private final Origins origins;
    private final Set<Long> tablesSeen = new HashSet<>();
    private final Set<String> takenWithoutKey = new HashSet<>();
    private final Changes.Writer changes;
    /** Where the text is of what the transaction has left of rows, by the hash of their keys; nowhere if they are gone. */
    private final Map<Long, Slice> left = new HashMap<>();
    private int at;
    private @Nullable Table table;
    private TableName tableName = new TableName("", "");

    private record Slice(int start, int end) {
        private static final Slice NOWHERE = new Slice(0, 0);
    }

    private CaptureReader(TableCatalog catalog, List<@Nullable TableCatalog> catalogs, byte[] text) {
        this.catalog = catalog;
        this.catalogs = catalogs;
        this.text = text;
        this.origins = new Origins(text);
        this.changes = new Changes.Writer(text.length + 64);
    }

    /**
     * Reads the changes of one transaction.
     *
     * @param catalog as of the transaction
     * @param gathered what {@code tutti.finish} returned, not null
     * @throws UnknownTable if the catalog is too old, or the transaction changed the schema
     * @throws CaptureException if there are more than {@link WriteSet#KEYS_MAX} keys
     * @throws IllegalArgumentException if the text is damaged, which is a fault of this program
     */
    public static CapturedWriteSet read(TableCatalog catalog, byte[] gathered) throws UnknownTable, CaptureException {
        return new CaptureReader(catalog, List.of(), gathered).read();
    }

    /**
     * Reads the changes of a transaction that changed the schema as well.
     *
     * @param before as of its begin
     * @param inside loaded in its own session ({@link tutti.engine.postgres.catalog.CatalogQuery}): before each schema
     *            change, by its {@linkplain Statement#place place}, null if no row had been changed up to then; and last,
     *            at its end
     * @param gathered what {@code tutti.finish} returned, not null
     * @throws CaptureException if the changes cannot be replicated
     */
    public static CapturedWriteSet read(TableCatalog before, List<@Nullable TableCatalog> inside, byte[] gathered)
            throws CaptureException {
        CaptureReader reader = new CaptureReader(before, inside, gathered);
        try {
            reader.findPlaces();
            reader.nextCatalog(0);
            return reader.read();
        } catch (UnknownTable between) {
            if (reader.befores.isEmpty()) {
                // its snapshot of the catalog is older than the table as it found it
                throw new CaptureException("40001",
                        "could not serialize access due to a concurrent change of the schema: try the transaction again");
            }
            throw new CaptureException("0A000",
                    "the transaction changes rows of a table in a way that depends on a schema"
                            + " change that cannot be followed: use a transaction of its own for the schema change");
        }
    }

    /** Which schema changes are left: those that were rolled back left no entry. */
    private void findPlaces() {
        TableCatalog told = null;
        while (at < text.length) {
            byte operation = text[at++];
            switch (operation) {
                case 'i', 'u', 'f', 'd' -> {
                    number();
                    at = row.parse(text, at).end();
                }
                case 'k' -> {
                    number();
                    at = row.parse(text, row.parse(text, at).end()).end();
                }
                case 't' -> {
                    number();
                    expect(';');
                }
                case 's' -> {
                    int place = Statement.of(counted()).place();
                    befores.add(place >= 0 && place < catalogs.size() ? catalogs.get(place) : told);
                    told = null;
                }
                case 'c' -> told = CatalogQuery.read(counted());
                case 'n' -> {
                    counted();
                    counted();
                }
                case 'q' -> restart();
                default ->
                    throw new IllegalArgumentException("no such captured entry: " + operation + " at " + (at - 1));
            }
        }
        at = 0;
    }

    /** After so many schema changes: rows are as the catalog has them that was loaded before the next one. */
    private void nextCatalog(int changesSeen) {
        TableCatalog loaded = catalogs.getLast();
        for (int i = befores.size() - 1; i >= changesSeen; i--) {
            TableCatalog before = befores.get(i);
            loaded = before == null ? loaded : before;
        }
        if (loaded != null) {
            catalog = loaded;
        }
        table = null;
    }

    /** A text that is preceded by its length in bytes. */
    private byte[] counted() {
        int length = (int) number();
        expect(':');
        if (length > text.length - at) {
            throw new IllegalArgumentException("a captured text ends too early");
        }
        at += length;
        return Arrays.copyOfRange(text, at - length, at);
    }

    private Changes.Change.Restart restart() {
        return new Changes.Change.Restart(countedText(), countedText(), countedText(), countedText());
    }

    private String countedText() {
        return new String(counted(), StandardCharsets.UTF_8);
    }

    private CapturedWriteSet read() throws UnknownTable, CaptureException {
        add(TableCatalog.SCHEMA_KEY, KeyKind.REFERENCE, "the schema");
        int schemaChanges = 0;
        while (at < text.length) {
            byte operation = text[at++];
            switch (operation) {
                case 'i' -> insert(table());
                case 'u' -> update(table(), false);
                case 'f' -> update(table(), true);
                case 'k' -> rekey(table());
                case 'd' -> delete(table());
                case 't' -> {
                    Table truncated = table();
                    expect(';');
                    left.clear();
                    add(truncated.hash(), KeyKind.EXCLUSIVE, "table " + truncated.displayName());
                    changes.add(new Changes.Change.Truncate(tableName));
                }
                case 'c' -> counted();
                case 's' -> {
                    if (catalogs.isEmpty()) {
                        throw new UnknownTable(0); // it is not known what comes after it
                    }
                    changes.add(new Changes.Change.Execute(counted()));
                    left.clear();
                    nextCatalog(++schemaChanges);
                    if (schemaChanges == 1) {
                        add(TableCatalog.SCHEMA_KEY, KeyKind.EXCLUSIVE, "the schema");
                    }
                }
                case 'n' -> changes.add(new Changes.Change.Notify(counted(), counted()));
                case 'q' -> {
                    Changes.Change.Restart restart = restart();
                    add(TableCatalog.sequenceKey(restart.schema(), restart.name()), KeyKind.EXCLUSIVE,
                            "sequence " + restart.schema() + "." + restart.name());
                    changes.add(restart);
                }
                default ->
                    throw new IllegalArgumentException("no such captured entry: " + operation + " at " + (at - 1));
            }
            if (origins.size() > WriteSet.KEYS_MAX) {
                throw new CaptureException("54000", "the transaction touches more than " + WriteSet.KEYS_MAX
                        + " keys of rows, unique constraints and foreign keys, which is the limit of one transaction:"
                        + " make several of it");
            }
        }
        return new CapturedWriteSet(new WriteSet(keys.build(), changes.toBytes()), origins,
                schemaChanges > 0, Set.copyOf(takenWithoutKey));
    }

    private Table table() throws UnknownTable {
        long oid = number();
        Table known = table;
        if (known == null || known.oid() != oid) {
            known = catalog.table(oid);
            if (known == null) {
                throw new UnknownTable(oid);
            }
            table = known;
            tableName = new TableName(known.schema(), known.name());
            if (tablesSeen.add(oid)) {
                add(known.hash(), KeyKind.REFERENCE, "table " + known.displayName());
            }
        }
        return known;
    }

    private void insert(Table into) throws UnknownTable, CaptureException {
        int start = row(row, into);
        follows(into, row, Slice.NOWHERE, new Slice(start, at));
        for (UniqueKey key : into.uniqueKeys()) {
            unique(into, key, row, start, KeyKind.EXCLUSIVE);
        }
        for (ForeignKey key : into.foreignKeys()) {
            reference(key, row, start);
        }
        if (!into.hasKey()) {
            whole(into, row, start, KeyKind.REFERENCE);
        }
        changes.rows((byte) 'i', tableName, text, start, at);
    }

    private void update(Table of, boolean first) throws UnknownTable, CaptureException {
        if (!of.hasKey()) {
            throw new UnknownTable(of.oid()); // it had one when the row changed
        }
        int start = row(row, of);
        if (leave(of, row, new Slice(start, at)) != null && first) {
            throw outOfOrder(of);
        }
        unique(of, of.key(), row, start, KeyKind.UPDATE);
        changes.rows((byte) 'u', tableName, text, start, at);
    }

    private void rekey(Table of) throws UnknownTable, CaptureException {
        int startBefore = row(before, of);
        int endBefore = at;
        int start = row(row, of);
        follows(of, before, new Slice(startBefore, endBefore), Slice.NOWHERE);
        var _ = leave(of, row, new Slice(start, at));
        boolean keysChanged = false;
        for (UniqueKey key : of.uniqueKeys()) {
            if (differs(key.watched())) {
                keysChanged = true;
                unique(of, key, before, startBefore, KeyKind.EXCLUSIVE);
                unique(of, key, row, start, KeyKind.EXCLUSIVE);
            } else if (key.namesRows()) {
                unique(of, key, row, start, KeyKind.UPDATE);
            }
        }
        if (!of.hasKey()) {
            keysChanged = true;
            whole(of, before, startBefore, KeyKind.EXCLUSIVE);
            whole(of, row, start, KeyKind.REFERENCE);
        }
        for (ForeignKey key : of.foreignKeys()) {
            if (differs(key.columns())) {
                reference(key, row, start);
            }
        }
        if (keysChanged) {
            changes.rows((byte) 'k', tableName, text, startBefore, endBefore);
            changes.blob(text, start, at);
        } else {
            changes.rows((byte) 'u', tableName, text, start, at);
        }
    }

    private void delete(Table from) throws UnknownTable, CaptureException {
        int start = row(row, from);
        follows(from, row, new Slice(start, at), Slice.NOWHERE);
        for (UniqueKey key : from.uniqueKeys()) {
            unique(from, key, row, start, KeyKind.EXCLUSIVE);
        }
        if (!from.hasKey()) {
            whole(from, row, start, KeyKind.EXCLUSIVE);
        }
        changes.rows((byte) 'd', tableName, text, start, at);
    }

    /** A change begins with one text of a row, or with none, and leaves another. */
    private void follows(Table of, RowText values, Slice with, Slice what) throws CaptureException {
        Slice found = leave(of, values, what);
        if (found != null
                && !Arrays.equals(text, found.start(), found.end(), text, with.start(), with.end())) {
            throw outOfOrder(of);
        }
    }

    /** What had been left of a row; null if it had not been changed, or if equal rows need not have equal texts of their key here. */
    private @Nullable Slice leave(Table of, RowText values, Slice what) {
        return of.hasKey() && of.key().exact() ? left.put(hash(of.key(), values), what) : null;
    }

    private static CaptureException outOfOrder(Table of) {
        return new CaptureException("0A000", "a function or trigger has changed a row of table " + of.displayName()
                + " that the statement which calls it has changed, too, while that was under way, so that the order of both is not"
                + " known: change the row in statements that do not call each other");
    }

    private boolean differs(List<Integer> columns) {
        for (int column : columns) {
            if (!row.sameText(column, before)) {
                return true;
            }
        }
        return false;
    }

    /** Parses the row that begins here, and steps behind it. */
    private int row(RowText into, Table of) throws UnknownTable {
        int start = at;
        into.parse(text, at);
        if (into.columns() != of.columns().size()) {
            throw new UnknownTable(of.oid());
        }
        at = into.end();
        return start;
    }

    private void unique(Table of, UniqueKey key, RowText values, int start, KeyKind kind) {
        if (!key.opaque() && key.nullsDistinct()
                && key.columns().stream().anyMatch(column -> values.value(column) == null)) {
            return;
        }
        add(hash(key, values), kind, start, key, () -> {
            List<Integer> shown = key.columns().isEmpty() ? key.watched() : key.columns();
            return new Origins.Kind(of.displayName(),
                    shown.stream().map(place -> of.columns().get(place).name()).toList(),
                    shown);
        });
    }

    private static long hash(UniqueKey key, RowText values) {
        long hash = key.seed();
        if (!key.opaque()) {
            List<Integer> columns = key.columns();
            for (int i = 0; i < columns.size(); i++) {
                byte[] value = values.value(columns.get(i));
                if (value == null) {
                    hash = KeyHash.nullPart(hash);
                } else {
                    byte[] normalised = key.forms().get(i).normalise(value);
                    hash = KeyHash.part(hash, normalised, 0, normalised.length);
                }
            }
        }
        return KeyHash.finish(hash);
    }

    /**
     * The key of a row that is named by all its values. Whoever takes one of such rows away touches it exclusively, whoever adds
     * one refers to it: rows of the same values may be added at the same time, as they may in the engine, and of two concurrent
     * transactions of which each takes such a row away, one is aborted, though there may be several such rows. Values that only the engine can
     * compare count for nothing, so that rows which differ in them alone have the same key. Rows are applied one after the other
     * where these keys conflict, so that a row is there when it is taken away.
     */
    private void whole(Table of, RowText values, int start, KeyKind kind) {
        if (kind == KeyKind.EXCLUSIVE) {
            takenWithoutKey.add(of.displayName());
        }
        long hash = of.rowSeed();
        List<Column> columns = of.columns();
        for (int i = 0; i < columns.size(); i++) {
            byte[] value = columns.get(i).generated() ? null : values.value(i);
            if (value == null) {
                hash = KeyHash.nullPart(hash);
            } else {
                byte[] normalised = columns.get(i).form().normalise(value);
                hash = KeyHash.part(hash, normalised, 0, normalised.length);
            }
        }
        add(KeyHash.finish(hash), kind, start, of,
                () -> new Origins.Kind(of.displayName() + ", a row", List.of(), List.of()));
    }

    private void reference(ForeignKey key, RowText values, int start) {
        long hash = key.parentSeed();
        for (int i = 0; i < key.columns().size(); i++) {
            byte[] value = values.value(key.columns().get(i));
            if (value == null) {
                return;
            }
            if (!key.opaque()) {
                byte[] normalised = key.forms().get(i).normalise(value);
                hash = KeyHash.part(hash, normalised, 0, normalised.length);
            }
        }
        add(KeyHash.finish(hash), KeyKind.REFERENCE, start, key,
                () -> new Origins.Kind(key.parent(), key.parentColumns(), key.columns()));
    }

    private void add(long hash, KeyKind kind, int row, Object from, Supplier<Origins.Kind> made) {
        keys.add(hash, kind);
        origins.add(from, made, row);
    }

    private void add(long hash, KeyKind kind, String what) {
        add(hash, kind, -1, what, () -> new Origins.Kind(what, List.of(), List.of()));
    }

    private long number() {
        long value = 0;
        int start = at;
        while (at < text.length && text[at] >= '0' && text[at] <= '9' && at - start < 18) {
            value = value * 10 + text[at++] - '0';
        }
        if (at == start) {
            throw new IllegalArgumentException("a number is missing in captured text at " + at);
        }
        return value;
    }

    private void expect(char character) {
        if (at >= text.length || text[at] != character) {
            throw new IllegalArgumentException("'" + character + "' is missing in captured text at " + at);
        }
        at++;
    }

    /** The catalog does not have the table as the transaction had it: load a new one, in the transaction's session. */
    public static final class UnknownTable extends Exception {
        private static final long serialVersionUID = 1;

        UnknownTable(long oid) {
            super("the catalog does not have the table with object id " + oid + " as it is now");
        }
    }
}
