package tutti.workload.client;

import java.sql.Connection;
import java.time.Duration;
import java.util.List;

/**
 * How clients run.
 *
 * @param urls JDBC URLs of the nodes, with whatever they need of user, password and options; session s is at home at node
 *            s modulo their number, and at others while that is down
 * @param sessions clients at work at a time, 1 to 1,024
 * @param readOnlySessions how many of them only read; the last ones
 * @param isolation a constant of {@link Connection}
 * @param duration how long; the run ends by itself
 * @param seed of inputs and pauses
 * @param historyLimit most transactions; a run that reaches it stops
 */
public record ClientOptions(List<String> urls, int sessions, int readOnlySessions, int isolation, Duration duration,
        long seed, int historyLimit) {
    private static final int SESSIONS_MAX = 1_024;

    public ClientOptions {
        urls = List.copyOf(urls);
        require(!urls.isEmpty(), "at least one URL is needed");
        require(sessions >= 1 && sessions <= SESSIONS_MAX,
                "sessions must be 1 to " + SESSIONS_MAX + ", was " + sessions);
        require(readOnlySessions >= 0 && readOnlySessions <= sessions,
                "read-only sessions must be 0 to " + sessions + ", was " + readOnlySessions);
        require(duration.isPositive(), "duration must be positive, was " + duration);
        require(historyLimit >= 1, "history limit must be at least 1, was " + historyLimit);
    }

    /** The usual: a fourth of the sessions only read, REPEATABLE READ, at most a million transactions. */
    public static ClientOptions of(List<String> urls, int sessions, Duration duration, long seed) {
        return new ClientOptions(urls, sessions, sessions / 4, Connection.TRANSACTION_REPEATABLE_READ, duration, seed,
                1_000_000);
    }

    /** A copy at another isolation level of {@link Connection}. */
    public ClientOptions withIsolation(int other) {
        return new ClientOptions(urls, sessions, readOnlySessions, other, duration, seed, historyLimit);
    }

    /** A copy with another bound of the history. */
    public ClientOptions withHistoryLimit(int other) {
        return new ClientOptions(urls, sessions, readOnlySessions, isolation, duration, seed, other);
    }

    boolean readOnly(int session) {
        return session >= sessions - readOnlySessions;
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new IllegalArgumentException(message);
        }
    }
}
