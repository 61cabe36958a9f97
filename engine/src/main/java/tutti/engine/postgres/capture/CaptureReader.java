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
import tutti.engine.postgres.catalog.RowText;
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
 * {@code f} like {@code u} of a row that the transaction had not changed before, {@code g} like {@code u} of one in which the schema change before it has filled columns, {@code k} with two rows, {@code p}, {@code w} and {@code x} like {@code u},
 * {@code f} and {@code k} with columns left out, {@code e} like {@code d} with the row's version, {@code t} with the object id and a semicolon, {@code s} with the length in bytes, a colon and
 * a {@link Statement}, {@code n}, {@code q}, {@code l} and {@code b} with what their changes are made of, each part with its length in bytes and a colon
 * ({@link Changes}). Before a statement in a function may stand {@code c} with the length in bytes, a colon and the catalog
 * ({@link CatalogQuery#read(byte[])}) by which rows are to be understood that were changed since the last one.
 *
 * <p>
 * <b>Order.</b> Triggers tell changes in the order in which statements end, so what a function changes comes before what the statement changes
 * that calls it, though some of that may have been done before. Between different rows that makes no difference, since several
 * changes of a row are folded into one. Of one row, each change must begin with what the one before it has left; if one does
 * not, the order is not known, and the transaction is refused. Each change says with which text of the row it begins, but for the first one
 * ({@code f}), and for those of statements that call no functions, which come in order ({@code u}).
 *
 * <p>
 * <b>Columns left out.</b> Behind the object id of a {@code p}, {@code w} or {@code x} stand a minus, the places, from 0 and with commas between, of columns whose value the
 * change has left as it was and that are empty in its rows, and a semicolon. Then a {@code w} has the version (the {@code ctid}) that the change has made of
 * the row, and an {@code x} before it the one with which it began, as {@code e} has. Each change of a row makes a version that the transaction makes never again,
 * so that the versions tell the order of changes better than their texts do: two changes that follow each other here did so there if the second begins with
 * the version that the first has made, and the first one here was the first one there, or it would come later, and begin with a version that
 * none before it has made.
 *
 * <p>
 * <b>What travels</b> of a change that leaves all keys as they were: the columns that were not left out. Whether a value has changed is not asked of its type,
 * for which {@code 1.0} and {@code 1.00} are equal: statements tell what they assign, and triggers leave out what is stored to the byte as it was.
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
    private final Set<Long> large = new HashSet<>();
    private final Set<String> takenWithoutKey = new HashSet<>();
    private final Changes.Writer changes;
    /** Where the text is of what the transaction has left of rows, by the hash of their keys; nowhere if they are gone. */
    private final Map<Long, Left> left = new HashMap<>();
    private int at;
    private @Nullable Table table;
    private TableName tableName = new TableName("", "");

    /**
     * What a change has left of a row.
     *
     * @param version which one; empty if it was not told
     */
    private record Left(int start, int end, String version) {
        private static final Left NOWHERE = new Left(0, 0, "");
        /** By a statement that tells its rows in order. */
        private static final Left IN_ORDER = new Left(-1, -1, "");

        boolean inOrder() {
            return start < 0;
        }
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
                case 'i', 'u', 'f', 'g', 'd', 'p', 'w', 'x', 'e' -> {
                    number();
                    if (operation == 'p' || operation == 'w' || operation == 'x') {
                        var _ = leftOut();
                    }
                    for (int rows = operation == 'x'
                            ? 4
                            : operation == 'w' || operation == 'e' ? 2 : 1; rows > 0; rows--) {
                        at = row.parse(text, at).end();
                    }
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
                case 'l', 'b' -> {
                    counted();
                    counted();
                    counted();
                }
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
                case 'u' -> update(table(), List.of(), null);
                case 'f' -> update(table(), List.of(), "");
                case 'g' -> refilled(table());
                case 'p' -> update(table(), leftOut(), null);
                case 'w' -> update(table(), leftOut(), version());
                case 'k' -> rekey(table(), List.of(), "", "");
                case 'x' -> rekey(table(), leftOut(), version(), version());
                case 'd' -> delete(table(), "");
                case 'e' -> delete(table(), version());
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
                case 'l' -> {
                    var object = new Changes.Change.LargeObject(countedText(), countedText(), countedText());
                    largeObject(object.object());
                    changes.add(object);
                }
                case 'b' -> {
                    var pages = new Changes.Change.LargePages(countedText(), countedText(), counted());
                    largeObject(pages.object());
                    changes.add(pages);
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
                schemaChanges > 0, Set.copyOf(takenWithoutKey), Set.copyOf(large));
    }

    private void largeObject(String object) {
        add(TableCatalog.largeObjectKey(object), KeyKind.EXCLUSIVE, "large object " + object);
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
        follows(into, row, Left.NOWHERE, new Left(start, at, ""), List.of());
        for (UniqueKey key : into.uniqueKeys()) {
            unique(into, key, row, start, created(key));
        }
        for (ForeignKey key : into.foreignKeys()) {
            reference(key, row, start);
        }
        if (!into.hasKey()) {
            whole(into, row, start, KeyKind.REFERENCE);
        }
        changes.rows((byte) 'i', tableName, text, start, at);
    }

    /** Of rows that only the engine can tell apart it is not known whether another one has the key. */
    private static KeyKind created(UniqueKey key) {
        return key.opaque() ? KeyKind.EXCLUSIVE : KeyKind.CREATED;
    }

    private static KeyKind gone(UniqueKey key) {
        return key.opaque() ? KeyKind.EXCLUSIVE : KeyKind.GONE;
    }

    /** @param made the version of a row that the transaction had not changed before, empty if it is not told; null if rows come in order */
    private void update(Table of, List<Integer> leftOut, @Nullable String made)
            throws UnknownTable, CaptureException {
        if (!of.hasKey()) {
            throw new UnknownTable(of.oid()); // it had one when the row changed
        }
        int start = row(row, of);
        boolean inOrder = made == null;
        if (leave(of, row, made == null ? Left.IN_ORDER : new Left(start, at, made)) != null && !inOrder) {
            throw outOfOrder(of);
        }
        if (inOrder && leftOut.isEmpty() && at - start >= CapturedWriteSet.LARGE) {
            large.add(of.oid());
        }
        unique(of, of.key(), row, start, KeyKind.UPDATE);
        changed(of, leftOut, start);
    }

    /** A row as a schema change has left it, which is not known to begin with anything. */
    private void refilled(Table of) throws UnknownTable {
        if (!of.hasKey()) {
            throw new UnknownTable(of.oid()); // it had one when the schema was changed
        }
        int start = row(row, of);
        unique(of, of.key(), row, start, KeyKind.UPDATE);
        changed(of, List.of(), start);
    }

    /** Tells a row whose keys are as they were, which begins there and ends here. */
    private void changed(Table of, List<Integer> leftOut, int start) throws UnknownTable {
        if (leftOut.isEmpty()) {
            changes.rows((byte) 'u', tableName, text, start, at);
            return;
        }
        byte[] columns = ColumnBits.all(of.columns().size());
        for (int column : leftOut) {
            if (column >= of.columns().size()) {
                throw new UnknownTable(of.oid());
            }
            ColumnBits.remove(columns, column);
        }
        changes.columns(tableName, columns, text, start, at);
    }

    private void rekey(Table of, List<Integer> leftOut, String begun, String made)
            throws UnknownTable, CaptureException {
        int startBefore = row(before, of);
        int endBefore = at;
        int start = row(row, of);
        follows(of, before, new Left(startBefore, endBefore, begun), Left.NOWHERE, leftOut);
        var _ = leave(of, row, new Left(start, at, made));
        boolean keysChanged = false;
        for (UniqueKey key : of.uniqueKeys()) {
            // If columns are left out, the server has found all keys equal.
            if (leftOut.isEmpty() && differs(key.watched())) {
                keysChanged = true;
                unique(of, key, before, startBefore, gone(key));
                unique(of, key, row, start, created(key));
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
                release(key, of, before, startBefore);
            }
        }
        if (keysChanged || (leftOut.isEmpty() && differsBeyondUpdates(of))) {
            changes.rows((byte) 'k', tableName, text, startBefore, endBefore);
            changes.blob(text, start, at);
        } else {
            changed(of, leftOut, start);
        }
    }

    private void delete(Table from, String begun) throws UnknownTable, CaptureException {
        int start = row(row, from);
        follows(from, row, new Left(start, at, begun), Left.NOWHERE, List.of());
        for (UniqueKey key : from.uniqueKeys()) {
            unique(from, key, row, start, gone(key));
        }
        for (ForeignKey key : from.foreignKeys()) {
            release(key, from, row, start);
        }
        if (!from.hasKey()) {
            whole(from, row, start, KeyKind.EXCLUSIVE);
        }
        changes.rows((byte) 'd', tableName, text, start, at);
    }

    /** A change begins with one version of a row, or with none, and leaves another. */
    private void follows(Table of, RowText values, Left with, Left what, List<Integer> leftOut)
            throws CaptureException {
        Left found = leave(of, values, what);
        if (found != null && !found.inOrder() && !same(found, with, leftOut)) {
            throw outOfOrder(of);
        }
    }

    private boolean same(Left found, Left with, List<Integer> leftOut) {
        if (!found.version().isEmpty() && !with.version().isEmpty()) {
            return found.version().equals(with.version());
        }
        if (leftOut.isEmpty() || found.end() == 0) {
            return Arrays.equals(text, found.start(), found.end(), text, with.start(), with.end());
        }
        RowText one = new RowText().parse(text, found.start());
        RowText other = new RowText().parse(text, with.start());
        for (int i = 0; i < other.columns(); i++) {
            if (!leftOut.contains(i) && !other.sameText(i, one)) {
                return false;
            }
        }
        return true;
    }

    /** What had been left of a row; null if it had not been changed, or if equal rows need not have equal texts of their key here. */
    private @Nullable Left leave(Table of, RowText values, Left what) {
        return of.hasKey() && of.key().exact() ? left.put(of.key().hash(values), what) : null;
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

    /** Whether a column differs that an update of another node's cannot assign. */
    private boolean differsBeyondUpdates(Table of) {
        List<Table.Column> columns = of.columns();
        for (int i = 0; i < columns.size(); i++) {
            if (columns.get(i).identityAlways() && !row.sameText(i, before)) {
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
        add(key.hash(values), kind, start, key, () -> {
            List<Integer> shown = key.columns().isEmpty() ? key.watched() : key.columns();
            return new Origins.Kind(of.displayName(),
                    shown.stream().map(place -> of.columns().get(place).name()).toList(),
                    shown);
        });
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
        add(of.rowHash(values), kind, start, of,
                () -> new Origins.Kind(of.displayName() + ", a row", List.of(), List.of()));
    }

    private void reference(ForeignKey key, RowText values, int start) {
        Long parent = key.parentHash(values);
        if (parent != null) {
            add(parent, KeyKind.REFERENCE, start, key, origin(key));
        }
    }

    /** A row names its parent no longer. */
    private void release(ForeignKey key, Table of, RowText values, int start) {
        Long parent = key.parentHash(values);
        if (parent != null) {
            add(parent, KeyKind.RELEASED, start, key, origin(key));
            add(of.hasKey() ? of.key().hash(values) : of.rowHash(values), KeyKind.RELEASED, start, key, origin(key));
        }
    }

    private static Supplier<Origins.Kind> origin(ForeignKey key) {
        return () -> new Origins.Kind(key.parent(), key.parentColumns(), key.columns());
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

    /** Places of columns, between a minus and a semicolon. */
    private List<Integer> leftOut() {
        expect('-');
        List<Integer> places = new ArrayList<>();
        while (at < text.length && text[at] != ';') {
            if (text[at] == ',') {
                at++;
            } else {
                places.add((int) number());
            }
        }
        expect(';');
        return places;
    }

    /** A row's version in its table. */
    private String version() {
        int start = at;
        at = row.parse(text, at).end();
        return new String(text, start, at - start, StandardCharsets.US_ASCII);
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
