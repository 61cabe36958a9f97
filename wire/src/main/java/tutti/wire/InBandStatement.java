package tutti.wire;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.catalog.InBandTables;
import tutti.engine.postgres.catalog.InBandTables.InBandTable;
import tutti.engine.postgres.catalog.InBandTables.Setting;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.wire.sql.LockingQuery;
import tutti.wire.sql.SqlTokens;

/**
 * A statement whose only effects on rows are those on its target table, with a column appended to its RETURNING that tells them; or a
 * query that only locks rows. Immutable.
 *
 * <p>
 * <b>What is proven.</b> INSERT, also with ON CONFLICT, UPDATE, DELETE or MERGE of one table, before which WITH may name queries that only read, without further changing words, in which
 * nothing is called but functions of the server's that are known to change nothing, and which names no function of a user's. The table
 * ({@link InBandTables}) has no triggers, rules, policies, partitions, or referential actions that could change others, and no constraint
 * that is checked later. Everything that a statement could call without naming it has been looked at there. If a proof should be
 * wrong, the captures count one row more than the node has seen, and refuse the commit.
 *
 * <p>
 * <b>The column</b> is what the capture's trigger would gather for the row: a letter, the object id of the row's own table, and the row,
 * of an update that assigns a column of some key or foreign key, or one that is GENERATED ALWAYS AS IDENTITY, or of a table without a key, both rows. Of an update that assigns none, where the table has large values, only the
 * assigned columns, the key and what others compute and compare are asked for, so that the server does not read what no change can have been made to; of small rows it costs less to
 * tell them whole (docs/decisions/0047). Of ON CONFLICT DO UPDATE, and of MERGE, the letter is that of an insertion where there is no old row, and of MERGE that of a
 * deletion where there is no new one. It begins with a letter that not every encoding has,
 * with whether the row is one of the table's own (a temporary view of its name may have a column {@code tableoid}), or that the session has
 * nothing temporary,
 * and with the settings that the row's text depends on, so that the reader sees whether it is what it has to be.
 *
 * @param target the table's object id; 0 of a query that changes nothing, less of others that tell no changes
 * @param original the client's text
 * @param text what is sent; the client's text if nothing is appended
 * @param appendedAt where the appended text begins; in the middle of a query that tells what it locks
 * @param returning whether the client has a RETURNING of its own
 * @param limitBytes most bytes of rows of a transaction
 * @param whole whether it updates rows, leaves their keys as they were, and tells them whole
 * @param version of the schema for which this holds
 */
record InBandStatement(long target, byte[] original, byte[] text, int appendedAt, boolean returning, long limitBytes,
        boolean whole, Object version) {
    /** What a row's text begins with; it is written in ASCII in the statement, so that it depends on the result's encoding only. */
    static final byte[] MARK = "\u00e9".getBytes(StandardCharsets.UTF_8);
    /** A COMMIT, which is of interest only as long as it is what it was prepared as. */
    static final InBandStatement COMMIT = new InBandStatement(0, new byte[0], new byte[0], 0, false, 0, false,
            "COMMIT");
    private static final String MARK_WRITTEN = "E'\\u00e9";
    private static final Set<String> REFUSED = Set.of("insert", "delete", "merge", "with", "conflict", "into", "call",
            "execute", "declare", "copy");
    /** What may stand before a parenthesis in a statement that changes rows, beside {@linkplain HarmlessFunctions#isHarmless harmless calls}. */
    private static final Set<String> BEFORE_PARENTHESIS = Set.of("set", "default", "into", "only");
    /** In the place of a target, of a statement with several. */
    private static final long UNTOLD = -1;
    /** In the place of a target, of a query that tells which rows it locks. */
    private static final long LOCKS = -2;
    /** The same, of one that may change something as well. */
    private static final long LOCKS_UNPROVEN = -3;

    /** A query that tells which rows it locks; proven if it changes nothing. */
    static InBandStatement locking(LockingQuery query, byte[] original, boolean proven, Object version) {
        return new InBandStatement(proven ? LOCKS : LOCKS_UNPROVEN, original, query.text(), query.at(), true, 0, false,
                version);
    }

    /** Whether its result has a column for the node, which tells the rows that it changes or locks. */
    boolean tellsRows() {
        return target > 0 || locks();
    }

    /** Whether it tells the rows that it changes. */
    boolean tellsChanges() {
        return target > 0;
    }

    /** Whether it tells the rows that it locks. */
    boolean locks() {
        return target <= LOCKS;
    }

    /** Whether it is proven what it changes. */
    boolean proven() {
        return target != LOCKS_UNPROVEN;
    }

    /** Whether it changes nothing, and tells nothing. */
    boolean changesNothing() {
        return target == 0;
    }

    /** Whether it changes rows that it does not tell, and nothing else. */
    boolean keepsRows() {
        return target == UNTOLD;
    }

    /** Whether it is sent as this one is. */
    boolean sameAs(@Nullable InBandStatement other) {
        return other != null && target == other.target && Arrays.equals(text, other.text);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof InBandStatement that && sameAs(that) && version.equals(that.version);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(text);
    }

    @Override
    public String toString() {
        return new String(text, StandardCharsets.UTF_8);
    }

    /**
     * Proves a statement.
     *
     * @param sql in UTF-8, as long as this
     * @param leaveOut of which tables columns that are not assigned are not told
     * @return null if that cannot be
     */
    static @Nullable InBandStatement of(byte[] sql, int length, StatementContext speaker, InBandTables tables,
            TableCatalog catalog, Predicate<InBandTable> leaveOut, Object version) {
        return new Proof(sql, length, speaker, tables, catalog, leaveOut).statement(version);
    }

    private static final class Proof {
        private final byte[] sql;
        private final int length;
        private final InBandTables tables;
        private final TableCatalog catalog;
        private final Predicate<InBandTable> leaveOut;
        private final StatementContext speaker;
        /** Whether it may change several tables, which have been looked at. */
        private boolean severalTargets;
        private int[] kinds = new int[64];
        private int[] starts = new int[64];
        private int[] ends = new int[64];
        private int count;
        private int at;
        private boolean returning;
        private boolean namesVersions;
        private boolean several;
        private int depth;
        /** Whether it inserts into one table, and where the UPDATE of its ON CONFLICT is; 0 if there is none. */
        private boolean inserts;
        private int updatesAt;
        /** Whether it merges into one table, and where the UPDATEs of its WHEN clauses are. */
        private boolean merges;
        private final List<Integer> mergedAt = new ArrayList<>();
        /** The columns that an update assigns. */
        private final Set<String> assigned = new HashSet<>();

        Proof(byte[] sql, int length, StatementContext speaker, InBandTables tables, TableCatalog catalog,
                Predicate<InBandTable> leaveOut) {
            this.sql = sql;
            this.length = length;
            this.tables = tables;
            this.catalog = catalog;
            this.leaveOut = leaveOut;
            this.speaker = speaker;
            read(speaker.standardStrings());
        }

        private void read(boolean standardStrings) {
            SqlTokens tokens = new SqlTokens();
            tokens.reset(sql, 0, length, standardStrings);
            boolean over = false;
            for (int kind = tokens.next(); kind != SqlTokens.END; kind = tokens.next()) {
                over |= kind == ';';
                several |= over && kind != ';';
                if (over) {
                    continue;
                }
                if (count == kinds.length) {
                    kinds = Arrays.copyOf(kinds, 2 * count);
                    starts = Arrays.copyOf(starts, 2 * count);
                    ends = Arrays.copyOf(ends, 2 * count);
                }
                kinds[count] = kind;
                starts[count] = tokens.start();
                ends[count++] = tokens.position();
            }
        }

        // -------------------------------------------------------------------------------------- tokens

        private String raw(int token) {
            return new String(sql, starts[token], ends[token] - starts[token], StandardCharsets.UTF_8);
        }

        private boolean is(int token, char punctuation) {
            return token < count && kinds[token] == punctuation;
        }

        /** A word in lower case, as the server makes it; otherwise empty. */
        private String word(int token) {
            if (token >= count || kinds[token] != SqlTokens.WORD) {
                return "";
            }
            char[] letters = raw(token).toCharArray();
            for (int i = 0; i < letters.length; i++) {
                if (letters[i] >= 'A' && letters[i] <= 'Z') {
                    letters[i] = (char) (letters[i] | 0x20);
                }
            }
            return new String(letters);
        }

        /** An identifier as the server understands it; null if the token is none, or not a plain one, or may be so long that the server cuts it. */
        private @Nullable String name(int token) {
            if (token >= count || ends[token] - starts[token] > SqlTokens.NAME_BYTES_MAX) {
                return null;
            }
            if (kinds[token] == SqlTokens.WORD) {
                String word = word(token);
                return word.chars().allMatch(letter -> letter < 0x80) ? word : null;
            }
            String raw = raw(token);
            return kinds[token] == SqlTokens.QUOTED && raw.length() > 2 && raw.startsWith("\"") && raw.endsWith("\"")
                    ? raw.substring(1, raw.length() - 1).replace("\"\"", "\"")
                    : null;
        }

        private boolean accept(String word) {
            if (word(at).equals(word)) {
                at++;
                return true;
            }
            return false;
        }

        // -------------------------------------------------------------------------------------- the statement

        @Nullable
        InBandStatement statement(Object version) {
            return switch (several ? "" : word(0)) {
                case "insert", "update", "delete", "merge" -> change(0, version);
                case "select" -> {
                    at = 1;
                    yield harmless("", count) && !returning ? unchanged(0, version) : null;
                }
                case "with" -> {
                    int change = behindReads();
                    InBandStatement told = change == 0 ? null : change(change, version);
                    yield told != null
                            ? told
                            : new Proof(sql, length, speaker, tables, catalog, leaveOut).several(version);
                }
                default -> null;
            };
        }

        /** Of one that may change several tables. */
        private @Nullable InBandStatement several(Object version) {
            return targets() && harmless("", count) ? unchanged(UNTOLD, version) : null;
        }

        /** Where an INSERT, UPDATE, DELETE or MERGE begins behind queries that WITH names and that only read; 0 if there is something else. */
        private int behindReads() {
            at = word(1).equals("recursive") && !word(2).equals("as") && !is(2, '(') ? 2 : 1;
            do {
                int as = is(at + 1, '(') ? behind(at + 1) : at + 1;
                int body = as + 1;
                if (word(body).equals("not") || word(body).equals("materialized")) {
                    body += word(body).equals("not") ? 2 : 1;
                }
                if (name(at) == null || !word(as).equals("as") || !is(body, '(')
                        || !Set.of("select", "values").contains(word(body + 1))) {
                    return 0;
                }
                at = body + 1;
                depth = 1;
                int end = behind(body);
                if (!harmless("", end)) {
                    return 0;
                }
            } while (is(at++, ','));
            return Set.of("insert", "update", "delete", "merge").contains(word(at - 1)) ? at - 1 : 0;
        }

        /** Where what stands in the parentheses that open here is over. */
        private int behind(int parenthesis) {
            int inside = 0;
            int token = parenthesis;
            do {
                inside += is(token, '(') ? 1 : is(token, ')') ? -1 : 0;
                token++;
            } while (inside > 0 && token < count);
            return token;
        }

        private InBandStatement unchanged(long target, Object version) {
            byte[] same = Arrays.copyOf(sql, length);
            return new InBandStatement(target, same, same, length, true, tables.limitBytes(), false, version);
        }

        /** Whether each table that is changed anywhere in it is one whose changes have no effects on anything else. */
        private boolean targets() {
            severalTargets = true;
            at = 1;
            for (int i = 1; i < count; i++) {
                int first = switch (word(i)) {
                    case "insert" -> word(i + 1).equals("into") ? i + 2 : count;
                    case "delete" -> word(i + 1).equals("from") ? i + 2 : count;
                    case "update" -> locks(word(i - 1)) ? 0 : i + 1;
                    default -> 0;
                };
                if (first > 0 && !isTarget(word(first).equals("only") ? first + 1 : first)) {
                    return false;
                }
            }
            return true;
        }

        private boolean isTarget(int first) {
            boolean qualified = is(first + 1, '.');
            String name = name(qualified ? first + 2 : first);
            InBandTable known = name == null ? null : tables.table(qualified ? name(first) : null, name);
            return known != null && known.deletes() && known.rekeys();
        }

        /** Whether UPDATE stands behind this in a clause that locks rows. */
        private static boolean locks(String before) {
            return before.equals("for") || before.equals("key");
        }

        /** @param first where it begins */
        private @Nullable InBandStatement change(int first, Object version) {
            String operation = word(first);
            at = first + 1;
            inserts = operation.equals("insert");
            merges = operation.equals("merge");
            boolean target = switch (operation) {
                case "insert", "merge" -> accept("into");
                case "delete" -> accept("from");
                default -> true;
            };
            if (!target) {
                return null;
            }
            accept("only");
            String schema = null;
            String name = name(at);
            if (is(at + 1, '.')) {
                schema = name;
                at += 2;
                name = name(at);
            }
            int named = at++;
            int reference = named;
            InBandTable known = name == null ? null : tables.table(schema, name);
            Table table = known == null ? null : catalog.table(known.oid());
            if (known == null || table == null || is(at, '.') || !known.readers().contains(speaker.role())) {
                return null;
            }
            if (is(at, '*')) {
                at++;
            }
            boolean as = accept("as");
            if (as || !(inserts || Set.of("set", "using", "where", "returning", "")
                    .contains(word(at))) || (at < count && kinds[at] == SqlTokens.QUOTED)) {
                if (name(at) == null || (inserts && !as)) {
                    return null;
                }
                reference = at++;
            }
            if (inserts && is(at, '(')) {
                at++;
                depth = 1;
            }
            int rest = at;
            if (!harmless(reference == named ? name : "", count)) {
                return null;
            }
            String entry = entry(operation, table, rest);
            // whether a key has changed is asked by triggers where both rows would be read for it
            boolean tellsVersions = !leaveOut.test(known) && !namesVersions && !isVersion(name)
                    && !isVersion(name(reference));
            boolean told = switch (entry) {
                case "k" -> known.rekeys() && tellsVersions && (!merges || known.deletes());
                case "u" -> merges ? known.deletes() && tellsVersions : updatesAt == 0 || tellsVersions;
                case "d" -> known.deletes();
                default -> !entry.isEmpty();
            };
            // With its schema, where it is so called: something else of its name may stand beside it, without a schema.
            String called = reference == named && schema != null
                    ? raw(named - 2) + "." + raw(named)
                    : raw(reference);
            return !told
                    ? null
                    : with(append(known, table, entry, called), known,
                            entry.equals("u") && !leaveOut.test(known), version);
        }

        private static boolean isVersion(@Nullable String name) {
            return "old".equals(name) || "new".equals(name);
        }

        /** Whether what stands from here to there calls nothing that could change anything, and closes what is open. */
        private boolean harmless(String target, int end) {
            boolean catalogued = false;
            for (; at < end; at++) {
                int kind = kinds[at];
                depth += kind == '(' || kind == '[' ? 1 : kind == ')' || kind == ']' ? -1 : 0;
                if (depth < 0) {
                    return false;
                }
                boolean qualified = at > 0 && kinds[at - 1] == '.';
                if (kind == SqlTokens.WORD || kind == SqlTokens.QUOTED) {
                    String name = name(at);
                    if (name == null || tables.functions().contains(name) || (qualified && name.equals(target))) {
                        return false;
                    }
                    namesVersions |= isVersion(name);
                    boolean calls = is(at + 1, '(');
                    if (kind == SqlTokens.QUOTED ? calls : !word(name, qualified, catalogued, calls)) {
                        return false;
                    }
                    catalogued = kind == SqlTokens.WORD && name.equals("pg_catalog") && !qualified;
                }
            }
            return depth == 0;
        }

        private boolean word(String word, boolean qualified, boolean catalogued, boolean calls) {
            if (qualified) {
                return !calls || (catalogued && HarmlessFunctions.isHarmless(word));
            }
            String before = word(at - 1);
            if (merges && depth == 0 && before.equals("then")) {
                if (word.equals("update")) {
                    mergedAt.add(at);
                }
                return !calls || word.equals("insert");
            }
            if (word.equals("update")) {
                if (inserts && depth == 0 && before.equals("do") && updatesAt == 0) {
                    updatesAt = at;
                    return true;
                }
                return severalTargets || locks(before);
            }
            if (REFUSED.contains(word)) {
                return switch (word) {
                    case "with" -> is(at - 1, ')') && word(at + 1).equals("ordinality");
                    case "into" -> severalTargets && before.equals("insert");
                    case "insert", "delete" -> severalTargets;
                    case "conflict" -> inserts && depth == 0 && before.equals("on");
                    default -> false;
                };
            }
            if (word.equals("returning") && depth == 0) {
                boolean first = !returning;
                returning = true;
                return first;
            }
            return !calls || BEFORE_PARENTHESIS.contains(word) || HarmlessFunctions.isHarmless(word)
                    || (merges && word.equals("merge_action"))
                    || (severalTargets && before.equals("into")) || (before.equals("as") && namesColumns(at + 1));
        }

        /** Whether here begins a list of nothing but names, as behind the alias of what stands in a FROM. */
        private boolean namesColumns(int parenthesis) {
            int i = parenthesis;
            do {
                if (name(i + 1) == null) {
                    return false;
                }
                i += 2;
            } while (is(i, ','));
            return is(i, ')');
        }

        /** The letter of its entries; empty if it is not understood. */
        private String entry(String operation, Table table, int from) {
            List<Integer> sets = switch (operation) {
                case "merge" -> mergedAt.stream().map(update -> update + 1).toList();
                case "update" -> List.of(from);
                default -> updatesAt == 0 ? List.of() : List.of(updatesAt + 1);
            };
            if (sets.isEmpty() && !merges) {
                return operation.substring(0, 1);
            }
            if (!sets.stream().allMatch(set -> word(set).equals("set") && assignments(set + 1))) {
                return "";
            }
            List<Table.Column> columns = table.columns();
            boolean rekeys = !table.hasKey() || columns.stream()
                    .anyMatch(column -> column.identityAlways() && assigned.contains(column.name()))
                    || java.util.stream.Stream.concat(
                            table.uniqueKeys().stream().flatMap(key -> key.watched().stream()),
                            table.foreignKeys().stream().flatMap(key -> key.columns().stream()))
                            .map(columns::get)
                            .anyMatch(column -> column.generated() || assigned.contains(column.name()));
            return rekeys ? "k" : "u";
        }

        /** The names of the columns that are assigned. */
        private boolean assignments(int from) {
            int inside = 0;
            int cases = 0;
            boolean begins = true;
            boolean list = false;
            for (int i = from; i < count; i++) {
                String word = inside == 0 ? word(i) : "";
                cases += word.equals("case") ? 1 : word.equals("end") ? -1 : 0;
                if (word.equals("where") || word.equals("returning") || (merges && cases == 0 && word.equals("when"))
                        || (word.equals("from") && !word(i - 1).equals("distinct"))) {
                    return !begins;
                }
                if (begins && is(i, '(')) {
                    list = true;
                } else if (begins || (list && (kinds[i] == SqlTokens.WORD || kinds[i] == SqlTokens.QUOTED))) {
                    String name = name(i);
                    if (name == null) {
                        return false;
                    }
                    assigned.add(name);
                }
                inside += is(i, '(') || is(i, '[') ? 1 : is(i, ')') || is(i, ']') ? -1 : 0;
                list &= inside > 0;
                begins = inside == 0 && is(i, ',');
            }
            return !begins;
        }

        // -------------------------------------------------------------------------------------- the column

        private String append(InBandTable table, Table columns, String entry, String reference) {
            StringBuilder out = new StringBuilder(returning ? ", " : " RETURNING ").append("pg_catalog.concat(")
                    .append(MARK_WRITTEN);
            if (speaker.temporaries()) {
                out.append(LockingQuery.OF_TABLE).append("', ")
                        .append(LockingQuery.isOwn(reference, table.rowType())).append(", ';");
            } else {
                out.append(InBandRows.TEMPORARIES).append("', pg_catalog.pg_my_temp_schema(), ';");
            }
            for (Setting setting : Setting.values()) {
                if (table.settings().contains(setting)) {
                    out.append(setting.letter()).append("', pg_catalog.current_setting('").append(setting.variable())
                            .append("'), ';");
                }
            }
            if (entry.equals("u") && leaveOut.test(table)) {
                return assigned(out, table, columns, reference).append(')').toString();
            }
            if (updatesAt == 0 && !merges) {
                out.append(entry).append("', ");
            } else {
                out.append("', CASE WHEN old.tableoid IS NULL THEN 'i'").append(merges
                        ? " WHEN new.tableoid IS NULL THEN 'd'"
                        : "").append(" ELSE '").append(entry).append("' END, ");
            }
            out.append(reference).append(".tableoid, ");
            return (entry.equals("k") ? out.append("old.*, new.*") : out.append(reference).append(".*")).append(')')
                    .toString();
        }

        /** The row with nothing in the place of what is not assigned, nor of the key, nor compared by others. */
        private StringBuilder assigned(StringBuilder out, InBandTable known, Table table, String reference) {
            StringBuilder leftOut = new StringBuilder();
            StringBuilder row = new StringBuilder();
            List<Table.Column> columns = table.columns();
            for (int i = 0; i < columns.size(); i++) {
                row.append(i == 0 ? "ROW(" : ", ");
                if (assigned.contains(columns.get(i).name()) || table.key().columns().contains(i)
                        || known.computed().contains(i)) {
                    row.append(reference).append('.').append(Table.quote(columns.get(i).name()));
                } else {
                    row.append("NULL");
                    leftOut.append(leftOut.isEmpty() ? "" : ",").append(i);
                }
            }
            row.append(')');
            return out.append("p', ").append(reference).append(".tableoid, '-").append(leftOut).append(";', ")
                    .append(row);
        }

        private InBandStatement with(String appended, InBandTable table, boolean whole, Object version) {
            int end = ends[count - 1];
            ByteArrayOutputStream out = new ByteArrayOutputStream(length + appended.length());
            out.write(sql, 0, end);
            out.writeBytes(appended.getBytes(StandardCharsets.UTF_8));
            out.write(sql, end, length - end);
            return new InBandStatement(table.oid(), Arrays.copyOf(sql, length), out.toByteArray(), end, returning,
                    tables.limitBytes(), whole, version);
        }
    }
}
