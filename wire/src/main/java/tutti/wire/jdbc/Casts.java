package tutti.wire.jdbc;

import java.util.List;
import java.util.Set;
import tutti.wire.sql.SqlTokens;

/** PostgreSQL's {@code operand::type} in words that every engine knows. */
final class Casts {
    /** Words before a parenthesis that are not the name of a function. */
    private static final Set<String> NOT_FUNCTIONS = Set.of("and", "or", "not", "in", "values", "select", "where", "on",
            "when", "then", "else", "case", "from", "by", "as", "having", "limit", "offset", "union", "all", "any",
            "some", "exists", "using", "returning", "set", "like");

    private Casts() {}

    /** Puts a cast around the operand that the words end with. */
    static void cast(List<Token> written, String type) {
        int start = operand(written);
        Token first = written.get(start);
        written.set(start, new Token(first.kind(), first.text(), false));
        written.add(start, new Token('(', "(", false));
        written.add(start, new Token(SqlTokens.WORD, "CAST", first.gap()));
        written.add(new Token(SqlTokens.WORD, "AS", true));
        written.add(new Token(SqlTokens.WORD, type, true));
        written.add(new Token(')', ")", false));
    }

    /** Where the operand begins that the words end with. */
    static int operand(List<Token> written) {
        int at = written.size() - 1;
        if (at < 0) {
            return 0;
        }
        if (written.get(at).is(')') || written.get(at).is(']')) {
            int depth = 0;
            do {
                Token token = written.get(at);
                depth += token.is(')') || token.is(']') ? 1 : token.is('(') || token.is('[') ? -1 : 0;
                at--;
            } while (at >= 0 && depth > 0);
            at++;
            if (at == 0 || !written.get(at - 1).name() || NOT_FUNCTIONS.contains(written.get(at - 1).lower())) {
                return at;
            }
            at--;
        }
        while (at >= 2 && written.get(at - 1).is('.') && written.get(at - 2).name()) {
            at -= 2;
        }
        return at;
    }

    /** A string in the one notation that every engine knows. */
    static Token plainString(Token token) {
        return switch (token.text().charAt(0)) {
            case 'e', 'E', '$' -> token.with("'" + token.value().replace("'", "''") + "'");
            default -> token;
        };
    }
}
