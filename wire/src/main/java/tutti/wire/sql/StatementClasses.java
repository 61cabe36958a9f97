package tutti.wire.sql;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.capture.Changes;
import tutti.engine.postgres.capture.Changes.Change;
import tutti.engine.postgres.catalog.Division;
import tutti.engine.postgres.catalog.KeyHash;
import tutti.engine.postgres.catalog.References;
import tutti.engine.postgres.catalog.RowText;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.wire.sql.SqlText.Token;

/**
 * Conflict classes of transactions: one class for each table. They are computed from statements ({@link TouchedTables}), or
 * declared by the client, who lists tables; what their triggers, cascades and partitions touch is added.
 */
public final class StatementClasses {
    /** Of a statement that touches no replicated table, and has to have some class. */
    private static final long NO_TABLE = KeyHash.seed("no table");
    private static final String LARGE_OBJECTS = "large objects";
    private static final Set<String> OF_ROWS = Set.of("insert", "update", "delete", "merge", "with", "select", "call");

    private StatementClasses() {}

    /**
     * The classes of a piece of SQL.
     *
     * @param classes all that it may touch
     * @param vouched whether a function says what it touches, rather than its body
     */
    public record Computed(ConflictClasses classes, boolean vouched) {}

    /**
     * The classes of a piece of SQL: all that it may touch.
     *
     * @param values bound to its parameters
     */
    public static Computed of(byte[] sql, int from, int to, boolean standardStrings, TableCatalog catalog,
            References references, ReadPlan.Values values) {
        Set<Long> hashes = new HashSet<>();
        boolean vouched = false;
        for (List<Token> statement : SqlText.of(sql, from, to, standardStrings).statements()) {
            TouchedTables.Tables tables = TouchedTables.declared(statement, references);
            if (tables == null) {
                return new Computed(ConflictClasses.ALL, false);
            }
            vouched |= tables.vouched();
            hashes.addAll(new DivisionClasses(statement, catalog, references, values).classes(tables));
        }
        return new Computed(of(hashes), vouched);
    }

    private static ConflictClasses of(Set<Long> hashes) {
        return ConflictClasses.of(hashes.isEmpty() ? Set.of(NO_TABLE) : hashes);
    }

    /**
     * The statements that a piece of SQL consists of, for every replica to execute.
     *
     * @param texts one by one
     * @param varying what in them may have another result at another replica; null if nothing may
     * @param mode where the schema says that a function in them is to be executed: "active", "passive", or null
     * @param rows whether they are all about rows, and so leave nothing in their session
     * @param java procedures in Java that they call
     * @param several whether they are several, but for settings of the node's own variables
     * @param undeclared a procedure that has one in Java executed and does not say what that touches, or null
     * @param draws sequences of which functions in them say that they draw values, as each says it, by the functions' names
     */
    public record Statements(List<String> texts, @Nullable String varying, @Nullable String mode, boolean rows,
            Set<String> java, boolean several, @Nullable String undeclared, Map<String, String> draws) {
        /** That call nothing in Java, and draw nothing. */
        public Statements(List<String> texts, @Nullable String varying, @Nullable String mode, boolean rows) {
            this(texts, varying, mode, rows, Set.of(), texts.size() > 1, null, Map.of());
        }

        /** Of which nothing is known but that they cannot be told from their text. */
        public static Statements unknown(String varying) {
            return new Statements(List.of(), varying, null, false);
        }
    }

    /**
     * What in a statement that reads tables, and writes none but the one that it makes or changes, may have another result at another replica; null if nothing
     * may, as far as is known.
     *
     * @param unknownToo whether SQL that cannot be looked into counts
     */
    public static @Nullable String varyingRows(byte[] sql, boolean standardStrings, References references,
            boolean unknownToo) {
        String varying = TouchedTables.varyingRows(SqlText.of(sql, 0, sql.length, standardStrings).tokens(),
                references);
        return !unknownToo && TouchedTables.UNKNOWN.equals(varying) ? null : varying;
    }

    /** Looks at a piece of SQL that every replica is to execute. */
    public static Statements statements(byte[] sql, boolean standardStrings, References references) {
        List<String> texts = new ArrayList<>();
        String varying = null;
        String mode = null;
        boolean rows = true;
        Set<String> java = new TreeSet<>();
        int ours = 0;
        String undeclared = null;
        Map<String, String> draws = new TreeMap<>();
        SqlTokens reader = new SqlTokens();
        reader.reset(sql, 0, sql.length, standardStrings);
        int start = -1;
        for (int kind = reader.next();; kind = reader.next()) {
            if (kind != SqlTokens.END && kind != ';') {
                start = start < 0 ? reader.start() : start;
                continue;
            }
            if (start >= 0) {
                texts.add(new String(sql, start, reader.start() - start, StandardCharsets.UTF_8));
                List<Token> tokens = SqlText.of(sql, start, reader.start(), standardStrings).tokens();
                if (varying == null) {
                    varying = changesSession(tokens) ? "SET without LOCAL" : TouchedTables.varying(tokens, references);
                }
                mode = mode == null ? mode(tokens, references) : mode;
                ours += setsOurs(tokens) ? 1 : 0;
                rows &= tokens.getFirst().isWordOf(OF_ROWS) || setsOurs(tokens);
                for (Token token : tokens) {
                    References.Named named = token.isName() ? references.get(token.text()) : null;
                    String called = named == null ? null : named.java();
                    String drawn = named == null ? null : named.draws();
                    if (drawn != null) {
                        draws.put(token.text(), drawn);
                    }
                    if (called != null) {
                        java.add(called);
                        undeclared = named.declared() == null ? token.text() : undeclared;
                    }
                }
            }
            start = -1;
            if (kind == SqlTokens.END) {
                return new Statements(texts, varying, mode, rows, java, texts.size() - ours > 1, undeclared,
                        draws);
            }
        }
    }

    private static boolean changesSession(List<Token> tokens) {
        return tokens.getFirst().isWordOf(Set.of("set", "reset", "load", "prepare", "deallocate", "discard"))
                && !(tokens.size() > 1 && tokens.get(1).isWord("local"));
    }

    /** Whether a statement sets one of the node's own variables for its transaction. */
    private static boolean setsOurs(List<Token> tokens) {
        return tokens.size() > 2 && tokens.getFirst().isWord("set") && tokens.get(1).isWord("local")
                && tokens.get(2).isName() && tokens.get(2).text().equalsIgnoreCase("tutti");
    }

    private static @Nullable String mode(List<Token> tokens, References references) {
        for (Token token : tokens) {
            References.Named named = token.isName() ? references.get(token.text()) : null;
            if (named != null && named.mode() != null) {
                return named.mode();
            }
        }
        return null;
    }

    /** What {@code SET LOCAL tutti.classes = '…'} lists, or null if the statement is another one. */
    public static @Nullable String declared(String sql) {
        Variables.Setting set = Variables.read(sql, "classes");
        return set != null && set.local() ? set.value() : null;
    }

    /** What a client that lists tables has declared. */
    public static Declaration declaration(String list, TableCatalog catalog, References references) {
        List<String> unknown = new ArrayList<>();
        Set<Long> hashes = new HashSet<>();
        boolean partly = false;
        for (List<Token> entry : TouchedTables.entries(SqlText.of(list).tokens())) {
            Token value = TouchedTables.value(entry);
            List<Token> name = value == null ? entry : entry.subList(0, entry.size() - 3);
            TouchedTables.Tables tables = TouchedTables.of(name, references);
            if (!known(name, catalog, references)) {
                unknown.add(String.join("", name.stream().map(Token::text).toList()));
            } else if (tables == null) {
                return new Declaration(ConflictClasses.ALL, List.of(), false);
            } else {
                Set<Long> own = name.size() == 3
                        ? Set.of(TableCatalog.tableKey(name.get(0).text(), name.get(2).text()))
                        : tables.direct();
                own.forEach(table -> hashes.addAll(part(table, value, references)));
                partly |= own.stream()
                        .anyMatch(table -> !hashes.containsAll(DivisionClasses.all(table, references)));
                tables.brought().forEach(table -> hashes.addAll(DivisionClasses.all(table, references)));
                tables.cascaded().forEach(table -> hashes.addAll(DivisionClasses.all(table, references)));
            }
        }
        return new Declaration(of(hashes), unknown, partly);
    }

    /** The class of the rows with a value, or all of a table that is not divided or of which no number is given. */
    private static Set<Long> part(long table, @Nullable Token value, References references) {
        Division division = references.divisions().get(table);
        return division == null || value == null || value.text().startsWith("$")
                ? DivisionClasses.all(table, references)
                : Set.of(division.of(Long.parseLong(value.text())));
    }

    private static boolean known(List<Token> name, TableCatalog catalog, References references) {
        if (name.size() == 3) {
            return name.get(1).is('.') && catalog.table(name.get(0).text(), name.get(2).text()) != null;
        }
        return name.size() == 1 && name.getFirst().isName() && references.get(name.getFirst().text()) != null;
    }

    /**
     * A client's declaration.
     *
     * @param classes what it declares
     * @param unknown names in it that stand for nothing
     * @param partly whether some divided table is declared with some of its rows only
     */
    public record Declaration(ConflictClasses classes, List<String> unknown, boolean partly) {}

    /**
     * Which rows of divided tables a statement may touch whose class is not among those declared, in words, or null.
     *
     * @param statement all that it may touch
     */
    public static @Nullable String outside(ConflictClasses statement, ConflictClasses declared, References references) {
        if (statement.all()) {
            return "rows that cannot be told from it";
        }
        for (Division division : new HashSet<>(references.divisions().values())) {
            for (long of : division.all()) {
                if (statement.contains(of) && !declared.contains(of)) {
                    return "rows of another " + division.group() + " than those";
                }
            }
        }
        return null;
    }

    /** What a write set touches though its class is not among these, in words, or null; "the schema" for a schema change. */
    public static @Nullable String outside(WriteSet writes, ConflictClasses classes, TableCatalog catalog,
            References references) {
        if (classes.all()) {
            return null;
        }
        KeySet keys = writes.keys();
        Set<Long> touched = new HashSet<>();
        for (int i = 0; i < keys.size(); i++) {
            touched.add(keys.hash(i));
            if (keys.hash(i) == TableCatalog.SCHEMA_KEY && keys.kind(i) == KeyKind.EXCLUSIVE) {
                return "the schema";
            }
        }
        if (Changes.touchLargeObjects(writes.changes())) {
            return LARGE_OBJECTS;
        }
        boolean divided = false;
        for (Table table : catalog.tables()) {
            if (touched.contains(table.hash())) {
                if (references.divisions().containsKey(table.hash())) {
                    divided = true;
                } else if (!classes.contains(table.hash())) {
                    return table.displayName();
                }
            }
        }
        return divided ? new Rows(classes, catalog, references).outside(Changes.read(writes.changes())) : null;
    }

    /** Looks at rows of divided tables. For one write set. */
    private static final class Rows {
        private final ConflictClasses classes;
        private final TableCatalog catalog;
        private final References references;
        private final Map<Changes.TableName, Optional<Divided>> known = new HashMap<>();
        private final RowText text = new RowText();

        /**
         * A table that is divided.
         *
         * @param place of the column by which it is; -1 if it is shared
         */
        private record Divided(Table table, Division division, int place) {}

        Rows(ConflictClasses classes, TableCatalog catalog, References references) {
            this.classes = classes;
            this.catalog = catalog;
            this.references = references;
        }

        @Nullable
        String outside(List<Change> changes) {
            for (Change change : changes) {
                String found = switch (change) {
                    case Change.Insert(Changes.TableName table, byte[] row) -> row(table, row);
                    case Change.Update(Changes.TableName table, byte[] row) -> row(table, row);
                    case Change.Columns(Changes.TableName table, byte[] _, byte[] row) -> row(table, row);
                    case Change.Delete(Changes.TableName table, byte[] row) -> row(table, row);
                    case Change.Rekey(Changes.TableName table, byte[] before, byte[] after) -> {
                        String first = row(table, before);
                        yield first == null ? row(table, after) : first;
                    }
                    case Change.Truncate(Changes.TableName name) -> {
                        long hash = TableCatalog.tableKey(name.schema(), name.name());
                        yield DivisionClasses.all(hash, references).stream().allMatch(classes::contains)
                                ? null
                                : name.name();
                    }
                    case Change.Execute _ -> "the schema";
                    case Change.Prepare prepare -> outside(Changes.read(prepare.changes()));
                    case Change.LargeObject _,Change.LargePages _ -> LARGE_OBJECTS;
                    case Change.Notify _,Change.Restart _ -> null;
                };
                if (found != null) {
                    return found;
                }
            }
            return null;
        }

        /** The table and value of a row of a divided table whose class is not among these, or null; of a shared table, if any class is not. */
        private @Nullable String row(Changes.TableName name, byte[] row) {
            Divided divided = known.computeIfAbsent(name, this::divided).orElse(null);
            if (divided == null) {
                return null;
            }
            Division division = divided.division;
            String table = divided.table.displayName();
            if (divided.place < 0) {
                return division.all().stream().allMatch(classes::contains) ? null : table;
            }
            byte[] value = text.parse(row, 0, divided.place + 1).value(divided.place);
            String written = value == null ? "" : new String(value, StandardCharsets.UTF_8);
            return RowValue.INTEGER.matcher(written).matches() && classes.contains(division.of(Long.parseLong(written)))
                    ? null
                    : table + " with " + division.column() + " = " + written;
        }

        private Optional<Divided> divided(Changes.TableName name) {
            Table table = catalog.table(name.schema(), name.name());
            Division division = table == null ? null : references.divisions().get(table.hash());
            return table == null || division == null
                    ? Optional.empty()
                    : Optional.of(new Divided(table, division,
                            table.columns().stream().map(Table.Column::name).toList().indexOf(division.column())));
        }
    }

    /** A table with one of these object ids no class of which is among these, or null. */
    public static @Nullable String outside(List<Long> relations, ConflictClasses classes, TableCatalog catalog,
            References references) {
        for (long relation : relations) {
            Table table = catalog.table(relation);
            if (table != null
                    && DivisionClasses.all(table.hash(), references).stream().noneMatch(classes::contains)) {
                return table.displayName();
            }
        }
        return null;
    }
}
