package tutti.wire.sql;

import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.wire.sql.SqlText.Token;

/**
 * The prepared statements that DEALLOCATE, or DISCARD, makes unknown.
 *
 * @param name of one, null for all
 */
public record Deallocated(@Nullable String name) {
    /** Those of a statement, or null if there are none, or none that can be told. */
    public static @Nullable Deallocated by(String sql) {
        List<List<Token>> statements = SqlText.of(sql).statements();
        if (statements.size() != 1) {
            return null;
        }
        List<Token> tokens = statements.getFirst();
        Token last = tokens.getLast();
        if (tokens.size() == 2 && tokens.getFirst().isWord("discard")) {
            return last.isWord("all") ? new Deallocated(null) : null;
        }
        boolean prepare = tokens.size() == 3 && tokens.get(1).isWord("prepare");
        if (!tokens.getFirst().isWord("deallocate") || !(tokens.size() == 2 || prepare)) {
            return null;
        }
        if (last.isWord("all")) {
            return new Deallocated(null);
        }
        return last.isName() && last.plain() ? new Deallocated(last.text()) : null;
    }
}
