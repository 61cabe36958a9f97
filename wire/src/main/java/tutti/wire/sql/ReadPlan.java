package tutti.wire.sql;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ReadSet;
import tutti.engine.postgres.catalog.KeyHash;
import tutti.engine.postgres.catalog.References;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.wire.sql.SqlText.Token;

/**
 * What a statement reads, as far as its text tells: rows where it gives a whole primary key, otherwise all of each table
 * that it may touch, otherwise everything. Immutable.
 *
 * <p>
 * <b>Why read sets made from it are complete.</b> {@link TouchedTables} misses no table. A table is read by row only if its name
 * stands once in the statement, as one of the tables that {@link KeyLookup} understands, and nothing else brings it along; the
 * row is named whether it was found or not. What an INSERT without a query puts into a table it does not read; that a key
 * was free is part of the write set. A scan of everything is a scan of the key of the schema, to which every write set
 * refers.
 */
public final class ReadPlan {
    /** Of a statement that may read anything. */
    public static final ReadPlan EVERYTHING = new ReadPlan(Set.of(TableCatalog.SCHEMA_KEY), List.of());

    /** Values bound to a statement's parameters. */
    public interface Values {
        /** How many there are. */
        int count();

        /** Declared type of a parameter; 0 if the server is to choose. */
        int type(int index);

        /** Whether a value is in binary form. */
        boolean binary(int index);

        /** The value, or null for NULL. */
        byte @Nullable [] value(int index);
    }

    /** Of a statement without parameters. */
    public static final Values NO_VALUES = new Values() {
        @Override
        public int count() {
            return 0;
        }

        @Override
        public int type(int index) {
            throw new IndexOutOfBoundsException(index);
        }

        @Override
        public boolean binary(int index) {
            throw new IndexOutOfBoundsException(index);
        }

        @Override
        public byte @Nullable [] value(int index) {
            throw new IndexOutOfBoundsException(index);
        }
    };

    private final Set<Long> scans;
    private final List<KeyLookup.Row> rows;

    private ReadPlan(Set<Long> scans, List<KeyLookup.Row> rows) {
        this.scans = Set.copyOf(scans);
        this.rows = List.copyOf(rows);
    }

    /**
     * Looks at a piece of SQL, which may consist of several statements.
     *
     * @param standardStrings whether backslashes in plain strings are characters like any other
     */
    public static ReadPlan of(byte[] sql, int from, int to, boolean standardStrings, TableCatalog catalog,
            References references) {
        Set<Long> scans = new HashSet<>();
        List<KeyLookup.Row> rows = new ArrayList<>();
        for (List<Token> statement : SqlText.of(sql, from, to, standardStrings).statements()) {
            if (!statement(statement, catalog, references, scans, rows)) {
                return EVERYTHING;
            }
        }
        return new ReadPlan(scans, rows);
    }

    /** One statement; false if it may read everything. */
    private static boolean statement(List<Token> tokens, TableCatalog catalog, References references, Set<Long> scans,
            List<KeyLookup.Row> rows) {
        TouchedTables.Tables tables = TouchedTables.of(tokens, references);
        if (tables == null) {
            return false;
        }
        Set<Long> left = new HashSet<>(tables.direct());
        for (KeyLookup.Row row : KeyLookup.of(tokens, catalog)) {
            if (!tables.brought().contains(row.table().hash()) && SqlText.mentions(tokens, row.table().name()) == 1
                    && left.remove(row.table().hash())) {
                rows.add(row);
            }
        }
        if (tokens.getFirst().isWord("insert") && tokens.stream().noneMatch(token -> token.isWord("conflict"))) {
            Token target = inserted(tokens);
            if (target != null && SqlText.mentions(tokens, target.text()) == 1
                    && references.get(target.text()) != null) {
                left.removeAll(java.util.Objects.requireNonNull(references.get(target.text())).tables());
            }
        }
        scans.addAll(left);
        scans.addAll(tables.brought());
        return true;
    }

    private static @Nullable Token inserted(List<Token> tokens) {
        if (tokens.size() < 3 || !tokens.get(1).isWord("into")) {
            return null;
        }
        int name = tokens.size() > 4 && tokens.get(3).is('.') ? 4 : 2;
        return tokens.get(name).isName() ? tokens.get(name) : null;
    }

    /** Adds what the statement reads with these values. */
    public void addTo(ReadSet.Builder reads, Values values) {
        scans.forEach(reads::scan);
        for (KeyLookup.Row row : rows) {
            add(reads, row, values);
        }
    }

    private static void add(ReadSet.Builder reads, KeyLookup.Row row, Values values) {
        Table table = row.table();
        Table.UniqueKey key = table.key();
        long hash = key.seed();
        for (int i = 0; i < key.columns().size(); i++) {
            Table.Column column = table.columns().get(key.columns().get(i));
            String text;
            switch (row.values().get(i)) {
                case RowValue.Literal literal -> text = literal.text();
                case RowValue.Parameter(int index) -> {
                    if (index >= values.count()) {
                        reads.scan(table.hash());
                        return;
                    }
                    byte[] value = values.value(index);
                    if (value == null) {
                        // nothing equals NULL
                        return;
                    }
                    text = RowValue.text(column, values.type(index), values.binary(index), value);
                }
            }
            String canonical = text == null ? null : RowValue.canonical(column, text);
            if (canonical == null) {
                reads.scan(table.hash());
                return;
            }
            byte[] normalised = key.forms().get(i).normalise(canonical.getBytes(StandardCharsets.UTF_8));
            hash = KeyHash.part(hash, normalised, 0, normalised.length);
        }
        reads.row(table.hash(), KeyHash.finish(hash));
    }
}
