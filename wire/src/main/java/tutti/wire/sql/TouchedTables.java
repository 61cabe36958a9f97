package tutti.wire.sql;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.catalog.References;
import tutti.engine.postgres.catalog.References.Named;

/**
 * Computes which tables a statement may touch: all whose name it mentions anywhere, whatever for, and all that views, functions,
 * triggers, policies, defaults, cascades and partitions of what it mentions mention in turn. A name that stands for a column
 * or an alias as well is counted too: too much is never wrong here.
 *
 * <p>
 * <b>Why nothing is missed.</b> PostgreSQL finds a table by a name in a text: in the statement's own, or in one that is kept
 * in the catalog and looked at through {@link References}. What builds names while it runs (EXECUTE in PL/pgSQL, functions of
 * pg_catalog that take SQL or names of tables as strings, prepared statements run by name) or cannot be looked into
 * (functions in other languages) is taken to touch everything, and so is what uses large objects. Strings in function bodies are read as SQL as well.
 */
final class TouchedTables {
    private static final Set<String> BY_STRING = Set.of("execute", "query_to_xml", "query_to_xml_and_xmlschema",
            "query_to_xmlschema", "cursor_to_xml", "cursor_to_xmlschema", "table_to_xml", "table_to_xml_and_xmlschema",
            "schema_to_xml", "schema_to_xml_and_xmlschema", "database_to_xml", "database_to_xml_and_xmlschema",
            "ts_stat", "ts_rewrite", "refcursor");
    /** Functions that use large objects, which stand in no table that a statement names. */
    private static final Set<String> LARGE_OBJECTS = Set.of("lo_get", "lo_open", "loread", "lo_put", "lo_create",
            "lo_creat",
            "lo_from_bytea", "lo_unlink", "lo_export", "lowrite", "lo_truncate", "lo_truncate64", "lo_lseek",
            "lo_lseek64", "lo_manage");
    private static final int NESTED_MAX = 64;
    private static final Set<String> INSERTS = Set.of("insert", "merge", "copy", "default");
    /** Functions that are stable within a transaction and differ from one to the next, or from session to session. */
    private static final Set<String> OF_THE_MOMENT = Set.of("now", "age", "statement_timestamp",
            "transaction_timestamp",
            "pg_current_xact_id", "txid_current_snapshot", "pg_current_snapshot", "inet_client_addr",
            "inet_client_port",
            "inet_server_addr", "inet_server_port", "current_setting", "version", "pg_my_temp_schema",
            "current_query", "txid_current", "txid_current_if_assigned", "mxid_age", "tutti_position", "to_regclass",
            "to_regproc", "to_regprocedure", "to_regoper", "to_regoperator", "to_regtype", "to_regrole",
            "to_regnamespace", "to_regcollation");
    private static final Set<String> WORDS_OF_THE_MOMENT = Set.of("current_timestamp", "current_date", "current_time",
            "localtime", "localtimestamp", "tablesample", "skip", "nowait", "ctid", "xmin", "xmax", "cmin", "cmax",
            "tableoid", "tg_relid", "session_user", "system_user", "information_schema");
    /** With these begin the names of catalogs, and of functions that tell of one server; its numbers of things are its own. */
    private static final String OF_THE_SERVER = "pg_";
    private static final Set<String> OF_ANY_SERVER = Set.of("pg_catalog", "pg_typeof", "pg_input_is_valid",
            "pg_input_error_info", "pg_size_pretty", "pg_size_bytes", "pg_has_role");
    /** Types whose values are such numbers. */
    private static final Set<String> NUMBERED = Set.of("regclass", "regproc", "regprocedure", "regoper", "regoperator",
            "regtype", "regrole", "regnamespace", "regcollation", "regconfig", "regdictionary");
    private static final Set<String> NUMBERS = Set.of("oid", "int", "int4", "int8", "integer", "bigint");
    /** What depends on the order of rows. */
    private static final Set<String> BY_ORDER = Set.of("limit", "offset", "fetch", "array_agg", "string_agg",
            "json_agg",
            "jsonb_agg", "json_object_agg", "jsonb_object_agg", "xmlagg", "row_number", "first_value", "last_value",
            "nth_value", "lag", "lead", "ntile", "distinct", "any_value");

    private enum How {
        DIRECT, BROUGHT, CASCADED
    }

    /** What varies in SQL that cannot be looked into. */
    static final String UNKNOWN = "SQL that is not known before it runs, or large objects";
    private final References references;
    private final Set<Long> direct = new HashSet<>();
    private final Set<Long> brought = new HashSet<>();
    private final Set<Long> cascaded = new HashSet<>();
    private final Set<String> seen = new HashSet<>();
    private final Set<String> withDefaults = new HashSet<>();
    private final Set<String> defaultsSeen = new HashSet<>();
    private boolean inserts;
    private boolean everything;
    private @Nullable String varying;

    /** Whether functions that say what they touch are believed, and not looked into. */
    private final boolean believing;
    private boolean vouched;
    private final List<Part> parts = new ArrayList<>();

    /** Whether tables that the statement itself names are only read: neither triggers, rules, defaults nor foreign keys run then. */
    private final boolean reading;

    private TouchedTables(References references, boolean believing) {
        this(references, believing, false);
    }

    private TouchedTables(References references, boolean believing, boolean reading) {
        this.references = references;
        this.believing = believing;
        this.reading = reading;
        this.everything = references.opaque();
    }

    /**
     * Keys of tables.
     *
     * @param direct those whose names stand in the statement itself
     * @param brought those that come along with something else, also if they are named as well
     * @param cascaded those that foreign keys change along with others. They are not read: that no child has come or gone
     *            is certain from the parent's key, which the child's write set refers to
     * @param vouched whether some of it is what a function says that it touches
     * @param parts of which a function says that it touches some rows only
     */
    record Tables(Set<Long> direct, Set<Long> brought, Set<Long> cascaded, boolean vouched, List<Part> parts) {}

    /**
     * Rows of tables of which a function says that it touches them.
     *
     * @param tables their keys
     * @param function that says it, if its arguments stand in the statement
     * @param value of the column that divides them: a literal, or a number of one of the function's arguments
     */
    record Part(Set<Long> tables, @Nullable String function, SqlText.Token value) {}

    /** The tables that a statement may touch; null if that may be any. */
    static @Nullable Tables of(List<SqlText.Token> tokens, References references) {
        return of(tokens, new TouchedTables(references, false));
    }

    /** The same, where functions of which it is declared what they touch are believed. */
    static @Nullable Tables declared(List<SqlText.Token> tokens, References references) {
        return of(tokens, new TouchedTables(references, true));
    }

    private static @Nullable Tables of(List<SqlText.Token> tokens, TouchedTables footprint) {
        boolean body = tokens.stream().findFirst().filter(first -> first.isWord("do")).isPresent();
        footprint.add(tokens, body, 0);
        footprint.addDefaults();
        return footprint.everything
                ? null
                : new Tables(footprint.direct, footprint.brought, footprint.cascaded, footprint.vouched,
                        footprint.parts);
    }

    /**
     * What in a statement may have another result at another replica, though that has the same tables, or null if nothing:
     * volatile functions and those of the moment, values of sequences, physical places of rows, what tells of one server or of its catalogs, what depends on the order of
     * rows without giving one, and SQL that cannot be looked into. (Sums of binary floating point numbers, which depend on
     * the order of rows in their last digits, are not noticed.)
     */
    static @Nullable String varying(List<SqlText.Token> tokens, References references) {
        TouchedTables footprint = new TouchedTables(references, false);
        footprint.name(References.UNNAMED, How.BROUGHT, 1);
        footprint.add(tokens, tokens.stream().findFirst().filter(first -> first.isWord("do")).isPresent(), 0);
        footprint.addDefaults();
        return footprint.varying != null
                ? footprint.varying
                : footprint.everything ? UNKNOWN : null;
    }

    /**
     * The same, of a statement that reads tables and writes none but the one that it makes.
     *
     * @return {@link #UNKNOWN} if there is SQL in it that cannot be looked into
     */
    static @Nullable String varyingRows(List<SqlText.Token> tokens, References references) {
        TouchedTables footprint = new TouchedTables(references, false, true);
        footprint.name(References.UNNAMED, How.BROUGHT, 1);
        footprint.add(tokens, false, 0);
        footprint.addDefaults();
        return footprint.varying == null && footprint.everything && !references.opaque() ? UNKNOWN : footprint.varying;
    }

    /** What runs to fill columns that an INSERT, here or in something brought along, leaves out. */
    private void addDefaults() {
        while (inserts && !withDefaults.isEmpty()) {
            String name = withDefaults.iterator().next();
            withDefaults.remove(name);
            Named named = references.get(name);
            if (named != null && defaultsSeen.add(name)) {
                named.defaults().forEach(text -> add(SqlText.of(text).tokens(), true, 1));
            }
        }
    }

    /** @param quoted whether it is a string that has been read as SQL: the names of sequences in it are arguments of functions, since SQL that is executed as a string is not looked into */
    private void look(List<SqlText.Token> tokens, int index, boolean quoted) {
        SqlText.Token token = tokens.get(index);
        boolean called = index + 1 < tokens.size() && tokens.get(index + 1).is('(');
        if (token.kind() == SqlTokens.STRING) {
            if (Moments.mayBe(token.text())) {
                varying = "'" + token.text() + "'";
            }
        } else if (token.isName() && ((called && (references.varying().contains(token.text())
                || OF_THE_MOMENT.contains(token.text()))) || token.isWordOf(WORDS_OF_THE_MOMENT))) {
            varying = token.text() + (called ? "()" : "");
        } else if (token.isName() && (isOfServer(token.text()) || (token.isWordOf(NUMBERED)
                && (!reading || tokens.stream().anyMatch(other -> other.isWordOf(NUMBERS)))))) {
            varying = token.text() + (called ? "()" : "");
        } else if (token.isName() && !quoted && references.sequences().contains(token.text())) {
            varying = "sequence " + token.text();
        } else if (token.isWordOf(BY_ORDER) && tokens.stream().noneMatch(other -> other.isWord("order"))) {
            varying = token.text() + " without ORDER BY";
        }
    }

    private boolean isOfServer(String name) {
        return name.startsWith(OF_THE_SERVER) && !OF_ANY_SERVER.contains(name) && references.get(name) == null;
    }

    private void add(List<SqlText.Token> tokens, boolean stringsToo, int depth) {
        add(tokens, stringsToo, depth, false);
    }

    private void add(List<SqlText.Token> tokens, boolean stringsToo, int depth, boolean quoted) {
        if (depth > NESTED_MAX) {
            everything = true;
        }
        for (int i = 0; i < tokens.size(); i++) {
            if (everything) {
                return;
            }
            SqlText.Token token = tokens.get(i);
            look(tokens, i, quoted);
            inserts |= token.isWordOf(INSERTS);
            if (token.isName()) {
                everything |= !token.plain() || token.isWordOf(BY_STRING) || token.isWordOf(LARGE_OBJECTS);
                if (!reading || depth > 0 || !isTable(tokens, i)) {
                    name(token.text(), depth == 0 ? How.DIRECT : How.BROUGHT, depth);
                }
            } else if (stringsToo && token.kind() == SqlTokens.STRING) {
                add(SqlText.of(token.text()).tokens(), true, depth + 1, true);
            }
        }
    }

    /** Whether a name is a table's, and not that of a function which is called. */
    private boolean isTable(List<SqlText.Token> tokens, int index) {
        Named named = references.get(tokens.get(index).text());
        return named != null && !named.tables().isEmpty()
                && !(index + 1 < tokens.size() && tokens.get(index + 1).is('('));
    }

    private void name(String name, How how, int depth) {
        Named named = references.get(name);
        if (named == null) {
            return;
        }
        (switch (how) {
            case DIRECT -> direct;
            case BROUGHT -> brought;
            case CASCADED -> cascaded;
        }).addAll(named.tables());
        if (!seen.add(name)) {
            return;
        }
        References.Declared declared = believing ? named.declared() : null;
        vouched |= declared != null;
        everything |= declared == null ? named.unknown() : declared.unknown();
        withDefaults.add(name);
        How next = how == How.CASCADED ? How.CASCADED : How.BROUGHT;
        named.related().forEach(related -> name(related, next, depth + 1));
        named.cascades().forEach(child -> name(child, How.CASCADED, depth + 1));
        for (String text : declared == null ? named.texts() : declared.texts()) {
            add(SqlText.of(text).tokens(), true, depth + 1);
        }
        if (declared != null) {
            declared.lists().forEach(list -> says(list, depth == 0 ? name : null, depth));
        }
    }

    /** What a function says that it touches. */
    private void says(String list, @Nullable String function, int depth) {
        for (List<SqlText.Token> entry : entries(SqlText.of(list).tokens())) {
            SqlText.Token value = value(entry);
            Named named = references.get(entry.get(name(entry)).text());
            if (value == null || named == null) {
                add(value == null ? entry : entry.subList(0, entry.size() - 3), false, depth + 1);
                continue;
            }
            parts.add(new Part(named.tables(), function, value));
            withDefaults.add(entry.get(name(entry)).text());
            named.related().forEach(related -> name(related, How.BROUGHT, depth + 1));
            named.cascades().forEach(child -> name(child, How.CASCADED, depth + 1));
            named.texts().forEach(text -> add(SqlText.of(text).tokens(), true, depth + 1));
        }
    }

    /** The entries of a list of tables, each perhaps with a value in parentheses. */
    static List<List<SqlText.Token>> entries(List<SqlText.Token> tokens) {
        List<List<SqlText.Token>> entries = new ArrayList<>();
        int start = 0;
        for (int i = 0; i <= tokens.size(); i++) {
            if (i == tokens.size() || tokens.get(i).is(',')) {
                if (i > start) {
                    entries.add(tokens.subList(start, i));
                }
                start = i + 1;
            }
        }
        return entries;
    }

    /** What stands in parentheses at the end of an entry, or null. */
    static SqlText.@Nullable Token value(List<SqlText.Token> entry) {
        int size = entry.size();
        return size >= 4 && entry.get(size - 3).is('(') && entry.get(size - 1).is(')')
                && entry.get(size - 2).kind() == SqlTokens.NUMBER ? entry.get(size - 2) : null;
    }

    /** Where in an entry the table's own name stands. */
    private static int name(List<SqlText.Token> entry) {
        return entry.size() > 2 && entry.get(1).is('.') ? 2 : 0;
    }
}
