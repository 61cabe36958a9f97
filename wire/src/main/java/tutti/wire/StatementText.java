package tutti.wire;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import tutti.wire.sql.SqlTokens;

/**
 * What may be told of a statement to those who must not see what is in the database: what it does, and its text without comments, and with a question mark
 * for each value. Immutable.
 */
final class StatementText {
    /** Of no statement. */
    static final StatementText NONE = new StatementText(new byte[0]);
    private static final int OPERATION_MAX = 32;

    private final byte[] sql;
    private final String operation;

    /** @param sql its text, or the beginning of it; not changed any more */
    StatementText(byte[] sql) {
        this.sql = sql;
        SqlTokens tokens = tokens();
        operation = tokens.next() == SqlTokens.WORD && tokens.position() - tokens.start() <= OPERATION_MAX
                ? piece(tokens).toUpperCase(Locale.ROOT)
                : "";
    }

    private SqlTokens tokens() {
        SqlTokens tokens = new SqlTokens();
        tokens.reset(sql, 0, sql.length, true);
        return tokens;
    }

    private String piece(SqlTokens at) {
        return new String(sql, at.start(), at.position() - at.start(), StandardCharsets.UTF_8);
    }

    /** Its first word, in upper case; empty if it does not begin with a word. */
    String operation() {
        return operation;
    }

    /** The text; empty if it has a backslash, since it depends on the session where a string ends that has one. */
    String withoutValues() {
        for (byte letter : sql) {
            if (letter == '\\') {
                return "";
            }
        }
        StringBuilder shown = new StringBuilder(sql.length);
        SqlTokens tokens = tokens();
        int before = 0;
        for (int kind = tokens.next(); kind != SqlTokens.END; kind = tokens.next()) {
            if (tokens.start() > before && !shown.isEmpty()) {
                shown.append(' ');
            }
            before = tokens.position();
            boolean value = kind == SqlTokens.STRING || (kind == SqlTokens.NUMBER && sql[tokens.start()] != '$');
            shown.append(value ? "?" : piece(tokens));
        }
        return shown.toString();
    }
}
