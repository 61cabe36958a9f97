package tutti.workload.tpcc;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * TPC-C under way: terminals at work against the nodes of a cluster, or against one database. Started by {@link #start},
 * ends by itself when the duration is over; {@link #result} waits for that. Safe for use from any thread.
 */
public final class TpccRun {
    private static final Logger LOG = LoggerFactory.getLogger(TpccRun.class);
    // How long a transaction that is under way at the end may take before its connection is cut.
    private static final long GRACE_SECONDS = 10;

    private final TpccOptions options;
    private final TpccLedger ledger;
    private final TpccMetrics metrics;
    private final TpccNodes nodes;
    private final CountDownLatch stop = new CountDownLatch(1);
    private final AtomicReference<String> failure = new AtomicReference<>();
    private final List<TpccTerminal> terminals = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private final ScheduledThreadPoolExecutor clock;

    private TpccRun(TpccOptions options, TpccLedger.Baseline baseline, Consumer<TpccSnapshot> everySecond) {
        this.options = options;
        ledger = new TpccLedger(baseline, options.runId() * TpccOptions.TERMINALS_MAX, options.ledgerLimit());
        metrics = new TpccMetrics(options.databases().stream().map(TpccDatabase::name).toList(), System.nanoTime());
        nodes = new TpccNodes(options.databases(), metrics);
        TpccConstants constants = TpccConstants.forRun(TpccConstants.forLoad(options.population().seed()),
                options.seed());
        for (int i = 0; i < options.terminals(); i++) {
            TpccTerminal terminal = new TpccTerminal(i, options, constants, nodes, metrics, ledger, stop, this::fail);
            terminals.add(terminal);
            threads.add(Thread.ofPlatform().daemon().name("tpcc-terminal-" + i).unstarted(terminal));
        }
        clock = new ScheduledThreadPoolExecutor(1, Thread.ofPlatform().daemon().name("tpcc-clock").factory());
        clock.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        threads.forEach(Thread::start);
        ScheduledFuture<?> _ = clock.scheduleAtFixedRate(() -> second(everySecond), 1, 1, TimeUnit.SECONDS);
        ScheduledFuture<?> _ = clock.schedule(this::stop, options.duration().toNanos(), TimeUnit.NANOSECONDS);
    }

    /**
     * Starts the terminals. What is in the database must be at rest until then.
     *
     * @param everySecond told about the run once a second, from the run's own thread
     * @throws SQLException if no database can be asked about the state before the run
     */
    public static TpccRun start(TpccOptions options, Consumer<TpccSnapshot> everySecond) throws SQLException {
        return new TpccRun(options, baseline(options), everySecond);
    }

    private static TpccLedger.Baseline baseline(TpccOptions options) throws SQLException {
        SQLException failed = null;
        for (TpccDatabase database : options.databases()) {
            try (Connection connection = database.open();
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery("""
                            select d_w_id, d_id, d_next_o_id, coalesce((select min(no_o_id) from new_order
                            where no_w_id = d_w_id and no_d_id = d_id), d_next_o_id) from district""")) {
                Map<TpccLedger.District, TpccLedger.Mark> districts = new HashMap<>();
                while (row.next()) {
                    districts.put(new TpccLedger.District(row.getInt(1), row.getInt(2)),
                            new TpccLedger.Mark(row.getInt(3), row.getInt(4)));
                }
                TpccScale scale = options.population().scale();
                if (districts.size() != scale.warehouses() * scale.districts()) {
                    throw new SQLException("there are " + districts.size() + " districts at " + database.name()
                            + ", but the run is for " + scale + ": load that population first", "02000");
                }
                return new TpccLedger.Baseline(districts);
            } catch (SQLException e) {
                if (failed != null) {
                    e.addSuppressed(failed);
                }
                failed = e;
            }
        }
        throw Objects.requireNonNull(failed, "there is at least one database");
    }

    /** The run so far. */
    public TpccSnapshot snapshot() {
        return metrics.snapshot(System.nanoTime());
    }

    /** Ends the run: every terminal finishes what it is at. Does not wait; idempotent. */
    public void stop() {
        stop.countDown();
    }

    /** Waits for the end of the run. Called once. */
    public TpccResult result() throws InterruptedException {
        try {
            stop.await();
            if (!join(GRACE_SECONDS)) {
                LOG.warn("transactions still run {} s after the end: their connections are cut", GRACE_SECONDS);
                terminals.forEach(TpccTerminal::abort);
                if (!join(GRACE_SECONDS)) {
                    threads.forEach(Thread::interrupt);
                    fail("terminals did not end within " + 2 * GRACE_SECONDS + " s");
                }
            }
            clock.shutdown();
            if (!clock.awaitTermination(GRACE_SECONDS, TimeUnit.SECONDS)) {
                fail("whoever is told about the run every second did not return within " + GRACE_SECONDS + " s");
            }
            long now = System.nanoTime();
            metrics.tick(now);
            return new TpccResult(options, metrics.snapshot(now), metrics.series(), ledger,
                    Optional.ofNullable(failure.get()));
        } finally {
            stop();
            clock.shutdownNow();
            nodes.close();
        }
    }

    private boolean join(long seconds) throws InterruptedException {
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        for (Thread thread : threads) {
            if (!thread.join(java.time.Duration.ofNanos(Math.max(0, until - System.nanoTime())))) {
                return false;
            }
        }
        return true;
    }

    private void second(Consumer<TpccSnapshot> everySecond) {
        try {
            long now = System.nanoTime();
            metrics.tick(now);
            everySecond.accept(metrics.snapshot(now));
        } catch (RuntimeException e) {
            LOG.error("whoever is told about the run every second failed", e);
            fail("whoever is told about the run every second failed: " + e);
        }
    }

    private void fail(String why) {
        if (failure.compareAndSet(null, why)) {
            LOG.error("the run ends early: {}", why);
        }
        stop();
    }
}
