package tutti.wire;

import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.Statement;

/**
 * A statement that is not simply passed on.
 *
 * @param sql its text, or the texts of several that every node executes together, separated by {@link Statement#SEPARATOR}
 * @param targets the relations that it is about, as written, if they may be temporary ones
 * @param fills whether it makes a table from a query: from a transaction block other nodes get the table and its rows
 */
record UtilityStatement(String sql, List<String> targets, boolean fills) {
    /** A statement of which only the text matters. */
    static UtilityStatement of(String sql) {
        return new UtilityStatement(sql, List.of(), false);
    }

    /** Whether one of the relations that {@link Capture.Calls#settings} was asked about, which returned this row, is a temporary one. */
    static boolean temporary(List<@Nullable String> settings) {
        return !settings.isEmpty() && "t".equals(settings.getLast());
    }
}
