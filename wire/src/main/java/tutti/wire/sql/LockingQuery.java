package tutti.wire.sql;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.RowLock;
import tutti.engine.postgres.capture.LockedRows;
import tutti.engine.postgres.catalog.InBandQuery;
import tutti.engine.postgres.catalog.InBandTables.Lockable;
import tutti.engine.postgres.catalog.InBandTables.Lockables;
import tutti.engine.postgres.catalog.InBandTables.Setting;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.TableCatalog;

/**
 * A SELECT with a locking clause, with a column behind its own that tells the keys of the rows that it locks (docs/decisions/0128). Immutable.
 *
 * <p>
 * <b>Why that can be appended.</b> Where rows are locked PostgreSQL allows no DISTINCT, GROUP BY, aggregate, window, set operation or function that returns sets in the
 * target list, so each row of the result is made of one row of each table, and one column more changes neither which rows there are nor their order. It
 * checks that before it looks at what the target list means, so a statement that it refuses is refused alike.
 *
 * <p>
 * <b>What is understood.</b> Tables by their names in FROM, joined in any way; each that is locked has a primary key, or what comes to one, is no other's parent, and may be
 * read by the session's role. Everything else (a view, a subquery, a function or a parenthesis in FROM, WITH, UNION) is understood only if the clause names tables (OF),
 * and these are such ones.
 *
 * @param text what is sent
 * @param at where the column is inserted in the client's text, in bytes
 * @param inserted how many characters are
 */
public record LockingQuery(byte[] text, int at, int inserted) {
    private static final Set<String> ENDS_FROM = Set.of("where", "group", "having", "window", "order", "limit",
            "offset", "fetch", "for");
    private static final Set<String> JOINS = Set.of("join", "inner", "left", "right", "full", "outer", "cross",
            "natural", "on", "using", "tablesample", "lateral");
    private static final long SELECT = SqlTokens.key("select");
    private static final Set<String> STRENGTHS = Set.of("update", "no", "share", "key");
    private static final Set<String> NOT_UNDERSTOOD = Set.of("into", "union", "intersect", "except", "distinct");

    /** What the column begins with, behind {@code é}: no entry of a captured change does. */
    public static final char MARK = 'm';

    /** The letter of what says whether rows are those of the tables that the statement has been taken to name. */
    public static final char OF_TABLE = 'T';

    /** Keeps the array, which must not be modified. */
    public LockingQuery {}

    /**
     * In SQL, whether a name in a statement stands for a relation with this type of rows. A temporary view of a table's name has another one, whatever its columns are called. No
     * row is read for it: the server makes a NULL of the condition's expression when it plans.
     *
     * @param reference the name, as SQL has it
     * @param rowType object id of the type
     */
    public static String isOwn(String reference, long rowType) {
        return "pg_catalog.pg_typeof(CASE WHEN false THEN " + reference + ".* END) OPERATOR(pg_catalog.=) '" + rowType
                + "'::pg_catalog.regtype";
    }

    /**
     * Looks at a statement.
     *
     * @param sql in UTF-8, as long as this
     * @param role as which it is executed
     * @return null if it has no locking clause, or is not understood
     */
    public static @Nullable LockingQuery of(byte[] sql, int length, boolean standardStrings, TableCatalog catalog,
            Lockables lockable, String role) {
        return new Reading(sql, length, standardStrings, catalog, lockable, role).read();
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof LockingQuery that && java.util.Arrays.equals(text, that.text);
    }

    @Override
    public int hashCode() {
        return java.util.Arrays.hashCode(text);
    }

    @Override
    public String toString() {
        return new String(text, StandardCharsets.UTF_8);
    }

    /**
     * @param table null if it is not understood
     * @param rowType the object id of its rows' type
     */
    private record Item(@Nullable Table table, long rowType, String reference) {}

    private static final class Reading {
        private final byte[] sql;
        private final int length;
        private final TableCatalog catalog;
        private final Lockables lockable;
        private final String role;
        private final List<Integer> kinds = new ArrayList<>();
        private final List<String> texts = new ArrayList<>();
        private final List<Integer> starts = new ArrayList<>();
        private final List<Integer> ends = new ArrayList<>();
        private final Map<String, Item> items = new LinkedHashMap<>();
        private boolean unknownItem;
        private int at;

        Reading(byte[] sql, int length, boolean standardStrings, TableCatalog catalog, Lockables lockable,
                String role) {
            this.sql = sql;
            this.length = length;
            this.catalog = catalog;
            this.lockable = lockable;
            this.role = role;
            SqlTokens tokens = new SqlTokens();
            tokens.reset(sql, 0, length, standardStrings);
            for (int kind = tokens.next(); kind != SqlTokens.END
                    && (!kinds.isEmpty() || isSelect(tokens, kind)); kind = tokens
                            .next()) {
                kinds.add(kind);
                String raw = new String(sql, tokens.start(), tokens.position() - tokens.start(),
                        StandardCharsets.UTF_8);
                texts.add(kind == SqlTokens.WORD ? SqlText.lowerCase(raw) : raw);
                starts.add(tokens.start());
                ends.add(tokens.position());
            }
            while (!kinds.isEmpty() && kinds.getLast() == ';') {
                kinds.removeLast();
            }
        }

        private static boolean isSelect(SqlTokens tokens, int kind) {
            return kind == SqlTokens.WORD && tokens.word() == SELECT;
        }

        /** A word that is not the name of a column behind a point or AS. */
        private boolean keyword(int token, Set<String> words) {
            return wordOf(token, words) && !is(token - 1, '.') && !word(token - 1, "as");
        }

        /** Whether a locking clause begins here. */
        private boolean locks(int token) {
            return keyword(token, Set.of("for")) && wordOf(token + 1, STRENGTHS);
        }

        private boolean word(int token, String word) {
            return token < kinds.size() && kinds.get(token) == SqlTokens.WORD && texts.get(token).equals(word);
        }

        private boolean wordOf(int token, Set<String> words) {
            return token < kinds.size() && kinds.get(token) == SqlTokens.WORD && words.contains(texts.get(token));
        }

        private boolean is(int token, char punctuation) {
            return token < kinds.size() && kinds.get(token) == punctuation;
        }

        private @Nullable String name(int token) {
            if (token >= kinds.size()) {
                return null;
            }
            String raw = texts.get(token);
            if (kinds.get(token) == SqlTokens.WORD) {
                return raw.chars().allMatch(letter -> letter < 0x80) ? raw : null;
            }
            return kinds.get(token) == SqlTokens.QUOTED && raw.length() > 2 && raw.startsWith("\"")
                    ? raw.substring(1, raw.length() - 1).replace("\"\"", "\"")
                    : null;
        }

        /** What an item is called, or what takes that name's place where the name is not understood. */
        private String label(int token) {
            String name = name(token);
            return name == null ? "\0" + texts.get(token) : name;
        }

        @Nullable
        LockingQuery read() {
            if (!word(0, "select") || kinds.contains((int) ';')) {
                return null;
            }
            int from = 0;
            int clause = 0;
            int depth = 0;
            for (int i = 1; i < kinds.size(); i++) {
                depth += is(i, '(') || is(i, '[') ? 1 : is(i, ')') || is(i, ']') ? -1 : 0;
                if (depth != 0) {
                    continue;
                }
                boolean compares = word(i, "distinct") && word(i + 1, "from");
                if (keyword(i, NOT_UNDERSTOOD) && !compares) {
                    return null;
                }
                if (from == 0 && keyword(i, Set.of("from")) && !word(i - 1, "distinct")) {
                    from = i;
                }
                if (clause == 0 && locks(i)) {
                    clause = i;
                }
            }
            if (from < 2 || clause < from || depth != 0) {
                return null;
            }
            at = from + 1;
            items();
            Map<String, RowLock> locked = clauses(clause);
            return locked == null || locked.isEmpty() ? null : with(from, locked);
        }

        // -------------------------------------------------------------------------------------- FROM

        private void items() {
            boolean expected = true;
            while (at < kinds.size() && !keyword(at, ENDS_FROM)) {
                if (expected && !word(at, "only") && !word(at, "lateral")) {
                    item();
                    expected = false;
                } else {
                    expected |= is(at, ',') || word(at, "join");
                    step();
                }
            }
        }

        /** Over a token, or all between two parentheses. */
        private void step() {
            int depth = 0;
            do {
                depth += is(at, '(') || is(at, '[') ? 1 : is(at, ')') || is(at, ']') ? -1 : 0;
                at++;
            } while (depth > 0 && at < kinds.size());
        }

        private void item() {
            String schema = null;
            String name = name(at);
            if (name == null) {
                unknownItem = true;
                step();
                alias();
                return;
            }
            int named = at++;
            if (is(at, '.')) {
                schema = name;
                name = name(at + 1);
                named = at + 1;
                at += 2;
            }
            boolean plain = name != null && !is(at, '.') && !is(at, '(');
            if (is(at, '*')) {
                at++;
            }
            if (!plain && is(at, '(')) {
                step();
            }
            int alias = alias();
            plain &= !is(at, '('); // its columns have other names
            int reference = alias < 0 ? named : alias;
            Lockable found = plain ? lockable.table(schema, String.valueOf(name)) : null;
            Item item = found == null
                    ? new Item(null, 0, raw(reference))
                    : new Item(table(found), found.rowType(), raw(reference));
            unknownItem |= item.table() == null || items.containsKey(label(reference));
            items.merge(label(reference), item, (one, _) -> new Item(null, 0, one.reference()));
        }

        /** Steps over what the item is called; where that stands, or -1. */
        private int alias() {
            boolean as = word(at, "as");
            if (as) {
                at++;
            }
            boolean named = at < kinds.size()
                    && (kinds.get(at) == SqlTokens.WORD || kinds.get(at) == SqlTokens.QUOTED);
            return named && (as || (!wordOf(at, ENDS_FROM) && !wordOf(at, JOINS))) ? at++ : -1;
        }

        private @Nullable Table table(Lockable found) {
            Table table = found.readers().contains(role) ? catalog.table(found.oid()) : null;
            return table == null || !table.hasKey() || table.key().columns().isEmpty() ? null : table;
        }

        private String raw(int token) {
            return new String(sql, starts.get(token), ends.get(token) - starts.get(token), StandardCharsets.UTF_8);
        }

        // -------------------------------------------------------------------------------------- the clauses

        /** How each item that is locked is; null if that is not understood. */
        private @Nullable Map<String, RowLock> clauses(int first) {
            Map<String, RowLock> locked = new LinkedHashMap<>();
            at = first;
            while (word(at, "for")) {
                at++;
                RowLock strength = strength();
                if (strength == null) {
                    return null;
                }
                List<String> names = new ArrayList<>();
                if (word(at, "of")) {
                    do {
                        if (++at >= kinds.size()) {
                            return null;
                        }
                        names.add(label(at++));
                    } while (is(at, ','));
                } else if (unknownItem) {
                    return null;
                } else {
                    names.addAll(items.keySet());
                }
                for (String name : names) {
                    Item item = items.get(name);
                    if (item == null || item.table() == null) {
                        return null;
                    }
                    locked.merge(name, strength, (one, other) -> one.compareTo(other) < 0 ? one : other);
                }
                if (word(at, "nowait")) {
                    at++;
                } else if (word(at, "skip") && word(at + 1, "locked")) {
                    at += 2;
                }
            }
            // LIMIT and OFFSET may follow; a clause behind them would not be seen
            for (; at < kinds.size(); at++) {
                if (locks(at)) {
                    return null;
                }
            }
            return locked;
        }

        private @Nullable RowLock strength() {
            for (RowLock strength : EnumSet.allOf(RowLock.class)) {
                String[] words = strength.name().toLowerCase(Locale.ROOT).split("_", -1);
                boolean here = true;
                for (int i = 0; i < words.length; i++) {
                    here &= word(at + i, words[i]);
                }
                if (here) {
                    at += words.length;
                    return strength;
                }
            }
            return null;
        }

        // -------------------------------------------------------------------------------------- the column

        private LockingQuery with(int from, Map<String, RowLock> locked) {
            StringBuilder column = new StringBuilder(", pg_catalog.concat(E'\\u00e9").append(MARK).append('\'');
            Set<Setting> settings = EnumSet.noneOf(Setting.class);
            StringBuilder own = new StringBuilder();
            StringBuilder entries = new StringBuilder();
            locked.forEach((name, strength) -> {
                Item item = java.util.Objects.requireNonNull(items.get(name));
                Table table = java.util.Objects.requireNonNull(item.table());
                own.append(own.isEmpty() ? "" : " AND ").append(isOwn(item.reference(), item.rowType()));
                entries.append(", '").append(LockedRows.letter(strength)).append("', ").append(item.reference())
                        .append(".tableoid, ROW(");
                for (int i = 0; i < table.key().columns().size(); i++) {
                    Table.Column key = table.columns().get(table.key().columns().get(i));
                    settings.addAll(InBandQuery.settings(key));
                    entries.append(i == 0 ? "" : ", ").append(item.reference()).append('.')
                            .append(Table.quote(key.name()));
                }
                entries.append(')');
            });
            column.append(", '").append(OF_TABLE).append("', ").append(own).append(", ';'");
            for (Setting setting : settings) {
                column.append(", '").append(setting.letter()).append("', pg_catalog.current_setting('")
                        .append(setting.variable()).append("'), ';'");
            }
            column.append(entries).append(')');
            int place = ends.get(from - 1);
            byte[] bytes = column.toString().getBytes(StandardCharsets.UTF_8);
            ByteArrayOutputStream out = new ByteArrayOutputStream(length + bytes.length);
            out.write(sql, 0, place);
            out.writeBytes(bytes);
            out.write(sql, place, length - place);
            return new LockingQuery(out.toByteArray(), place, column.codePointCount(0, column.length()));
        }
    }
}
