package tutti.bench;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client that inserts one row after the other and remembers how long it was kept waiting: from one acknowledged row, after a short
 * rest, to the next one. Started with its own thread; everything else may be called by any.
 */
final class FailoverClient implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(FailoverClient.class);
    private static final long REST_MILLIS = 10;
    private static final long JOIN_MILLIS_MAX = 30_000;
    private static final Properties OPTIONS = new Properties();

    static {
        OPTIONS.setProperty("connectTimeout", "2");
        OPTIONS.setProperty("socketTimeout", "10");
        OPTIONS.setProperty("loginTimeout", "5");
    }

    private final String url;
    private final AtomicInteger numbers;
    private final CountDownLatch stop = new CountDownLatch(1);
    private final Thread thread;
    private volatile boolean goHome;

    /* Guarded by this. */
    private long longestNanos;
    private long forgottenNanos = System.nanoTime();
    private long lastAcknowledgedNanos = forgottenNanos;

    private FailoverClient(String url, AtomicInteger numbers) {
        this.url = url;
        this.numbers = numbers;
        thread = Thread.ofPlatform().daemon().name("failover-client").start(this::work);
    }

    /**
     * Starts one.
     *
     * @param url of the nodes, the one at which it is at home first
     * @param numbers rows that nobody has inserted yet
     */
    static FailoverClient start(String url, AtomicInteger numbers) {
        return new FailoverClient(url, numbers);
    }

    private void work() {
        Connection connection = null;
        long since = System.nanoTime();
        try {
            do {
                try {
                    if (goHome) {
                        goHome = false;
                        connection = closed(connection);
                    }
                    if (connection == null) {
                        connection = DriverManager.getConnection(url, OPTIONS);
                    }
                    try (PreparedStatement insert = connection.prepareStatement("insert into failover values (?)")) {
                        insert.setInt(1, numbers.getAndIncrement());
                        int _ = insert.executeUpdate();
                    }
                    acknowledged(since);
                } catch (SQLException e) {
                    LOG.debug("{}: {} (SQLSTATE {})", url, e.getMessage(), e.getSQLState());
                    connection = closed(connection);
                    if (stop.await(REST_MILLIS, TimeUnit.MILLISECONDS)) {
                        return;
                    }
                    continue;
                }
                if (stop.await(REST_MILLIS, TimeUnit.MILLISECONDS)) {
                    return;
                }
                since = System.nanoTime();
            } while (true);
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        } finally {
            closed(connection);
        }
    }

    private synchronized void acknowledged(long since) {
        long now = System.nanoTime();
        lastAcknowledgedNanos = now;
        longestNanos = Math.max(longestNanos, Math.min(now - since, now - forgottenNanos));
        notifyAll();
    }

    private static @Nullable Connection closed(@Nullable Connection connection) {
        if (connection != null) {
            try {
                connection.close();
            } catch (SQLException e) {
                LOG.debug("not closed", e);
            }
        }
        return null;
    }

    /** Has it connect anew, and forgets what it has waited. */
    void goHome() {
        goHome = true;
    }

    /** Forgets what it has waited so far. */
    synchronized void forget() {
        longestNanos = 0;
        forgottenNanos = System.nanoTime();
    }

    /** The longest wait since the last {@link #forget}, in milliseconds. */
    synchronized double longestMillis() {
        return longestNanos / 1e6;
    }

    /** Waits until a row was acknowledged after a point in time; false if none was within a time. */
    synchronized boolean awaitAfter(long nanos, long patienceNanos) throws InterruptedException {
        long deadline = System.nanoTime() + patienceNanos;
        while (lastAcknowledgedNanos - nanos <= 0) {
            long left = (deadline - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                return false;
            }
            wait(left);
        }
        return true;
    }

    @Override
    public void close() {
        stop.countDown();
        try {
            thread.join(JOIN_MILLIS_MAX);
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        }
    }
}
