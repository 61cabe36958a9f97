package tutti.pgfront;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import tutti.wire.sql.SqlTokens;

/**
 * Queries of PostgreSQL's catalogs, in the words of the database that plays them ({@link PgCatalog}).
 */
final class CatalogSql {
    /** Functions without tables that tell of the server. */
    private static final Set<String> SERVER_FUNCTIONS = Set.of("version", "current_database", "current_schemas",
            "current_setting", "obj_description", "col_description", "format_type", "has_table_privilege",
            "has_schema_privilege", "has_database_privilege", "current_schema", "current_catalog", "inet_server_addr",
            "inet_server_port", "to_regclass", "to_regtype", "regtype", "_pg_expandarray");
    private static final Set<String> TEXT_TYPES = Set.of("text", "name", "char", "regtype", "regproc", "regprocedure",
            "regrole", "regnamespace", "bpchar", "varchar", "pg_node_tree", "aclitem", "unknown", "character varying");
    private static final Set<String> NUMBER_TYPES = Set.of("oid", "int4", "xid", "cid");

    private static final int OF_ELEMENTS = 15;

    private CatalogSql() {}

    /** Whether a query is of the catalogs: names something of {@code pg_catalog}, or asks what server this is. */
    static boolean concerns(List<Token> tokens) {
        boolean from = false;
        boolean server = false;
        for (Token token : tokens) {
            if (token.kind() == SqlTokens.WORD) {
                String word = token.lower();
                if (word.startsWith("pg_") || word.equals("_pg_expandarray")
                        || word.equals("declared_sequences")) {
                    return true;
                }
                from |= word.equals("from");
                server |= SERVER_FUNCTIONS.contains(word);
            }
        }
        return server && !from;
    }

    /** The query for {@link PgCatalog}. */
    static String rewritten(List<Token> tokens, List<Integer> parameters) {
        List<Token> in = RowFunctions.replaced(withoutSchemas(tokens));
        List<Token> out = new ArrayList<>(in.size());
        for (int i = 0; i < in.size(); i++) {
            Token token = in.get(i);
            if (token.is("operator") && next(in, i, '(')) {
                i = operator(in, i + 2, out);
            } else if (token.is('[') && !out.isEmpty() && out.getLast().name() && !out.getLast().is("array")) {
                i = element(in, i, out);
            } else if (token.is("array") && isOfElements(in, i)) {
                out.add(in.get(i + 7));
                i += OF_ELEMENTS - 1;
            } else if (token.is("current_catalog")) {
                out.add(token.with("current_database()"));
            } else if (token.is("pg_get_keywords")) {
                out.add(token.with("pg_keywords"));
                i += 2;
            } else if (token.is("generate_series")) {
                out.add(token.with("SYSTEM_RANGE"));
            } else if (token.is("collate")) {
                i += i + 2 < in.size() && in.get(i + 2).is('.') ? 3 : 1;
            } else if (token.is(':') && next(in, i, ':')) {
                TypeName type = TypeName.at(in, i + 2);
                cast(out, type);
                i = type.end() - 1;
            } else if (token.kind() == Token.PARAMETER) {
                parameters.add(Integer.parseInt(token.text().substring(1)));
                out.add(token.with("?"));
            } else if (token.string() && !next(in, i, ':') && token.text().matches("'\\{[\\d,]*\\}'")) {
                out.add(token.with("ARRAY[" + token.text().substring(2, token.text().length() - 2) + "]"));
            } else if (token.string()) {
                out.add(Casts.plainString(token));
            } else {
                out.add(token);
            }
        }
        return Token.text(out);
    }

    /** {@code array(select x from unnest(a) as t(x))}, which is the array itself, as psql lists the elements of some. */
    private static boolean isOfElements(List<Token> in, int at) {
        return at + OF_ELEMENTS <= in.size() && in.get(at + 7).name() && in.subList(at, at + OF_ELEMENTS).stream()
                .map(Token::lower).collect(Collectors.joining(" "))
                .equals("array ( select x from unnest ( " + in.get(at + 7).lower() + " ) as t ( x ) )");
    }

    private static boolean next(List<Token> tokens, int at, char punctuation) {
        return at + 1 < tokens.size() && tokens.get(at + 1).is(punctuation);
    }

    /** Without the schema before a name: everything is found without. */
    private static List<Token> withoutSchemas(List<Token> tokens) {
        List<Token> out = new ArrayList<>(tokens.size());
        boolean gap = false;
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            if ((token.is("pg_catalog") || token.is("information_schema") || token.is("tutti"))
                    && next(tokens, i, '.')) {
                gap |= token.gap();
                i++;
            } else {
                out.add(gap ? new Token(token.kind(), token.text(), true) : token);
                gap = false;
            }
        }
        return out;
    }

    /** {@code OPERATOR(pg_catalog.~)}; answers where its parenthesis ends. */
    private static int operator(List<Token> tokens, int start, List<Token> out) {
        int at = start;
        StringBuilder operator = new StringBuilder();
        while (at < tokens.size() && !tokens.get(at).is(')')) {
            if (!tokens.get(at).name() && !tokens.get(at).is('.')) {
                operator.append(tokens.get(at).text());
            }
            at++;
        }
        out.add(new Token('~', operator.toString(), true));
        return at;
    }

    /** An element of an array, null beyond its end; answers where the bracket ends. */
    private static int element(List<Token> in, int open, List<Token> out) {
        int close = open;
        while (close < in.size() && !in.get(close).is(']')) {
            close++;
        }
        int start = Casts.operand(out);
        String operand = Token.text(out.subList(start, out.size()));
        out.subList(start, out.size()).clear();
        out.add(new Token(SqlTokens.WORD,
                "ARRAY_ELEMENT(" + operand + ", " + Token.text(in.subList(open + 1, close)) + ")", true));
        return close;
    }

    private static void cast(List<Token> out, TypeName type) {
        String name = type.name().toLowerCase(Locale.ROOT);
        Token operand = out.getLast();
        if (type.suffix().endsWith("ARRAY") && operand.string() && operand.value().startsWith("{")) {
            String elements = operand.value().substring(1, operand.value().length() - 1);
            out.set(out.size() - 1, operand.with("ARRAY[" + (elements.isEmpty() || NUMBER_TYPES.contains(name)
                    ? elements
                    : "'" + elements.replace("'", "''").replace(",", "','") + "'") + "]"));
            return;
        }
        int start = Casts.operand(out);
        boolean text = operand.string() || Token.text(out.subList(start, out.size())).endsWith("AS VARCHAR)");
        if (name.equals("regclass")) {
            call(out, start, text ? "TO_REGCLASS" : "REGCLASS_NAME");
        } else if (name.equals("regtype") && text) {
            call(out, start, "TO_REGTYPE");
        } else if (type.suffix().endsWith("ARRAY")) {
            Casts.cast(out, (TEXT_TYPES.contains(name) ? "VARCHAR" : "INTEGER") + " ARRAY");
        } else if (TEXT_TYPES.contains(name)) {
            Casts.cast(out, "VARCHAR" + type.suffix());
        } else if (NUMBER_TYPES.contains(name)) {
            Casts.cast(out, "INTEGER");
        } else {
            Casts.cast(out, PgCatalog.DIALECT.castType(type));
        }
    }

    private static void call(List<Token> out, int start, String function) {
        Token first = out.get(start);
        out.set(start, new Token(first.kind(), first.text(), false));
        out.add(start, new Token('(', "(", false));
        out.add(start, new Token(SqlTokens.WORD, function, first.gap()));
        out.add(new Token(')', ")", false));
    }
}
