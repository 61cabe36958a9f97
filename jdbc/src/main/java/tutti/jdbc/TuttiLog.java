package tutti.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.postgresql.core.BaseConnection;
import org.postgresql.core.TransactionState;

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
    private static final Pattern LOGGED = Pattern
            .compile("logged as (" + TICKET + ")(?:, statement (\\d+) of the cycle)?");
    /** The driver sends more in several cycles, of which a later one is not sent when one has failed. */
    private static final int BATCH_MAX = 100;

    private final Connection connection;
    /** pgjdbc makes one statement of several rows that are inserted, or may. */
    private final boolean rewritten;
    /** What sets the session as it was before, by what is set. */
    private final Map<String, String> before = new HashMap<>();

    private TuttiLog(Connection connection) throws SQLException {
        this.connection = connection;
        this.rewritten = !connection.isWrapperFor(BaseConnection.class) || connection.unwrap(BaseConnection.class)
                .getQueryExecutor().isReWriteBatchedInsertsEnabled();
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
     * Uses a connection, which is this object's from now on, to one or several nodes; it may be a pool's. It is closed if this fails.
     *
     * @throws SQLException with {@code 0A000} if the cluster's protocol has no request logs, {@code 25001} if a transaction is open
     */
    public static TuttiLog over(Connection connection) throws SQLException {
        try {
            if (mayBeInTransaction(connection)) {
                throw new SQLException("a transaction is open on the connection: commit it, or roll it back, first",
                        "25001");
            }
            connection.setAutoCommit(true);
            TuttiLog log = new TuttiLog(connection);
            log.set("tutti.acknowledge", "logged", "SHOW tutti.acknowledge");
            return log;
        } catch (SQLException | RuntimeException failed) {
            try {
                connection.close();
            } catch (SQLException lost) {
                failed.addSuppressed(lost);
            }
            throw failed;
        }
    }

    private static boolean mayBeInTransaction(Connection connection) throws SQLException {
        return connection.isWrapperFor(BaseConnection.class)
                ? connection.unwrap(BaseConnection.class).getTransactionState() != TransactionState.IDLE
                : !connection.getAutoCommit();
    }

    /**
     * Sets something of the session until this is closed.
     *
     * @param question answers what the session has; nothing, if it is what it began with
     */
    private void set(String name, String value, String question) throws SQLException {
        if (before.containsKey(name)) {
            return;
        }
        try (Statement statement = connection.createStatement()) {
            String had;
            try (ResultSet answer = statement.executeQuery(question)) {
                had = answer.next() ? answer.getString(1) : null;
            }
            statement.execute("SET " + name + " = '" + value + "'");
            before.put(name, had == null || had.isEmpty() ? "RESET " + name : "SET " + name + " = '" + had + "'");
        }
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

    /** Some of several requests have not been logged; what is known of each. */
    public static final class NotAllLoggedException extends SQLException {
        private static final long serialVersionUID = 1;
        private final transient List<Optional<Ticket>> tickets;

        private NotAllLoggedException(SQLException cause, List<Optional<Ticket>> tickets) {
            super(cause.getMessage(), cause.getSQLState(), cause);
            this.tickets = tickets;
        }

        /** Of each request, in order, its ticket if it is logged. If the SQL state is of class {@code 08} others may be logged, too. */
        public List<Optional<Ticket>> tickets() {
            return tickets;
        }
    }

    /**
     * Hands requests in that differ in their parameters only, and returns when all are logged. They travel together and are ordered
     * together, so that many cost little more time than one; each is a transaction by itself, and executed in their order where they meet. Waits before that
     * while the node has too many that have not been executed. Needs nodes with PostgreSQL. Over a connection with pgjdbc's
     * {@code reWriteBatchedInserts}, which would make one request of several, they travel one by one.
     *
     * @param sql as for {@link #submit}
     * @param parameters of each
     * @return the tickets, in order
     * @throws NotAllLoggedException if some have been refused, or the connection was lost; those that are logged will be executed
     * @throws SQLException as {@link #submit}, if none was logged
     */
    public List<Ticket> submitAll(String sql, List<Object[]> parameters) throws SQLException {
        List<Optional<Ticket>> tickets = new ArrayList<>();
        set("tutti.requests", "statement", "SELECT current_setting('tutti.requests', true)");
        int together = rewritten ? 1 : BATCH_MAX;
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int from = 0; from < parameters.size(); from += together) {
                submit(statement, parameters.subList(from, Math.min(parameters.size(), from + together)), tickets);
            }
        } catch (SQLException failed) {
            if (tickets.stream().noneMatch(Optional::isPresent)) {
                throw failed;
            }
            while (tickets.size() < parameters.size()) {
                tickets.add(Optional.empty());
            }
            throw new NotAllLoggedException(failed, List.copyOf(tickets));
        }
        return tickets.stream().map(Optional::orElseThrow).toList();
    }

    private static void submit(PreparedStatement statement, List<Object[]> parameters, List<Optional<Ticket>> tickets)
            throws SQLException {
        for (Object[] each : parameters) {
            statement.clearParameters();
            for (int i = 0; i < each.length; i++) {
                statement.setObject(i + 1, each[i]);
            }
            statement.addBatch();
        }
        List<Optional<Ticket>> here = new ArrayList<>(Collections.nCopies(parameters.size(), Optional.empty()));
        try {
            statement.executeBatch();
            noteTickets(statement, here);
        } catch (SQLException failed) {
            try {
                noteTickets(statement, here);
            } catch (SQLException untold) {
                failed.addSuppressed(untold);
            }
            throw failed;
        } finally {
            tickets.addAll(here);
        }
        if (here.stream().anyMatch(Optional::isEmpty)) {
            throw new SQLException("a statement changes nothing, and has been executed without being logged: use an"
                    + " ordinary connection for queries", "0A000");
        }
    }

    private static void noteTickets(Statement of, List<Optional<Ticket>> tickets) throws SQLException {
        int next = 0;
        for (SQLWarning told = of.getWarnings(); told != null; told = told.getNextWarning()) {
            Matcher logged = LOGGED.matcher(String.valueOf(told.getMessage()));
            if (logged.matches()) {
                String number = logged.group(2);
                int at = number == null ? next++ : Integer.parseInt(number) - 1;
                tickets.set(at, Optional.of(new Ticket(Objects.requireNonNull(logged.group(1)))));
            }
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
        long begunNanos = System.nanoTime();
        long nanos = TimeUnit.NANOSECONDS.convert(patience);
        Outcome outcome = outcome(ticket);
        while (outcome == Outcome.IN_PROGRESS && System.nanoTime() - begunNanos < nanos) {
            outcome = outcome(ticket);
        }
        return outcome;
    }

    /** Closes the connection; a pool has it back as it was. What has been logged will be executed. */
    @Override
    public void close() throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String each : before.values()) {
                statement.execute(each);
            }
        } catch (SQLException failed) {
            // nobody may use it any more as it is
            connection.abort(Runnable::run);
        } finally {
            connection.close();
        }
    }
}
