package tutti.engine.postgres.apply;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.Changes.Change;
import tutti.engine.postgres.capture.Changes.TableName;
import tutti.engine.postgres.capture.ColumnBits;
import tutti.engine.postgres.catalog.RowText;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.Table.UniqueKey;
import tutti.engine.postgres.catalog.TableCatalog;

/**
 * Makes the statements that bring about a list of changes. Several changes of a row are folded into one; then all rows
 * to be deleted come first, then those to be updated, then those to be inserted.
 *
 * <p>
 * That order violates no unique constraint on the way: a row one of whose unique keys changes is deleted and inserted
 * again, so that at any moment the rows present are rows of the final state or untouched by it. Foreign keys are not
 * checked by appliers, so tables may come in any order. A table whose rows cannot be told apart here (the key's
 * values compare in ways that only the engine knows) gets its changes one by one.
 *
 * <p>
 * <b>Some columns of a row.</b> Several such changes of a row are folded into one of all their columns, each as the last one left it; into a
 * row that is written whole they are folded as a whole. Then each row is changed once, so it makes no difference in which order rows are
 * changed that keep their keys, and those of a table that assign the same columns are changed by one statement. What it leaves is the same at every
 * replica and at the node where the transaction ran: there the transaction held the row's lock from its change to its commit, and
 * every change that is ordered before it was made there before it committed, so none of them was to this row since; everywhere else the
 * changes ordered before it have been made too. So columns that do not travel have the same values everywhere, by induction. If the
 * transaction could not commit where it ran, its changes are made there as they are elsewhere. Nothing of that depends on how a protocol finds out who
 * commits: it holds wherever changes that touch the same row are made everywhere in one order.
 *
 * <p>
 * Rows of a table without a key are named by all their values, and counted: as many are deleted, and then inserted, as
 * the changes come to. One that is taken away after an equal one has been added cancels it, since nothing tells them apart. Where
 * it cannot be told here which rows are equal, nothing is cancelled: rows that were added are written before others are taken away.
 */
final class NetEffect {
    /** One statement. */
    sealed interface Step {
        /**
         * Rows of one table: inserted whole, updated by primary key, or deleted by primary key.
         *
         * @param columns those that an update assigns, as {@link ColumnBits} has them; null if it is all
         */
        record Rows(Table table, Operation operation, byte @Nullable [] columns, List<byte[]> rows) implements Step {}

        /** Tables emptied at once. */
        record Truncate(Set<TableName> tables) implements Step {}

        /** Those who listen are told. */
        record Notify(byte[] channel, byte[] payload) implements Step {}

        /** A transaction is kept, for its client to commit. */
        record Prepare(Change.Prepare transaction) implements Step {}

        /** A sequence is put somewhere. */
        record Restart(Change.Restart sequence) implements Step {}

        /** A large object is made or unlinked. */
        record LargeObject(Change.LargeObject object) implements Step {}

        /** Pages of a large object are written. */
        record LargePages(Change.LargePages pages) implements Step {}
    }

    /** What is done with rows. */
    enum Operation {
        /** It must be there, and is gone afterwards. */
        DELETE,
        /** It must be there. */
        UPDATE,
        /** It must not be there. */
        INSERT
    }

    private final TableCatalog catalog;
    private final RowText row = new RowText();
    private final List<Step> steps = new ArrayList<>();
    private final Map<Table, Map<String, Fate>> fates = new LinkedHashMap<>();
    private final Map<Table, Counts> counted = new LinkedHashMap<>();
    private final Set<TableName> truncated = new LinkedHashSet<>();

    private NetEffect(TableCatalog catalog) {
        this.catalog = catalog;
    }

    /** What becomes of one row. */
    private static final class Fate {
        /** The row before, at least its primary key; null if it was not there. */
        private byte @Nullable [] before;
        /** The row after, null if it is not there. */
        private byte @Nullable [] after;
        /** Which columns {@link #after} has; null if it is all. */
        private byte @Nullable [] columns;
        private boolean replace;
        /** {@link #before} is all of it. */
        private boolean whole;

        /** Whether it comes to nothing; then it makes no difference in which order its changes were made. */
        boolean none() {
            return whole && Arrays.equals(before, after);
        }
    }

    /** What becomes of the rows of a table without a key. */
    private static final class Counts {
        /** Rows that were there before. */
        private final List<byte[]> deleted = new ArrayList<>();
        /** Rows to be inserted by their identity, of which each list holds equal ones; by number where that is not known. */
        private final Map<Object, List<byte[]>> inserted = new LinkedHashMap<>();
    }

    /**
     * The statements.
     *
     * @param changes without statements to execute
     * @throws IllegalStateException if a table is not in the catalog
     * @throws IllegalArgumentException if a row is damaged
     */
    static List<Step> of(TableCatalog catalog, List<Change> changes) {
        NetEffect effect = new NetEffect(catalog);
        for (Change change : changes) {
            effect.add(change);
        }
        effect.flushTruncated();
        effect.flushRows();
        return effect.steps;
    }

    /** Tells the changes apart one by one, frequent ones first: a switch over types costs more until it is optimised. */
    private void add(Change change) {
        if (change instanceof Change.Update(TableName name, byte[] after)) {
            Table table = begin(name);
            update(table, null, after);
            end(table);
        } else if (change instanceof Change.Columns(TableName name, byte[] columns, byte[] after)) {
            Table table = begin(name);
            update(table, columns, after);
            end(table);
        } else if (change instanceof Change.Insert(TableName name, byte[] after)) {
            Table table = begin(name);
            insert(table, after);
            end(table);
        } else if (change instanceof Change.Delete(TableName name, byte[] before)) {
            Table table = begin(name);
            delete(table, before);
            end(table);
        } else if (change instanceof Change.Rekey(TableName name, byte[] before, byte[] after)) {
            Table table = begin(name);
            delete(table, before);
            end(table);
            insert(table, after);
            end(table);
        } else if (change instanceof Change.Truncate(TableName name)) {
            flushRows();
            truncated.add(name);
        } else if (change instanceof Change.Notify(byte[] channel, byte[] payload)) {
            steps.add(new Step.Notify(channel, payload));
        } else if (change instanceof Change.Prepare prepare) {
            steps.add(new Step.Prepare(prepare));
        } else if (change instanceof Change.Restart restart) {
            steps.add(new Step.Restart(restart));
        } else if (change instanceof Change.LargeObject object) {
            steps.add(new Step.LargeObject(object));
        } else if (change instanceof Change.LargePages pages) {
            steps.add(new Step.LargePages(pages));
        } else {
            throw new IllegalArgumentException("a statement is not a row");
        }
    }

    /** Before a change of a row: changes that must be made before it are, if it must be made alone. */
    private Table begin(TableName name) {
        flushTruncated();
        Table table = table(name);
        end(table);
        return table;
    }

    /** After a change of a row: it is made now, if it must be made alone. */
    private void end(Table table) {
        if (table.hasKey() && !table.key().exact()) {
            flushRows();
        }
    }

    private Table table(TableName name) {
        Table table = catalog.table(name.schema(), name.name());
        if (table == null) {
            throw new IllegalStateException("table " + name.schema() + "." + name.name()
                    + " does not exist here: this replica differs from the others");
        }
        return table;
    }

    private Counts counts(Table table) {
        return counted.computeIfAbsent(table, _ -> new Counts());
    }

    private String identity(Table table, byte[] of) {
        row.parse(of, 0);
        if (row.columns() != table.columns().size()) {
            throw new IllegalArgumentException("a row of table " + table.displayName() + " has " + row.columns()
                    + " columns, here it has " + table.columns().size());
        }
        return table.identity(row);
    }

    private void addOne(Table table, byte[] after) {
        Map<Object, List<byte[]>> inserted = counts(table).inserted;
        Object name = table.identityIsExact() ? identity(table, after) : inserted.size();
        inserted.computeIfAbsent(name, _ -> new ArrayList<>(1)).add(after);
    }

    private void takeOne(Table table, byte[] before) {
        boolean exact = table.identityIsExact();
        if (!exact && !counts(table).inserted.isEmpty()) {
            flushRows();
        }
        Counts counts = counts(table);
        String name = exact ? identity(table, before) : "";
        List<byte[]> added = counts.inserted.get(name);
        if (added == null) {
            counts.deleted.add(before);
        } else {
            added.removeLast();
            if (added.isEmpty()) {
                counts.inserted.remove(name);
            }
        }
    }

    private Fate fate(Table table, byte[] of) {
        UniqueKey key = table.key();
        List<Integer> columns = key.columns();
        // Rows with too few or too many columns are refused by the engine: only the key is looked at here.
        int last = 0;
        for (int column : columns) {
            last = Math.max(last, column);
        }
        row.parse(of, 0, last + 1);
        if (row.columns() <= last) {
            throw new IllegalArgumentException("a row of table " + table.displayName() + " has " + row.columns()
                    + " columns, here it has " + table.columns().size());
        }
        StringBuilder name = new StringBuilder();
        for (int i = 0; i < columns.size(); i++) {
            byte[] value = row.value(columns.get(i));
            if (value == null) {
                throw new IllegalArgumentException("NULL in the primary key of a row of " + table.displayName());
            }
            byte[] normalised = key.forms().get(i).normalise(value);
            name.append(normalised.length).append(':').append(new String(normalised, StandardCharsets.ISO_8859_1));
        }
        return fates.computeIfAbsent(table, _ -> new LinkedHashMap<>()).computeIfAbsent(name.toString(),
                _ -> new Fate());
    }

    private void insert(Table table, byte[] after) {
        if (!table.hasKey()) {
            addOne(table, after);
            return;
        }
        Fate fate = fate(table, after);
        if (fate.after != null) {
            throw new IllegalArgumentException("a row of " + table.displayName() + " is inserted twice");
        }
        fate.after = after;
        fate.columns = null;
        fate.replace = fate.before != null;
    }

    private void update(Table table, byte @Nullable [] columns, byte[] after) {
        if (!table.hasKey()) {
            throw new IllegalStateException("table " + table.displayName()
                    + " has no key here that names its rows: this replica differs from the others");
        }
        Fate fate = fate(table, after);
        byte[] left = fate.after;
        if (left == null) {
            fate.before = after;
            fate.columns = columns;
            fate.after = after;
        } else if (columns == null) {
            fate.columns = null;
            fate.after = after;
        } else {
            fate.after = merged(table, left, columns, after);
            fate.columns = fate.columns == null ? null : ColumnBits.union(fate.columns, columns);
        }
    }

    /** A row with some columns of another one in it. */
    private byte[] merged(Table table, byte[] left, byte[] columns, byte[] after) {
        RowText from = new RowText().parse(after, 0);
        row.parse(left, 0);
        int count = table.columns().size();
        if (row.columns() != count || from.columns() != count || columns.length != (count + 7) >> 3) {
            throw new IllegalArgumentException("a row of table " + table.displayName() + " has " + from.columns()
                    + " columns, here it has " + count);
        }
        ByteArrayOutputStream merged = new ByteArrayOutputStream(left.length + after.length);
        for (int i = 0; i < count; i++) {
            merged.write(i == 0 ? '(' : ',');
            (ColumnBits.has(columns, i) ? from : row).copy(i, merged);
        }
        merged.write(')');
        return merged.toByteArray();
    }

    private void delete(Table table, byte[] before) {
        if (!table.hasKey()) {
            takeOne(table, before);
            return;
        }
        Fate fate = fate(table, before);
        if (fate.after == null) {
            fate.before = before;
            fate.whole = true;
        }
        fate.after = null;
    }

    private void flushTruncated() {
        if (!truncated.isEmpty()) {
            steps.add(new Step.Truncate(new LinkedHashSet<>(truncated)));
            truncated.clear();
        }
    }

    private void flushRows() {
        for (Operation operation : Operation.values()) {
            fates.forEach((table, rows) -> {
                List<byte[]> chosen = new ArrayList<>();
                Map<String, List<byte[]>> chosenColumns = new LinkedHashMap<>();
                for (Fate fate : rows.values()) {
                    if (fate.none()) {
                        continue;
                    }
                    byte[] before = fate.before;
                    byte[] after = fate.after;
                    byte[] one = switch (operation) {
                        case DELETE -> after == null || fate.replace ? before : null;
                        case UPDATE -> before == null || fate.replace ? null : after;
                        case INSERT -> before == null || fate.replace ? after : null;
                    };
                    if (one != null && operation == Operation.UPDATE && fate.columns != null) {
                        chosenColumns.computeIfAbsent(new String(fate.columns, StandardCharsets.ISO_8859_1),
                                _ -> new ArrayList<>()).add(one);
                    } else if (one != null) {
                        chosen.add(one);
                    }
                }
                if (!chosen.isEmpty()) {
                    steps.add(new Step.Rows(table, operation, null, chosen));
                }
                chosenColumns.forEach(
                        (columns, some) -> steps.add(
                                new Step.Rows(table, operation, columns.getBytes(StandardCharsets.ISO_8859_1), some)));
            });
            counted.forEach((table, counts) -> {
                List<byte[]> chosen = switch (operation) {
                    case DELETE -> counts.deleted;
                    case UPDATE -> List.of();
                    case INSERT -> counts.inserted.values().stream().flatMap(List::stream).toList();
                };
                if (!chosen.isEmpty()) {
                    steps.add(new Step.Rows(table, operation, null, chosen));
                }
            });
        }
        fates.clear();
        counted.clear();
    }
}
