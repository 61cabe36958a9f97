package tutti.workload.tpcc;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which nodes can be used now. Terminals report nodes as lost; from then on a node is probed, at growing intervals of
 * at most a second, until a connection can be opened again. Safe for use from any thread.
 */
final class TpccNodes implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(TpccNodes.class);
    private static final int UP = 0;
    private static final int LOST = 1;
    private static final long FIRST_PROBE_MILLIS = 100;
    private static final long PROBE_MILLIS_MAX = 1_000;

    private final List<TpccDatabase> databases;
    private final TpccMetrics metrics;
    private final List<AtomicInteger> states = new ArrayList<>();
    private final ScheduledExecutorService prober;
    /** The node that all terminals prefer since others have sent them elsewhere; negative if none has. */
    private final AtomicInteger preferred = new AtomicInteger(-1);
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition cameUp = lock.newCondition();

    TpccNodes(List<TpccDatabase> databases, TpccMetrics metrics) {
        this.databases = databases;
        this.metrics = metrics;
        databases.forEach(_ -> states.add(new AtomicInteger(UP)));
        prober = Executors.newScheduledThreadPool(databases.size(),
                Thread.ofPlatform().daemon().name("tpcc-prober-", 0).factory());
    }

    TpccDatabase database(int node) {
        return databases.get(node);
    }

    boolean isUp(int node) {
        return states.get(node).get() == UP;
    }

    /** The node that makes changes if only one does; otherwise the terminal's own node if it can be used, otherwise the next one that can, or -1. */
    int choose(int home) {
        int wanted = preferred.get();
        if (wanted >= 0 && isUp(wanted)) {
            return wanted;
        }
        for (int i = 0; i < databases.size(); i++) {
            int node = (home + i) % databases.size();
            if (isUp(node)) {
                return node;
            }
        }
        return -1;
    }

    /** The node works, but another one must make changes: the next one that is up is tried. */
    void elsewhere(int node) {
        for (int i = 1; i < databases.size(); i++) {
            int next = (node + i) % databases.size();
            if (isUp(next)) {
                int wanted = preferred.get();
                if ((wanted < 0 || wanted == node || !isUp(wanted)) && preferred.compareAndSet(wanted, next)) {
                    LOG.info("changes are made at {} no longer; trying {}", databases.get(node).name(),
                            databases.get(next).name());
                }
                return;
            }
        }
    }

    /** A connection to the node broke or could not be opened. */
    void lost(int node, String why) {
        if (states.get(node).compareAndSet(UP, LOST)) {
            LOG.info("{} is lost: {}", databases.get(node).name(), why);
            metrics.up(node, false);
            probeAfter(node, FIRST_PROBE_MILLIS);
        }
    }

    private void probeAfter(int node, long millis) {
        try {
            ScheduledFuture<?> _ = prober.schedule(() -> probe(node, Math.min(2 * millis, PROBE_MILLIS_MAX)), millis,
                    TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            // The run is over: nobody asks any more.
            LOG.trace("not probing {}", databases.get(node).name(), e);
        }
    }

    private void probe(int node, long nextMillis) {
        try {
            databases.get(node).open().close();
        } catch (SQLException e) {
            LOG.debug("{} is still lost: {}", databases.get(node).name(), e.getMessage());
            probeAfter(node, nextMillis);
            return;
        }
        LOG.info("{} is back", databases.get(node).name());
        metrics.up(node, true);
        lock.lock();
        try {
            states.get(node).set(UP);
            cameUp.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Waits until a node is up, at most this long. */
    void awaitAny(long millis) throws InterruptedException {
        lock.lock();
        try {
            long nanos = TimeUnit.MILLISECONDS.toNanos(millis);
            while (choose(0) < 0 && nanos > 0) {
                nanos = cameUp.awaitNanos(nanos);
            }
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        prober.shutdownNow();
    }
}
