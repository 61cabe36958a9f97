package tutti.cli.calibrate;

import java.io.IOException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import tutti.cli.Failure;
import tutti.cli.Screen;
import tutti.cli.bench.ProcessTimes;
import tutti.sim.model.Kind;
import tutti.sim.model.WorkloadModel;

/**
 * Closed clients at work against a real database: each thinks, asks, waits for its answer. Before that each runs every kind
 * of transaction {@value #REHEARSALS} times, in turn with the others, so that every server process has its plans (a statement
 * is prepared at its fifth execution, and planned for good at the tenth), and this virtual machine has compiled the clients.
 *
 * <p>
 * When transactions are <i>profiled</i>, clients take turns, so that only one transaction is under way at a time, as in
 * D5.1 section 2.5; between two, its server process comes to rest, and what it has used belongs to that transaction.
 */
final class RealRun {
    private static final long SHOW_EVERY_MILLIS = 200;
    private static final double NANOS = 1e9;
    private static final int REHEARSALS = 20;

    /**
     * What is run.
     *
     * @param workload of the clients; closed
     * @param warmUpSeconds with thinking, not counted
     * @param seconds that count
     * @param seed of inputs and think times
     * @param profiled whether transactions are profiled, one at a time
     * @param name for the person who waits
     */
    record Plan(WorkloadModel workload, double warmUpSeconds, double seconds, long seed, boolean profiled,
            String name) {}

    /**
     * What was seen.
     *
     * @param transactions that ended while it counted, in the order of their ends
     * @param seconds that counted
     * @param processorShare of all processors of this machine that was used meanwhile, by whomever, 0 to 1
     */
    record Seen(List<Observation> transactions, double seconds, double processorShare) {}

    private final RealServer server;
    private final Plan plan;
    private final Screen screen;
    private long begun = System.nanoTime();
    private final CountDownLatch stop = new CountDownLatch(1);
    private final ReentrantLock turn = new ReentrantLock(true);
    private final AtomicReference<@Nullable Exception> failed = new AtomicReference<>();
    private final AtomicLong done = new AtomicLong();

    private RealRun(RealServer server, Plan plan, Screen screen) {
        this.server = server;
        this.plan = plan;
        this.screen = screen;
    }

    /**
     * Runs it.
     *
     * @param populationSeed with which the server was loaded
     * @throws Failure if a client met with an error
     */
    static Seen run(RealServer server, Plan plan, long populationSeed, Screen screen)
            throws IOException, SQLException, InterruptedException {
        return new RealRun(server, plan, screen).run(populationSeed);
    }

    private Seen run(long populationSeed) throws IOException, SQLException, InterruptedException {
        List<RealClient> clients = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        List<List<Observation>> seen = new ArrayList<>();
        try {
            long source = System.currentTimeMillis() << 14;
            for (int i = 0; i < plan.workload.clients(); i++) {
                clients.add(new RealClient(i, plan.workload, server.database(), server.scale(), plan.seed,
                        populationSeed, source + i));
                List<Observation> own = new ArrayList<>();
                seen.add(own);
                RealClient client = clients.getLast();
                threads.add(Thread.ofPlatform().name("client-" + i).unstarted(() -> work(client, own)));
            }
            rehearse(clients);
            begun = System.nanoTime();
            threads.forEach(Thread::start);
            watch(plan.warmUpSeconds);
            long busy = ProcessTimes.machineBusyMillis();
            long from = System.nanoTime();
            watch(plan.warmUpSeconds + plan.seconds);
            long until = System.nanoTime();
            busy = ProcessTimes.machineBusyMillis() - busy;
            end(threads);
            double seconds = (until - from) / NANOS;
            return new Seen(seen.stream().flatMap(List::stream)
                    .filter(one -> one.nowNanos() >= from && one.nowNanos() < until)
                    .sorted(Comparator.comparingLong(Observation::nowNanos)).toList(), seconds,
                    busy / 1e3 / seconds / Runtime.getRuntime().availableProcessors());
        } finally {
            end(threads);
            for (RealClient client : clients) {
                client.close();
            }
            screen.live(List.of());
        }
    }

    private void rehearse(List<RealClient> clients) throws SQLException {
        for (int i = 0; i < clients.size(); i++) {
            screen.live(List.of(Bar.text(plan.name + ", rehearsing", i, clients.size(),
                    (System.nanoTime() - begun) / NANOS)));
            for (int time = 0; time < REHEARSALS; time++) {
                for (Kind kind : Kind.values()) {
                    if (plan.workload.shares().getOrDefault(kind, 0.0) > 0) {
                        clients.get(i).run(kind);
                    }
                }
            }
        }
    }

    private void end(List<Thread> threads) throws InterruptedException {
        stop.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        Exception why = failed.get();
        if (why instanceof Failure failure) {
            throw failure;
        } else if (why != null) {
            throw new Failure("a client failed: " + why, "", why);
        }
    }

    private void watch(double untilSeconds) throws InterruptedException {
        double all = plan.warmUpSeconds + plan.seconds;
        double elapsed = (System.nanoTime() - begun) / NANOS;
        while (elapsed < untilSeconds && stop.getCount() > 0) {
            screen.live(List.of(Bar.text(plan.name + ", " + done + " transactions", elapsed, all, elapsed)));
            Thread.sleep(Math.max(1, Math.min(SHOW_EVERY_MILLIS, (long) ((untilSeconds - elapsed) * 1e3))));
            elapsed = (System.nanoTime() - begun) / NANOS;
        }
    }

    private void work(RealClient client, List<Observation> seen) {
        try {
            Observation last = null;
            long used = plan.profiled ? client.backendNanos() : 0;
            while (stop.getCount() > 0) {
                if (stop.await(client.thinkingNanos(last), TimeUnit.NANOSECONDS)) {
                    return;
                }
                if (plan.profiled) {
                    last = alone(client, used);
                    used += last.backendNanos();
                } else {
                    last = client.run();
                }
                seen.add(last);
                done.incrementAndGet();
            }
        } catch (InterruptedException | IOException | SQLException | RuntimeException e) {
            failed.compareAndSet(null, e);
            stop.countDown();
        }
    }

    /**
     * One at a time. What its server process has used is read when it rests afterwards, and not before it begins as well: a
     * processor that has just been reading is awake, and a transaction finds it so that would have had to wake it.
     *
     * @param usedNanos what the server process had used after the transaction before
     */
    private Observation alone(RealClient client, long usedNanos) throws IOException, SQLException {
        turn.lock();
        try {
            Observation one = client.run();
            return new Observation(one.kind(), one.rows(), one.sinceNanos(), one.nowNanos(), one.commitNanos(),
                    client.backendNanos() - usedNanos, one.clientNanos(), one.cause());
        } finally {
            turn.unlock();
        }
    }
}
