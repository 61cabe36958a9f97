package tutti.pgfront;

import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/**
 * Lets a client, or a limit of time, cancel what a session executes, and nothing that comes after. Safe for use from any
 * thread.
 */
final class Cancellation {
    private static final String USER = "canceling statement due to user request";
    private static final String TIMEOUT = "canceling statement due to statement timeout";

    private boolean executing;
    private long statement;
    private @Nullable String asked;
    private @Nullable Statement running;

    /** A statement begins, which may have to be tried several times; answers which it is, for {@link #late}. */
    synchronized long begin() {
        executing = true;
        asked = null;
        return ++statement;
    }

    /**
     * The engine begins with it.
     *
     * @throws SQLException with {@code 57014} if it is to be cancelled
     */
    synchronized void running(Statement statement) throws SQLException {
        if (asked != null) {
            throw new SQLException(asked, "57014");
        }
        running = statement;
    }

    /** The engine has ended with it. */
    synchronized void stopped() {
        running = null;
    }

    /** The statement has ended; answers why it was to be cancelled, or null. */
    synchronized @Nullable String end() {
        executing = false;
        return asked;
    }

    /** Cancels what is being executed, if something is. */
    synchronized void ask() {
        cancel(USER);
    }

    /** Cancels a statement that has had its time, if it is still being executed. */
    synchronized void late(long which) {
        if (which == statement) {
            cancel(TIMEOUT);
        }
    }

    private void cancel(String why) {
        if (!executing) {
            return;
        }
        asked = why;
        if (running != null) {
            try {
                running.cancel();
            } catch (SQLException closed) {
                // It has ended on its own.
            }
        }
    }
}
