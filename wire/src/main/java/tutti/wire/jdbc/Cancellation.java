package tutti.wire.jdbc;

import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/** Lets a client cancel what its session executes, and nothing that comes after. Safe for use from any thread. */
final class Cancellation {
    private boolean executing;
    private boolean asked;
    private @Nullable Statement running;

    /** A statement begins; it may have to be tried several times. */
    synchronized void begin() {
        executing = true;
        asked = false;
    }

    /**
     * The engine begins with it.
     *
     * @throws SQLException with {@code 57014} if it is to be cancelled
     */
    synchronized void running(Statement statement) throws SQLException {
        if (asked) {
            throw new SQLException("canceling statement due to user request", "57014");
        }
        running = statement;
    }

    /** The engine has ended with it. */
    synchronized void stopped() {
        running = null;
    }

    /** The statement has ended; answers whether it was to be cancelled. */
    synchronized boolean end() {
        executing = false;
        return asked;
    }

    /** Cancels what is being executed, if something is. */
    synchronized void ask() {
        if (!executing) {
            return;
        }
        asked = true;
        if (running != null) {
            try {
                running.cancel();
            } catch (SQLException closed) {
                // It has ended on its own.
            }
        }
    }
}
