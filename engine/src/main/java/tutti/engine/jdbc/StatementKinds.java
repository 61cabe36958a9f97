package tutti.engine.jdbc;

import java.sql.SQLException;
import java.util.Locale;
import java.util.Set;

/**
 * Tells which statements may run in a client's transaction: those that read or change rows, and savepoints. Everything
 * else ends the transaction in both engines, or changes what other replicas must change as well. Only first words are
 * looked at, of each statement in the text.
 */
final class StatementKinds {
    private static final Set<String> ALLOWED = Set.of("SELECT", "WITH", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE",
            "MERGE", "CALL", "EXPLAIN", "SAVEPOINT", "RELEASE", "SHOW", "ROLLBACK", "");

    private final String sql;
    private int at;

    private StatementKinds(String sql) {
        this.sql = sql;
    }

    /**
     * Looks at a text.
     *
     * @throws SQLException with {@code 0A000} if one of its statements may not run
     */
    static void check(String sql) throws SQLException {
        new StatementKinds(sql).check();
    }

    private void check() throws SQLException {
        while (true) {
            String first = word();
            boolean nothing = at >= sql.length() || sql.charAt(at) == ';';
            if (!ALLOWED.contains(first) || (first.isEmpty() && !nothing)
                    || (first.equals("ROLLBACK") && !toSavepoint())) {
                throw new SQLException(
                        "a statement that begins with \"" + first + "\" may not run in a transaction: commit "
                                + "and roll back through the session, and have schema changes executed everywhere",
                        "0A000");
            }
            skipStatement();
            if (at >= sql.length()) {
                return;
            }
            at++;
        }
    }

    private boolean toSavepoint() {
        String next = word();
        return (next.equals("WORK") ? word() : next).equals("TO");
    }

    /** The next word in upper case; empty if there is none. */
    private String word() {
        while (at < sql.length() && (Character.isWhitespace(sql.charAt(at)) || sql.charAt(at) == '('
                || sql.charAt(at) == '{' || sql.charAt(at) == '?' || sql.charAt(at) == '=' || comment())) {
            at++;
        }
        int start = at;
        while (at < sql.length() && Character.isLetter(sql.charAt(at))) {
            at++;
        }
        return sql.substring(start, at).toUpperCase(Locale.ROOT);
    }

    /** If a comment begins here: goes to its last character. */
    private boolean comment() {
        if (sql.startsWith("--", at) || sql.startsWith("//", at)) {
            int end = sql.indexOf('\n', at);
            at = end < 0 ? sql.length() : end;
            return true;
        }
        if (sql.startsWith("/*", at)) {
            int end = sql.indexOf("*/", at + 2);
            at = end < 0 ? sql.length() : end + 1;
            return true;
        }
        return false;
    }

    /** Goes to the semicolon that ends the statement, or to the end. */
    private void skipStatement() {
        while (at < sql.length() && sql.charAt(at) != ';') {
            char character = sql.charAt(at);
            if (character == '\'' || character == '"') {
                int end = sql.indexOf(character, at + 1);
                at = end < 0 ? sql.length() : end + 1;
            } else if (sql.startsWith("$$", at)) {
                int end = sql.indexOf("$$", at + 2);
                at = end < 0 ? sql.length() : end + 2;
            } else {
                comment();
                at++;
            }
        }
    }
}
