package tutti.workload.client;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client: runs one transaction after the other until told to stop, and moves to another node while its own is down. A
 * thread of its own.
 *
 * <p>
 * How a transaction ended is told with care, since checkers rely on it. An error before COMMIT was sent: it failed. An
 * error that answers COMMIT: it failed if the error says that it was rolled back (serialization failure, deadlock, broken
 * constraint); whatever else it is, the outcome is unknown. Nothing is tried twice.
 */
final class ClientSession implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(ClientSession.class);
    private static final int UNEXPECTED_IN_A_ROW_MAX = 10;
    private static final long BACK_OFF_MILLIS_MAX = 64;
    private static final long RECONNECT_MILLIS_MAX = 500;
    private static final long HOME_PROBE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final int number;
    private final ClientOptions options;
    private final ClientWorkload workload;
    private final ClientRun run;
    private final SplittableRandom random;
    private final int home;
    private volatile @Nullable Connection connection;
    private int node;
    private long homeProbedNanos;
    private int unexpectedInARow;
    private int failuresInARow;
    private int refusalsInARow;

    ClientSession(int number, ClientOptions options, ClientWorkload workload, ClientRun run) {
        this.number = number;
        this.options = options;
        this.workload = workload;
        this.run = run;
        random = new SplittableRandom(options.seed() * 31 + number);
        home = number % options.urls().size();
        node = home;
    }

    @Override
    public void run() {
        try {
            while (!run.stopping()) {
                Connection current = connected();
                if (current != null) {
                    perform(current);
                }
            }
        } catch (InterruptedException e) {
            LOG.debug("client {} was interrupted", number, e);
        } catch (RuntimeException e) {
            LOG.error("client {} failed", number, e);
            run.fail("client " + number + " failed: " + e);
        } finally {
            leave();
        }
    }

    /** Breaks off whatever is under way, from another thread. */
    void abort() {
        Connection current = connection;
        if (current != null) {
            try {
                current.abort(Runnable::run);
            } catch (SQLException e) {
                LOG.warn("the connection of client {} could not be aborted", number, e);
            }
        }
    }

    private void perform(Connection current) throws InterruptedException {
        ClientWorkload.Attempt attempt = workload.next(number, options.readOnly(number));
        int at = node;
        long begun = System.nanoTime();
        ClientOutcome outcome = ClientOutcome.FAILED;
        boolean committing = false;
        try {
            if (attempt.execute(current)) {
                committing = true;
                current.commit();
                outcome = ClientOutcome.OK;
            } else {
                current.rollback();
            }
            unexpectedInARow = 0;
            failuresInARow = 0;
        } catch (SQLException e) {
            outcome = committing && !saysRolledBack(e) ? ClientOutcome.UNKNOWN : ClientOutcome.FAILED;
            failed(current, e);
        }
        run.ended(outcome);
        if (!attempt.ended(at, begun, System.nanoTime(), outcome)) {
            run.fail("the history is full: run for a shorter time, or allow it more than " + options.historyLimit()
                    + " transactions");
        }
        if (failuresInARow > 0) {
            // Full jitter: losers of the same conflict do not meet again at the same time.
            long most = Math.min(BACK_OFF_MILLIS_MAX, 1L << Math.min(failuresInARow, 10));
            run.pause(random.nextLong(TimeUnit.MILLISECONDS.toNanos(most)));
        }
        long think = run.thinkNanos();
        if (think > 0) {
            run.pause(random.nextLong(2 * think));
        }
    }

    private static boolean saysRolledBack(SQLException e) {
        String state = e.getSQLState();
        return state != null
                && (state.equals("40001") || state.equals("40P01") || state.equals("25006") || state.startsWith("23"));
    }

    private void failed(Connection current, SQLException e) {
        SqlFailure failure = SqlFailure.of(e);
        run.failed(failure.cause());
        failuresInARow++;
        // Somebody else inserted the same new row at the same time.
        boolean conflict = failure.isAbort() || "23505".equals(e.getSQLState());
        if (failure.kind() == SqlFailure.Kind.NODE_LOST || failure.kind() == SqlFailure.Kind.ELSEWHERE) {
            lost(e);
            return;
        }
        if (conflict) {
            unexpectedInARow = 0;
        } else {
            LOG.warn("client {} at node {}: {} (SQLSTATE {})", number, node, e.getMessage(), e.getSQLState());
            if (++unexpectedInARow >= UNEXPECTED_IN_A_ROW_MAX) {
                run.fail("client " + number + " at node " + node + " had " + unexpectedInARow
                        + " unexpected errors in a row, the last one " + e.getMessage() + " (SQLSTATE "
                        + e.getSQLState() + ")");
            }
        }
        try {
            current.rollback();
        } catch (SQLException again) {
            again.addSuppressed(e);
            lost(again);
        }
    }

    /** The connection at the client's own node if that can be had, or at another; null if there is none at the moment. */
    private @Nullable Connection connected() throws InterruptedException {
        Connection current = connection;
        if (current != null && node != home && System.nanoTime() - homeProbedNanos > HOME_PROBE_NANOS) {
            homeProbedNanos = System.nanoTime();
            Connection back = open(home);
            if (back != null) {
                leave();
                node = home;
                connection = back;
                return back;
            }
        }
        if (current != null) {
            return current;
        }
        current = open(node);
        if (current == null) {
            node = (node + 1) % options.urls().size();
            long most = Math.min(RECONNECT_MILLIS_MAX, 8L << Math.min(refusalsInARow++, 10));
            run.pause(random.nextLong(TimeUnit.MILLISECONDS.toNanos(most)));
            return null;
        }
        refusalsInARow = 0;
        homeProbedNanos = System.nanoTime();
        connection = current;
        return current;
    }

    private @Nullable Connection open(int at) {
        try {
            return open(options.urls().get(at), options.isolation(), options.readOnly(number));
        } catch (SQLException e) {
            LOG.debug("client {} cannot connect to node {}: {}", number, at, e.getMessage());
            run.failed("connect");
            if (SqlFailure.of(e).kind() != SqlFailure.Kind.NODE_LOST) {
                run.fail("client " + number + " cannot connect to " + options.urls().get(at) + ": " + e.getMessage());
            }
            return null;
        }
    }

    private static Connection open(String url, int isolation, boolean readOnly) throws SQLException {
        Connection opened = ClientConnections.open(url);
        try {
            opened.setTransactionIsolation(isolation);
            opened.setReadOnly(readOnly);
            opened.setAutoCommit(false);
            return opened;
        } catch (SQLException e) {
            opened.close();
            throw e;
        }
    }

    private void lost(SQLException why) {
        LOG.debug("client {} lost node {}: {}", number, node, why.getMessage());
        leave();
        node = (node + 1) % options.urls().size();
    }

    private void leave() {
        Connection current = connection;
        if (current != null) {
            connection = null;
            try {
                current.close();
            } catch (SQLException e) {
                LOG.debug("client {} could not close its connection", number, e);
            }
        }
    }
}
