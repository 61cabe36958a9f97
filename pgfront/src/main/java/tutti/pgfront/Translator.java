package tutti.pgfront;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.pgfront.PgStatement.Kind;
import tutti.wire.ClusterQuestion;
import tutti.wire.sql.SqlTokens;

/**
 * From PostgreSQL's SQL to an engine's, word by word: what a statement is to the session, parameters, casts, strings with
 * escapes, names of types, the case of quoted names, RETURNING. What it does not know it leaves to the engine.
 */
final class Translator {
    private static final Set<String> QUERIES = Set.of("select", "values", "table", "with", "explain", "call");
    private static final Set<String> CHANGES = Set.of("insert", "update", "delete", "merge");
    private static final Set<String> SCHEMA = Set.of("create", "alter", "drop", "truncate", "comment");
    private static final Set<String> NOTHING = Set.of("analyze", "vacuum", "checkpoint", "reindex");
    private static final Set<String> NOT_SCHEMA = Set.of("role", "user", "database", "extension", "tablespace", "group",
            "subscription", "publication", "system", "server");
    /** Before a name that is not followed by a type. */
    private static final Set<String> BEFORE_NAME = Set.of("column", "add", "table", "rename", "to", "drop", "exists",
            "constraint", "not", "null", "key", "default", "as");
    /** Between CREATE and what is created. */
    private static final Set<String> MODIFIERS = Set.of("or", "replace", "unique", "if", "not", "exists", "force",
            "materialized", "global", "local", "memory", "cached", "unlogged", "concurrently");
    private static final Set<String> TEMPORARY = Set.of("temp", "temporary");

    /** As longer texts cannot be: arguments of procedures in Java. */
    private static final String ARGUMENT = "varchar(1000000)";

    private final Dialect dialect;
    private final Set<String> java;

    /** @param java names of procedures in Java */
    Translator(Dialect dialect, Set<String> java) {
        this.dialect = dialect;
        this.java = Set.copyOf(java);
    }

    /** The same statement with the types of its parameters said; of all of them, or of those only that need it. */
    PgStatement withCasts(PgStatement statement, int[] declared, boolean all) {
        List<Token> cast = ParameterHints.withCasts(statement.tokens(), declared, all);
        return cast.size() == statement.tokens().size() ? statement : translate(cast).as(statement.tokens());
    }

    /** Translates the words of one statement. */
    PgStatement translate(List<Token> tokens) {
        PgStatement statement = words(tokens);
        if (statement.sql().isEmpty()) {
            return statement;
        }
        List<List<Token>> told = Token.statements(statement.sql());
        String beyond = told.size() > 1
                ? PgStatement.SYNTAX_ERROR + " at or near \";\""
                : OutOfReach.refusal(told.getFirst(), statement.kind() == Kind.CATALOG);
        return beyond == null ? statement.told(Token.text(told.getFirst())) : refused(tokens, beyond);
    }

    private PgStatement words(List<Token> tokens) {
        if (tokens.isEmpty()) {
            return session(Kind.EMPTY, "", tokens);
        }
        String first = firstWord(tokens);
        if (QUERIES.contains(first)) {
            ClusterQuestion question = ClusterQuestion.read(Token.text(tokens));
            if (question != null) {
                return new PgStatement(Kind.QUESTION, "SELECT", "", question.isOpen() ? List.of(1) : List.of(), null,
                        tokens, "");
            }
            return CatalogSql.concerns(tokens)
                    ? catalog(tokens)
                    : callsJava(tokens) ? java(tokens) : query(first, tokens);
        }
        if (CHANGES.contains(first)) {
            return change(first, tokens);
        }
        if (SCHEMA.contains(first)) {
            return schema(first, tokens);
        }
        if (NOTHING.contains(first)) {
            return session(Kind.NOTHING, first.toUpperCase(Locale.ROOT), tokens);
        }
        return switch (first) {
            case "begin" -> session(Kind.BEGIN, "BEGIN", tokens);
            case "start" -> session(Kind.BEGIN, "START TRANSACTION", tokens);
            case "commit", "end" -> has(tokens, "prepared")
                    ? refused(tokens, "COMMIT PREPARED is not supported: COMMIT; the cluster makes it atomic")
                    : session(Kind.COMMIT, "COMMIT", tokens);
            case "abort" -> session(Kind.ROLLBACK, "ROLLBACK", tokens);
            case "rollback" -> rollback(tokens);
            case "savepoint" -> new PgStatement(Kind.SAVEPOINT, "SAVEPOINT", "SAVEPOINT " + lastName(tokens), List.of(),
                    null, tokens, "");
            case "release" -> new PgStatement(Kind.RELEASE, "RELEASE", "RELEASE SAVEPOINT " + lastName(tokens),
                    List.of(), null, tokens, "");
            case "set" -> session(Kind.SET, "SET", tokens);
            case "reset" -> session(Kind.RESET, "RESET", tokens);
            case "show" -> session(Kind.SHOW, "SHOW", tokens);
            case "discard" -> tokens.getLast().is("all")
                    ? session(Kind.FORGET, "DISCARD ALL", tokens)
                    : session(Kind.NOTHING, "DISCARD " + tokens.getLast().text().toUpperCase(Locale.ROOT), tokens);
            case "deallocate" -> session(Kind.FORGET,
                    tokens.getLast().is("all") ? "DEALLOCATE ALL" : "DEALLOCATE", tokens);
            case "copy" -> session(Kind.COPY, "COPY", tokens);
            case "listen", "unlisten", "notify" -> refused(tokens, "LISTEN, UNLISTEN and NOTIFY are not supported,"
                    + " because notifications would not reach the clients of other nodes: poll a table instead");
            case "declare", "fetch", "move", "close" -> refused(tokens,
                    "cursors in SQL are not supported by this node's database, " + dialect.product()
                            + ": bind a portal and fetch from it, as drivers do with a fetch size");
            case "grant", "revoke" -> refused(tokens, "a node with " + dialect.product()
                    + " has one role, which is in its configuration, so there is nobody to grant or revoke for");
            case "lock", "do", "prepare", "execute", "refresh", "cluster", "load", "security", "import", "reassign" ->
                refused(tokens, first.toUpperCase(Locale.ROOT) + " is not supported by a node with "
                        + dialect.product());
            default -> refused(tokens, PgStatement.SYNTAX_ERROR + " at or near \"" + tokens.getFirst().text() + "\"");
        };
    }

    private static String firstWord(List<Token> tokens) {
        int at = 0;
        while (at < tokens.size() - 1 && tokens.get(at).is('(')) {
            at++;
        }
        return tokens.get(at).lower();
    }

    private static boolean has(List<Token> tokens, String word) {
        return tokens.stream().anyMatch(token -> token.is(word));
    }

    private static PgStatement session(Kind kind, String tag, List<Token> tokens) {
        return new PgStatement(kind, tag, "", List.of(), null, tokens, "");
    }

    private static PgStatement refused(List<Token> tokens, String why) {
        return new PgStatement(Kind.REFUSED, "", "", List.of(), null, tokens, why);
    }

    private PgStatement rollback(List<Token> tokens) {
        if (has(tokens, "prepared")) {
            return refused(tokens, "ROLLBACK PREPARED is not supported");
        }
        return has(tokens, "to")
                ? new PgStatement(Kind.ROLLBACK_TO, "ROLLBACK", "ROLLBACK TO SAVEPOINT " + lastName(tokens), List.of(),
                        null, tokens, "")
                : session(Kind.ROLLBACK, "ROLLBACK", tokens);
    }

    private static String lastName(List<Token> tokens) {
        return folded(tokens.getLast()).text();
    }

    private PgStatement query(String first, List<Token> tokens) {
        List<Integer> parameters = new ArrayList<>();
        String tag = first.equals("explain") || first.equals("call") ? first.toUpperCase(Locale.ROOT) : "SELECT";
        String sql = Token.text(rewritten(tokens, parameters));
        return new PgStatement(Kind.QUERY, tag,
                first.equals("explain") ? dialect.sql().explain() + sql.substring("explain".length()) : sql,
                parameters, null, tokens, "");
    }

    private boolean callsJava(List<Token> tokens) {
        return tokens.size() > 3 && tokens.getFirst().is("call") && tokens.get(1).kind() == SqlTokens.WORD
                && java.contains(tokens.get(1).lower()) && tokens.get(2).is('(') && tokens.getLast().is(')');
    }

    /** A call of a procedure in Java, which is to the engine a row with its arguments as texts, behind a column that stands for the procedure. */
    private PgStatement java(List<Token> tokens) {
        StringBuilder row = new StringBuilder("values (0");
        for (List<Token> argument : arguments(tokens.subList(3, tokens.size() - 1))) {
            row.append(", cast(").append(Token.text(argument)).append(" as ").append(ARGUMENT).append(')');
        }
        List<Integer> parameters = new ArrayList<>();
        String sql = Token.text(rewritten(Token.statements(row.append(')').toString()).getFirst(), parameters));
        return new PgStatement(Kind.CHANGE, PgStatement.CALL, sql, parameters, null, tokens, "");
    }

    private static List<List<Token>> arguments(List<Token> tokens) {
        List<List<Token>> arguments = new ArrayList<>();
        int depth = 0;
        int begin = 0;
        for (int i = 0; i <= tokens.size() && !tokens.isEmpty(); i++) {
            Token token = i < tokens.size() ? tokens.get(i) : null;
            if (token == null || (depth == 0 && token.is(','))) {
                arguments.add(tokens.subList(begin, i));
                begin = i + 1;
            } else {
                depth += token.is('(') || token.is('[') ? 1 : token.is(')') || token.is(']') ? -1 : 0;
            }
        }
        return arguments;
    }

    private static PgStatement catalog(List<Token> tokens) {
        List<Integer> parameters = new ArrayList<>();
        return new PgStatement(Kind.CATALOG, "SELECT", CatalogSql.rewritten(tokens, parameters), parameters, null,
                tokens, "");
    }

    // ------------------------------------------------------------------------------------------ changes

    private PgStatement change(String first, List<Token> tokens) {
        int returning = topLevel(tokens, "returning");
        List<Integer> parameters = new ArrayList<>();
        String tag = first.equals("insert") ? "INSERT 0" : first.toUpperCase(Locale.ROOT);
        if (returning < 0) {
            return new PgStatement(Kind.CHANGE, tag, Token.text(rewritten(tokens, parameters)), parameters, null,
                    tokens, "");
        }
        if (!first.equals("insert") && !dialect.sql().returnsChangedRows()) {
            return refused(tokens, dialect.product() + " cannot return changed rows: use RETURNING with INSERT only,"
                    + " and SELECT the rows otherwise");
        }
        List<Token> columns = rewritten(tokens.subList(returning + 1, tokens.size()), new ArrayList<>());
        if (columns.stream().anyMatch(token -> !token.name() && !token.is(',') && !token.is('*') && !token.is('.'))) {
            return refused(tokens, "only columns can be returned from changed rows, not expressions");
        }
        return new PgStatement(Kind.CHANGE, tag, Token.text(rewritten(tokens.subList(0, returning), parameters)),
                parameters,
                new PgStatement.Returning("SELECT " + Token.text(columns) + " FROM " + changedTable(tokens)
                        + " WHERE 1 = 0"),
                tokens, "");
    }

    /** The name behind INSERT INTO, UPDATE or DELETE FROM, and its alias. */
    private static String changedTable(List<Token> tokens) {
        int at = 1;
        while (at < tokens.size() && (tokens.get(at).is("into") || tokens.get(at).is("from")
                || tokens.get(at).is("only"))) {
            at++;
        }
        StringBuilder name = new StringBuilder();
        boolean dotted = true;
        while (at < tokens.size() && (tokens.get(at).is('.') || (tokens.get(at).name() && dotted))) {
            dotted = tokens.get(at).is('.');
            name.append(folded(tokens.get(at)).text());
            at++;
        }
        if (at < tokens.size() && tokens.get(at).is("as")) {
            name.append(" AS ").append(folded(tokens.get(at + 1)).text());
        }
        return name.toString();
    }

    /** Where a word stands outside of parentheses, or -1. */
    private static int topLevel(List<Token> tokens, String word) {
        int depth = 0;
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            depth += token.is('(') ? 1 : token.is(')') ? -1 : 0;
            if (depth == 0 && token.is(word)) {
                return i;
            }
        }
        return -1;
    }

    // ------------------------------------------------------------------------------------------ schema

    private PgStatement schema(String first, List<Token> tokens) {
        int at = 1;
        while (at < tokens.size() - 1 && MODIFIERS.contains(tokens.get(at).lower())) {
            at++;
        }
        String what = at < tokens.size() ? tokens.get(at).lower() : "";
        if (TEMPORARY.contains(what) || (at + 1 < tokens.size() && TEMPORARY.contains(tokens.get(at + 1).lower()))) {
            return refused(tokens, "temporary tables are not supported by a node with " + dialect.product());
        }
        if (NOT_SCHEMA.contains(what)) {
            return refused(tokens, first.toUpperCase(Locale.ROOT) + " " + what.toUpperCase(Locale.ROOT)
                    + " is not supported by a node with " + dialect.product()
                    + ": its one role and its database are in its configuration");
        }
        String tag = first.equals("comment")
                ? "COMMENT"
                : first.equals("truncate")
                        ? "TRUNCATE TABLE"
                        : first.toUpperCase(Locale.ROOT) + " " + what.toUpperCase(Locale.ROOT);
        List<Integer> parameters = new ArrayList<>();
        List<Token> words = rewritten(tokens, parameters);
        if (what.equals("table") || what.equals("domain")) {
            words = renamedTypes(words);
        }
        if (what.equals("index") && at + 1 < tokens.size() && tokens.get(at + 1).is("on")) {
            words.add(at + 1, new Token(SqlTokens.WORD, indexName(tokens.subList(at + 2, tokens.size())), true));
        }
        if (first.equals("truncate") && !what.equals("table")) {
            words.add(1, new Token(SqlTokens.WORD, "TABLE", true));
        }
        return parameters.isEmpty()
                ? new PgStatement(Kind.SCHEMA, tag, Token.text(words), List.of(), null, tokens, "")
                : refused(tokens, "a schema change cannot have parameters");
    }

    /** The name that PostgreSQL gives an index on a table and columns. */
    private static String indexName(List<Token> tokens) {
        StringBuilder name = new StringBuilder();
        for (Token token : tokens) {
            if (token.is(')')) {
                break;
            }
            if (token.name() && !token.is("using") && !token.is("btree") && !token.is("asc") && !token.is("desc")) {
                name.append(token.value()).append('_');
            }
        }
        return name.append("idx").toString();
    }

    /** A type stands behind a column's name. */
    private List<Token> renamedTypes(List<Token> tokens) {
        List<Token> renamed = new ArrayList<>(tokens.size());
        @Nullable
        Token before = null;
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            boolean type = before != null
                    && !(token.is("time") && i + 1 < tokens.size() && tokens.get(i + 1).is("zone"))
                    && ((before.name() && !BEFORE_NAME.contains(before.lower()))
                            || before.is("type"))
                    && token.kind() == SqlTokens.WORD
                    && (dialect.renames(token.text())
                            || (i + 2 < tokens.size() && tokens.get(i + 1).is('[') && tokens.get(i + 2).is(']')));
            before = token;
            if (type) {
                TypeName whole = TypeName.at(tokens, i);
                renamed.add(token.with(dialect.castType(whole)));
                i = whole.end() - 1;
                before = tokens.get(i);
            } else {
                renamed.add(token);
            }
        }
        return renamed;
    }

    // ------------------------------------------------------------------------------------------ words

    private List<Token> rewritten(List<Token> client, List<Integer> parameters) {
        List<Token> tokens = dialect.sql().comparesWithArrays() ? client : Casts.unnested(client);
        List<Token> written = new ArrayList<>(tokens.size());
        Set<Integer> types = Casts.types(tokens);
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            if (types.contains(i)) {
                TypeName type = TypeName.at(tokens, i);
                written.add(new Token(SqlTokens.WORD, dialect.castType(type), true));
                i = type.end() - 1;
            } else if (token.is(':') && i + 1 < tokens.size() && tokens.get(i + 1).is(':')) {
                TypeName type = TypeName.at(tokens, i + 2);
                if (!literal(written, type.name())) {
                    Casts.cast(written, dialect.castType(type));
                }
                i = type.end() - 1;
            } else if (token.kind() == Token.PARAMETER) {
                parameters.add(Integer.parseInt(token.text().substring(1)));
                written.add(token.with("?"));
            } else if (token.is("now") && i + 2 < tokens.size() && tokens.get(i + 1).is('(')
                    && tokens.get(i + 2).is(')')) {
                // The engines' function of this name tells no zone.
                written.add(token.with("CURRENT_TIMESTAMP"));
                i += 2;
            } else if (token.string() && Casts.interval(written, token)) {
                // It is written.
            } else if (token.string()) {
                written.add(Casts.plainString(token));
            } else {
                written.add(folded(token));
            }
        }
        return written;
    }

    /** Strings whose cast means something else than a conversion of their characters: bytes in hex, and JSON. */
    private boolean literal(List<Token> written, String type) {
        Token last = written.isEmpty() ? null : written.getLast();
        if (last == null || !last.string()) {
            return false;
        }
        if (type.equals("bytea") && last.value().startsWith("\\x")) {
            written.set(written.size() - 1, last.with("X'" + last.value().substring(2) + "'"));
            return true;
        }
        if (dialect.sql().jsonLiterals() && (type.equals("json") || type.equals("jsonb"))) {
            written.set(written.size() - 1, last.with("JSON " + last.text()));
            return true;
        }
        return false;
    }

    private static Token folded(Token token) {
        return token.kind() == SqlTokens.QUOTED && token.text().startsWith("\"")
                ? token.with('"' + Dialect.fold(token.value()).replace("\"", "\"\"") + '"')
                : token;
    }
}
