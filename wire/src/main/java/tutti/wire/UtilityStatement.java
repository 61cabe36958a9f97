package tutti.wire;

import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.ErrorFields;

/**
 * A statement that is not simply passed on.
 *
 * @param sql its text, or the texts of several that every node executes together, separated by {@link Statement#SEPARATOR}
 * @param targets the relations that it is about, as written, if they may be temporary ones
 * @param concurrently whether the client has said CONCURRENTLY, which has been taken out of the text
 * @param fills whether it makes a table from a query: from a transaction block other nodes get the table and its rows
 */
record UtilityStatement(String sql, List<String> targets, boolean concurrently, boolean fills) {
    /** What a client hears who has said CONCURRENTLY. */
    static final ErrorFields NOT_CONCURRENTLY = ErrorFields.of("NOTICE", "00000",
            "CONCURRENTLY has no effect: every node executes the statement at one position of the order, and other transactions"
                    + " wait meanwhile");

    /** Why it is not executed in a transaction block, or null. */
    @Nullable
    ErrorFields refusedInBlock() {
        return concurrently
                ? Errors.error("25001",
                        sql.strip().split("\\s", 2)[0].toUpperCase(Locale.ROOT)
                                + " ... CONCURRENTLY cannot run inside a transaction block")
                : null;
    }

    /** A statement of which only the text matters. */
    static UtilityStatement of(String sql) {
        return new UtilityStatement(sql, List.of(), false, false);
    }

    /** Whether one of the relations that {@link Capture.Calls#settings} was asked about, which returned this row, is a temporary one. */
    static boolean temporary(List<@Nullable String> settings) {
        return !settings.isEmpty() && "t".equals(settings.getLast());
    }
}
