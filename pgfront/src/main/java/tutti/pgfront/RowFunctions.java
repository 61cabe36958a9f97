package tutti.pgfront;

import java.util.ArrayList;
import java.util.List;
import tutti.wire.sql.SqlTokens;

/**
 * Functions that make rows of an array, in the select list or of a column of another table, which H2 does not have. pgjdbc
 * asks for the columns of keys with {@code _pg_expandarray}, psql for the options of toast tables, which no table has here,
 * with {@code unnest}.
 *
 * <p>
 * A query with {@code _pg_expandarray(a)} gets a join with the numbers up to the length of {@code a}; what the function
 * answers is then the number ({@code n}) and the element at it ({@code x}).
 */
final class RowFunctions {
    private static final String EXPAND = "_pg_expandarray";
    private static final int KEY_COLUMNS_MAX = 32;

    private RowFunctions() {}

    /** The same query without them. */
    static List<Token> replaced(List<Token> tokens) {
        if (tokens.stream().anyMatch(token -> token.is("unnest"))) {
            String text = Token.text(tokens).replaceAll(
                    "(?i)\\|\\|\\s*array\\(select 'toast\\.' \\|\\| x from unnest\\(tc\\.reloptions\\) x\\)", "");
            return Token.statements(text).getFirst();
        }
        if (tokens.stream().anyMatch(token -> token.is("i_indoption"))) {
            // Whether a column of an index is in descending order; the engines do not tell.
            String text = Token.text(tokens).replaceAll("(?i)\\w+\\.i_indoption\\[[^\\]]*\\]\\s*&\\s*1::smallint", "0");
            return expanded(Token.statements(text).getFirst());
        }
        return expanded(tokens);
    }

    private static List<Token> expanded(List<Token> tokens) {
        List<Token> out = new ArrayList<>(tokens);
        withoutAncestors(out);
        nameSeries(out);
        String array = "";
        int at = first(out);
        int where = -1;
        while (at >= 0) {
            array = argument(out, at);
            if (where < 0) {
                where = join(out, at, array);
            }
            replace(out, at, array);
            at = first(out);
        }
        return withoutFields(out);
    }

    /** No table is a partition, so none has ancestors; in a select list that is a function's to say. */
    private static void withoutAncestors(List<Token> tokens) {
        for (int i = 0; i < tokens.size(); i++) {
            int end = tokens.get(i).is("pg_partition_ancestors") ? closing(tokens, i + 1) : tokens.size();
            if (end + 3 < tokens.size() && tokens.get(end + 1).is("with") && tokens.get(end + 2).is("ordinality")) {
                int alias = end + 3 + (tokens.get(end + 3).is("as") ? 1 : 0);
                String name = tokens.get(alias).text();
                int last = tokens.get(alias + 1).is('(') ? closing(tokens, alias + 1) : alias;
                tokens.subList(i, last + 1).clear();
                tokens.add(i, new Token(SqlTokens.WORD,
                        "(SELECT CAST(NULL AS INTEGER) AS relid, CAST(NULL AS BIGINT) AS depth) " + name, true));
            }
        }
    }

    /** The numbers of a series are a column of the series' name. */
    private static void nameSeries(List<Token> tokens) {
        for (int i = 0; i < tokens.size(); i++) {
            if (tokens.get(i).is("generate_series")) {
                int alias = closing(tokens, i + 1) + 1;
                alias += alias < tokens.size() && tokens.get(alias).is("as") ? 1 : 0;
                if (alias + 1 < tokens.size() && tokens.get(alias).name() && !tokens.get(alias + 1).is('(')) {
                    tokens.add(alias + 1, new Token(SqlTokens.WORD, "(" + tokens.get(alias).text() + ")", false));
                }
            }
        }
    }

    private static int first(List<Token> tokens) {
        for (int i = 0; i < tokens.size(); i++) {
            if (tokens.get(i).is(EXPAND)) {
                return i;
            }
        }
        return -1;
    }

    private static int closing(List<Token> tokens, int open) {
        int depth = 0;
        for (int i = open; i < tokens.size(); i++) {
            depth += tokens.get(i).is('(') ? 1 : tokens.get(i).is(')') ? -1 : 0;
            if (depth == 0) {
                return i;
            }
        }
        return tokens.size() - 1;
    }

    private static String argument(List<Token> tokens, int at) {
        return Token.text(tokens.subList(at + 2, closing(tokens, at + 1)));
    }

    /** Puts the join behind the FROM of the query that the function stands in; answers where. */
    private static int join(List<Token> tokens, int at, String array) {
        // In parentheses of its own, the function stands one deeper than the query.
        int start = closing(tokens, at + 1) + 1;
        if (start < tokens.size() && tokens.get(start).is(')') && start + 1 < tokens.size()
                && tokens.get(start + 1).is('.')) {
            start++;
        }
        int depth = 0;
        int i = start;
        while (i < tokens.size() && depth >= 0 && !(depth == 0 && tokens.get(i).is("where"))) {
            depth += tokens.get(i).is('(') ? 1 : tokens.get(i).is(')') ? -1 : 0;
            i += depth < 0 ? 0 : 1;
        }
        tokens.add(i, new Token(SqlTokens.WORD, "JOIN SYSTEM_RANGE(1, " + KEY_COLUMNS_MAX
                + ") pg_key ON pg_key.x <= CARDINALITY(" + array + ")", true));
        return i;
    }

    /** Replaces one call, with the field that is taken of it. */
    private static void replace(List<Token> tokens, int at, String array) {
        int from = at > 1 && tokens.get(at - 1).is('.') ? at - 2 : at;
        int to = closing(tokens, at + 1);
        boolean number = false;
        if (from > 0 && tokens.get(from - 1).is('(') && to + 3 < tokens.size() && tokens.get(to + 1).is(')')
                && tokens.get(to + 2).is('.')) {
            number = tokens.get(to + 3).is("n");
            from--;
            to += 3;
        }
        Token value = new Token(SqlTokens.WORD, number ? "pg_key.x" : array + "[pg_key.x]", true);
        tokens.subList(from, to + 1).clear();
        tokens.add(from, value);
    }

    /** The element is what remains of the function's answer, so {@code (r.keys).x} is {@code r.keys}. */
    private static List<Token> withoutFields(List<Token> tokens) {
        List<Token> out = new ArrayList<>(tokens.size());
        for (int i = 0; i < tokens.size(); i++) {
            if (i + 6 < tokens.size() && tokens.get(i).is('(') && tokens.get(i + 2).is('.')
                    && tokens.get(i + 4).is(')') && tokens.get(i + 5).is('.') && tokens.get(i + 6).is("x")) {
                Token first = tokens.get(i + 1);
                out.add(new Token(first.kind(), first.text(), true));
                out.addAll(tokens.subList(i + 2, i + 4));
                i += 6;
            } else {
                out.add(tokens.get(i));
            }
        }
        return out;
    }
}
