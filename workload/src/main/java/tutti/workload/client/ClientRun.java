package tutti.workload.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Clients at work against the nodes of a cluster, or one database, over JDBC. Started by {@link #start}, ends by itself
 * when the duration is over; {@link #result} waits for that. Safe for use from any thread.
 */
public final class ClientRun {
    private static final Logger LOG = LoggerFactory.getLogger(ClientRun.class);
    // How long a transaction that is under way at the end may take before its connection is cut.
    private static final Duration GRACE = Duration.ofSeconds(10);

    private final ClientOptions options;
    private final long begunNanos = System.nanoTime();
    private final CountDownLatch stop = new CountDownLatch(1);
    private final AtomicReference<String> failure = new AtomicReference<>();
    private final LongAdder[] outcomes = {new LongAdder(), new LongAdder(), new LongAdder()};
    private final Map<String, LongAdder> causes = new ConcurrentHashMap<>();
    private volatile long thinkNanos;
    private final List<ClientSession> sessions = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();

    private ClientRun(ClientOptions options, ClientWorkload workload, String name) {
        this.options = options;
        for (int i = 0; i < options.sessions(); i++) {
            ClientSession session = new ClientSession(i, options, workload, this);
            sessions.add(session);
            threads.add(Thread.ofPlatform().daemon().name(name + "-client-" + i).unstarted(session));
        }
    }

    /**
     * Starts the clients.
     *
     * @param name of the threads
     */
    public static ClientRun start(ClientOptions options, ClientWorkload workload, String name) {
        ClientRun run = new ClientRun(options, workload, name);
        run.threads.forEach(Thread::start);
        return run;
    }

    /** Ends the run: every client finishes what it is at. Does not wait; idempotent. */
    public void stop() {
        stop.countDown();
    }

    /**
     * From now on each client thinks before its next transaction, for a time between none and twice this; at first they do not.
     *
     * @param mean how long on average; zero for not at all
     */
    public void think(Duration mean) {
        thinkNanos = mean.toNanos();
    }

    /** Transactions whose clients have been told of their commit so far. */
    public long committed() {
        return outcomes[ClientOutcome.OK.ordinal()].sum();
    }

    /** Waits for the end of the run. */
    public ClientResult result() throws InterruptedException {
        long left = options.duration().toNanos() - (System.nanoTime() - begunNanos);
        if (!stop.await(left, TimeUnit.NANOSECONDS)) {
            stop();
        }
        if (!join()) {
            LOG.warn("transactions still run {} s after the end: their connections are cut", GRACE.toSeconds());
            sessions.forEach(ClientSession::abort);
            if (!join()) {
                threads.forEach(Thread::interrupt);
                fail("clients did not end within " + 2 * GRACE.toSeconds() + " s");
            }
        }
        Map<String, Long> counts = new HashMap<>();
        causes.forEach((cause, count) -> counts.put(cause, count.sum()));
        return new ClientResult(committed(), outcomes[ClientOutcome.FAILED.ordinal()].sum(),
                outcomes[ClientOutcome.UNKNOWN.ordinal()].sum(), counts, (System.nanoTime() - begunNanos) / 1e9,
                Optional.ofNullable(failure.get()));
    }

    private boolean join() throws InterruptedException {
        long until = System.nanoTime() + GRACE.toNanos();
        for (Thread thread : threads) {
            if (!thread.join(Duration.ofNanos(Math.max(0, until - System.nanoTime())))) {
                return false;
            }
        }
        return true;
    }

    void ended(ClientOutcome outcome) {
        outcomes[outcome.ordinal()].increment();
    }

    void failed(String cause) {
        causes.computeIfAbsent(cause, _ -> new LongAdder()).increment();
    }

    boolean stopping() {
        return stop.getCount() == 0 || System.nanoTime() - begunNanos > options.duration().toNanos();
    }

    /** Waits, until the end of the run at most. */
    void pause(long nanos) throws InterruptedException {
        boolean stopped = stop.await(nanos, TimeUnit.NANOSECONDS);
        LOG.trace("a client paused, stopped: {}", stopped);
    }

    /** How long clients think on average. */
    long thinkNanos() {
        return thinkNanos;
    }

    void fail(String why) {
        if (failure.compareAndSet(null, why)) {
            LOG.error("the run ends early: {}", why);
        }
        stop();
    }
}
