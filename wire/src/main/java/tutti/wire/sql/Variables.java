package tutti.wire.sql;

import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.wire.sql.SqlText.Token;

/**
 * Statements that set session variables whose names begin with {@code tutti.}: PostgreSQL keeps them as it keeps any custom
 * variable, and the front end takes note.
 */
public final class Variables {
    private static final String PREFIX = "tutti";

    private Variables() {}

    /**
     * A statement that sets a variable.
     *
     * @param local whether it does so for the transaction only
     * @param value as written; null if it goes back to what it was when the session began
     * @param all whether all variables do
     */
    public record Setting(boolean local, @Nullable String value, boolean all) {}

    /** What a statement does to {@code tutti.<variable>}, or null if nothing. */
    public static @Nullable Setting read(String sql, String variable) {
        List<Token> tokens = SqlText.of(sql).tokens();
        int size = tokens.size();
        while (size > 0 && tokens.get(size - 1).is(';')) {
            size--;
        }
        if (size >= 2 && tokens.get(1).isWord("all")
                && (tokens.get(0).isWord("reset") || tokens.get(0).isWord("discard"))) {
            return new Setting(false, null, true);
        }
        if (size == 4 && tokens.get(0).isWord("reset")) {
            return named(tokens, 1, variable) ? new Setting(false, null, false) : null;
        }
        if (size < 6 || !tokens.get(0).isWord("set")) {
            return null;
        }
        boolean local = tokens.get(1).isWord("local");
        int name = local || tokens.get(1).isWord("session") ? 2 : 1;
        if (size != name + 5 || !named(tokens, name, variable)
                || !(tokens.get(name + 3).is('=') || tokens.get(name + 3).isWord("to"))) {
            return null;
        }
        Token value = tokens.get(name + 4);
        return new Setting(local, value.isWord("default") ? null : value.text(), false);
    }

    private static boolean named(List<Token> tokens, int at, String variable) {
        return tokens.get(at).isName() && tokens.get(at).text().equalsIgnoreCase(PREFIX) && tokens.get(at + 1).is('.')
                && tokens.get(at + 2).isName() && tokens.get(at + 2).text().equalsIgnoreCase(variable);
    }
}
