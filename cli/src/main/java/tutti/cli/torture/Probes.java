package tutti.cli.torture;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.check.CheckResult;

/**
 * Clients of the driver {@code jdbc:tutti:}, one at home at each node, that insert one row after the other: how long a client waits while
 * something is broken, and whether every row that was acknowledged is there in the end. Safe for several threads.
 */
final class Probes implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Probes.class);
    private static final String TABLE = "torture_probe";
    private static final long PAUSE_MILLIS = 25;
    private static final long JOIN_MILLIS_MAX = 90_000;
    private static final int ROWS_SHOWN = 20;
    private static final Properties OPTIONS = new Properties();

    static {
        OPTIONS.setProperty("connectTimeout", "2");
        OPTIONS.setProperty("socketTimeout", "10");
        OPTIONS.setProperty("loginTimeout", "5");
    }

    private final CountDownLatch stop = new CountDownLatch(1);
    private final AtomicInteger numbers = new AtomicInteger();
    private final BitSet acknowledged = new BitSet();
    private final BitSet refused = new BitSet();
    private final AtomicLong unknown = new AtomicLong();
    private final List<Thread> threads = new ArrayList<>();
    private final AtomicLong longestNanos = new AtomicLong();
    private final AtomicInteger round = new AtomicInteger();

    private Probes() {}

    /** Makes the table, in place of any there is. */
    static void createTable(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("drop table if exists " + TABLE);
            statement.execute("create table " + TABLE + " (id int primary key)");
        }
    }

    /**
     * Starts them.
     *
     * @param urls of the cluster, each with another node first
     */
    static Probes start(List<String> urls) {
        Probes probes = new Probes();
        urls.forEach(url -> probes.threads
                .add(Thread.ofPlatform().daemon().name("probe-" + probes.threads.size())
                        .start(() -> probes.work(url))));
        return probes;
    }

    private void work(String url) {
        Connection connection = null;
        long last = System.nanoTime();
        int connected = 0;
        while (stop.getCount() > 0) {
            int number = numbers.getAndIncrement();
            boolean inserting = false;
            try {
                if (connected != round.get()) {
                    connected = round.get();
                    connection = closed(connection);
                }
                if (connection == null) {
                    connection = DriverManager.getConnection(url, OPTIONS);
                }
                inserting = true;
                try (PreparedStatement insert = connection.prepareStatement("insert into " + TABLE + " values (?)")) {
                    insert.setInt(1, number);
                    int _ = insert.executeUpdate();
                }
                note(acknowledged, number);
                long now = System.nanoTime();
                longestNanos.accumulateAndGet(now - last, Math::max);
                if (stop.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS)) {
                    break;
                }
                last = System.nanoTime();
            } catch (SQLException e) {
                LOG.debug("{}: {} (SQLSTATE {})", url, e.getMessage(), e.getSQLState());
                if (inserting && "40001".equals(e.getSQLState())) {
                    note(refused, number);
                } else if (inserting) {
                    unknown.incrementAndGet();
                    connection = closed(connection);
                }
                waitABit();
            } catch (InterruptedException _) {
                Thread.currentThread().interrupt();
                break;
            }
        }
        closed(connection);
    }

    private void waitABit() {
        try {
            boolean stopped = stop.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS);
            LOG.trace("stopped: {}", stopped);
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        }
    }

    private static void note(BitSet to, int number) {
        synchronized (to) {
            to.set(number);
        }
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

    /** Has every client connect anew: where all nodes are up, it is at home then. */
    void goHome() {
        round.incrementAndGet();
    }

    /** The longest time for which a client waited until its next row was acknowledged, since this was last asked, in milliseconds. */
    long longestWaitMillis() {
        return longestNanos.getAndSet(0) / 1_000_000;
    }

    /** How many rows have been acknowledged. */
    long acknowledged() {
        synchronized (acknowledged) {
            return acknowledged.cardinality();
        }
    }

    /** Stops them and waits. */
    @Override
    public void close() {
        stop.countDown();
        for (Thread thread : threads) {
            try {
                thread.join(JOIN_MILLIS_MAX);
            } catch (InterruptedException _) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    /** What a database holds of what they were told. They have stopped. */
    CheckResult check(String database, Connection connection) throws SQLException {
        long begun = System.nanoTime();
        BitSet there = new BitSet();
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select id from " + TABLE)) {
            while (rows.next()) {
                there.set(rows.getInt(1));
            }
        }
        List<CheckResult.Violation> violations = new ArrayList<>();
        BitSet lost = (BitSet) acknowledged.clone();
        lost.andNot(there);
        lost.stream().limit(ROWS_SHOWN).forEach(id -> violations.add(CheckResult.Violation.of("acknowledged is present",
                "row " + id, "its client was told that it had committed, but it is not there")));
        BitSet surprising = (BitSet) refused.clone();
        surprising.and(there);
        surprising.stream().limit(ROWS_SHOWN).forEach(id -> violations.add(CheckResult.Violation.of("failed is absent",
                "row " + id, "its client was told that it had failed, but it is there")));
        return new CheckResult("probes: what " + database + " holds",
                acknowledged.cardinality() + " rows acknowledged, "
                        + unknown + " in doubt",
                violations, List.of(), (System.nanoTime() - begun) / 1e9);
    }
}
