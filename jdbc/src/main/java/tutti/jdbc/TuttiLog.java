package tutti.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.time.Duration;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Hands transactions in to the request logs of a cluster under protocol {@code hybrid}, and asks what became of
 * them. A request is one statement, a transaction by itself: with PostgreSQL most often the {@code CALL} of a stored one, with H2 and HSQLDB
 * an INSERT, UPDATE, DELETE or MERGE. It has been handed in when it is logged:
 * durably ordered, so that it will be executed exactly once whatever becomes of the node. Its effects are seen later.
 *
 * <p>
 * For one thread at a time, as its connection is.
 */
public final class TuttiLog implements AutoCloseable {
    private static final Pattern TICKET = Pattern.compile("\\d{1,10}:\\d{1,10}\\.\\d{1,10}(?:@[0-9a-f]{1,8})?");
    private static final Pattern LOGGED = Pattern.compile("logged as (" + TICKET + ")");

    private final Connection connection;

    private TuttiLog(Connection connection) {
        this.connection = connection;
    }

    /**
     * The name of a logged request, by which any node of its cluster can be asked about it. Other clusters refuse it: it names the cluster.
     *
     * @param name as the node gave it
     */
    public record Ticket(String name) {
        /**
         * Checks the form.
         *
         * @throws IllegalArgumentException if no node names requests so
         */
        public Ticket {
            if (!TICKET.matcher(name).matches()) {
                throw new IllegalArgumentException("not a ticket, which has the form 1:2.3@26eb343a: " + name);
            }
        }

        @Override
        public String toString() {
            return name;
        }
    }

    /** What became of a request. */
    public enum Outcome {
        /** It has been executed, and took effect. */
        COMMITTED,
        /** It has been executed, and refused: by a constraint, or by the function itself. */
        ABORTED,
        /** It has not been executed yet. */
        IN_PROGRESS,
        /** The node knows nothing of it any more. */
        UNKNOWN
    }

    /**
     * Uses a connection, which is this object's from now on, to one or several nodes.
     *
     * @throws SQLException with {@code 0A000} if the cluster's protocol has no request logs, {@code 25001} if a transaction is open
     */
    public static TuttiLog over(Connection connection) throws SQLException {
        connection.setAutoCommit(true);
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET tutti.acknowledge = 'logged'");
        }
        return new TuttiLog(connection);
    }

    /**
     * Hands a request in and returns when it is logged. Waits before that while the node has too many that have not been executed.
     *
     * @param sql one statement, with a question mark for each parameter
     * @throws SQLException with {@code 0A000} if the owner of a log cannot execute it, for instance because it may come out differently in
     *             another session, {@code 42883} if there is no such function or procedure; then nothing was logged. With class {@code 08} if the connection was lost: then it is
     *             not known
     */
    public Ticket submit(String sql, Object... parameters) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < parameters.length; i++) {
                statement.setObject(i + 1, parameters[i]);
            }
            statement.execute();
            for (SQLWarning told = statement.getWarnings(); told != null; told = told.getNextWarning()) {
                Matcher logged = LOGGED.matcher(String.valueOf(told.getMessage()));
                if (logged.matches()) {
                    return new Ticket(Objects.requireNonNull(logged.group(1)));
                }
            }
            throw new SQLException("the statement changes nothing, and has been executed without being logged: use an"
                    + " ordinary connection for queries", "0A000");
        }
    }

    /** Asks what became of a request; waits some seconds for it. */
    public Outcome outcome(Ticket ticket) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet answer = statement.executeQuery("SELECT tutti_outcome('" + ticket + "')")) {
            answer.next();
            return Outcome.valueOf(answer.getString(1).replace(' ', '_').toUpperCase(Locale.ROOT));
        }
    }

    /**
     * Waits until a request has been executed, and asks what became of it.
     *
     * @param patience after which {@link Outcome#IN_PROGRESS} is answered
     */
    public Outcome await(Ticket ticket, Duration patience) throws SQLException {
        long deadline = System.nanoTime() + patience.toNanos();
        Outcome outcome = outcome(ticket);
        while (outcome == Outcome.IN_PROGRESS && System.nanoTime() < deadline) {
            outcome = outcome(ticket);
        }
        return outcome;
    }

    /** Closes the connection. What has been logged will be executed. */
    @Override
    public void close() throws SQLException {
        connection.close();
    }
}
