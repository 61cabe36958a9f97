package tutti.workload.client;

import java.sql.SQLException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/**
 * What an SQL error means to a client that wants its work done: try again here, go elsewhere, or give up.
 *
 * @param kind what to do
 * @param cause a short stable name for counting: Tutti's label of the abort if the error's DETAIL names one, otherwise
 *            made from the SQLSTATE
 */
public record SqlFailure(Kind kind, String cause) {
    /** What to do about it. */
    public enum Kind {
        /** The transaction was rolled back for passing reasons: run it again. */
        ABORT,
        /** This node cannot be used now; if it was asked to commit, whether it did is unknown. */
        NODE_LOST,
        /** This node makes no changes, or not this one; nothing was changed, and another node may make it. */
        ELSEWHERE,
        /** Not expected. */
        ERROR
    }

    private static final Pattern LABEL = Pattern
            .compile("\\b(certification|victim|too-old|first-updater|deadlock|disconnect|overload)\\b");

    /** What this error means. */
    public static SqlFailure of(SQLException e) {
        String state = e.getSQLState();
        if (state == null) {
            return new SqlFailure(Kind.ERROR, "error-unknown");
        }
        return switch (state) {
            case "40001" -> new SqlFailure(Kind.ABORT, label(e, "first-updater"));
            case "40P01" -> new SqlFailure(Kind.ABORT, label(e, "deadlock"));
            case "25006" -> new SqlFailure(Kind.ELSEWHERE, "read-only");
            // Shut down, crashed, not yet ready, terminated for idleness; too many connections; no space on its disk.
            case "57P01", "57P02", "57P03", "57P05", "53300", "53100" ->
                new SqlFailure(Kind.NODE_LOST, "node-" + state);
            default -> state.startsWith("08")
                    ? new SqlFailure(Kind.NODE_LOST, "connection")
                    : new SqlFailure(Kind.ERROR, "error-" + state);
        };
    }

    /** Whether a statement that commits by itself may have committed all the same: the answer was lost, rather than a refusal. */
    public boolean mayHaveCommitted() {
        return kind == Kind.NODE_LOST && !cause.equals("node-57P03") && !cause.equals("node-53300")
                && !cause.equals("node-53100");
    }

    /** Whether to run it again. */
    public boolean isAbort() {
        return kind == Kind.ABORT;
    }

    private static String label(SQLException e, String otherwise) {
        if (e instanceof PSQLException postgres) {
            ServerErrorMessage message = postgres.getServerErrorMessage();
            String detail = message == null ? null : message.getDetail();
            if (detail != null) {
                Matcher matcher = LABEL.matcher(detail);
                if (matcher.find()) {
                    return matcher.group(1);
                }
            }
        }
        return otherwise;
    }
}
