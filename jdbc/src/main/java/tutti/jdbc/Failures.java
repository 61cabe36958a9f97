package tutti.jdbc;

import java.sql.BatchUpdateException;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.SQLInvalidAuthorizationSpecException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransactionRollbackException;
import java.sql.SQLTransientConnectionException;
import org.jspecify.annotations.Nullable;

/** The errors that the driver makes itself, and what it tells from those of nodes. */
final class Failures {
    /** The transaction was rolled back and may be run again. */
    static final String RETRY = "40001";
    /** Whether the transaction has committed is not known, or its result is lost. */
    static final String IN_DOUBT = "08007";
    /** What pgjdbc says when it does not know how to go on with a node's answer, which has no state of its own. */
    static final String REJECTED = "08004";
    private static final String CANNOT_CONNECT_NOW = "57P03";

    private Failures() {}

    static SQLException invalid(String message) {
        return new SQLException(message, "22023");
    }

    static SQLException invalid(String message, Throwable cause) {
        return new SQLException(message, "22023", cause);
    }

    static SQLException notSupported(String message) {
        return new SQLFeatureNotSupportedException(message, "0A000");
    }

    static SQLException closed(String what) {
        return new SQLNonTransientConnectionException("this " + what + " is closed", "08003");
    }

    static SQLException noNode(String message, @Nullable Throwable cause) {
        return new SQLTransientConnectionException(message, "08001", cause);
    }

    static SQLException noPassword(SQLException cause) {
        return new SQLInvalidAuthorizationSpecException("the node asks for a password, and there is none: give it to"
                + " getConnection, or as property password (" + cause.getMessage() + ")", "28P01", cause);
    }

    static SQLException sessionLost(String message, @Nullable Throwable cause) {
        return new SQLNonTransientConnectionException(message, "08006", cause);
    }

    static SQLException retry(String message, @Nullable Throwable cause) {
        return new SQLTransactionRollbackException(message, RETRY, cause);
    }

    static SQLException inDoubt(String message, @Nullable Throwable cause) {
        return new SQLNonTransientConnectionException(message, IN_DOUBT, cause);
    }

    static SQLException inDoubt(BatchUpdateException batch, String message) {
        return new BatchUpdateException(message, IN_DOUBT, 0, batch.getLargeUpdateCounts(), batch);
    }

    /** Whether a node has answered that it does not serve, or does not take writes, at the moment; nothing was done. */
    static boolean refusedNow(SQLException failure) {
        return CANNOT_CONNECT_NOW.equals(failure.getSQLState());
    }

    /** Whether the node has ended the session. */
    static boolean ended(SQLException failure) {
        String state = failure.getSQLState();
        return "57P01".equals(state) || "57P02".equals(state) || "57P05".equals(state);
    }

    /** Whether another node may be able to do what this one could not when it was asked for a session. */
    static boolean anotherMayServe(SQLException failure) {
        String state = failure.getSQLState();
        return state == null || state.startsWith("08") || state.startsWith("57P") || state.startsWith("53")
                || state.startsWith("58") || state.startsWith("XX");
    }
}
