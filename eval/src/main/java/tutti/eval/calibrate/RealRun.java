package tutti.eval.calibrate;

import java.io.IOException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.model.RequestKind;
import tutti.model.WorkloadModel;
import tutti.report.ProcessTimes;

/**
 * Closed clients at work against a real database: each thinks, asks, waits for its answer. Before that each runs every kind
 * of transaction {@value #REHEARSALS} times, in turn with the others, so that every server process has its plans (a statement
 * is prepared at its fifth execution, and planned for good at the tenth), and this virtual machine has compiled the clients.
 *
 * <p>
 * When transactions are <i>profiled</i>, clients take turns, so that only one transaction is under way at a time, as in
 * D5.1 section 2.5; between two, its server process comes to rest, and what it has used belongs to that transaction. What a
 * transaction takes that loses a row cannot be seen so, for alone none loses. So clients are profiled <i>together</i> as well: all
 * are at work, and each reads after each transaction what its own server process has used.
 *
 * <p>
 * Whoever profiles and runs freely does both by turns of a second, with the same connections and without a break. What a
 * transaction takes depends on the state of its database and its server process: each ANALYZE of the server's own has every
 * process plan its statements anew, each VACUUM leaves fewer dead rows to step over, and whatever rehearses makes more of
 * them. So both must meet with every such state alike; one after the other for half a minute each, they did not. A transaction
 * belongs to the turn in which it begins, and a turn ends when all of its transactions have ended: no transaction counts
 * for both.
 */
final class RealRun {
    private static final long SHOW_EVERY_MILLIS = 200;
    private static final double NANOS = 1e9;
    private static final int REHEARSALS = 20;

    /** What is done with transactions. */
    enum Purpose {
        /** They are profiled. */
        PROFILE,
        /** They run as they come. */
        RUN,
        /** Either by turns. */
        BOTH;

        /** How transactions run, turn after turn. */
        List<Manner> manners() {
            return switch (this) {
                case PROFILE -> List.of(Manner.ALONE, Manner.TOGETHER);
                case RUN -> List.of(Manner.FREE);
                case BOTH -> List.of(Manner.ALONE, Manner.TOGETHER, Manner.FREE);
            };
        }
    }

    /** How transactions run in a turn. */
    enum Manner {
        /** Profiled, one at a time. */
        ALONE,
        /** Profiled, as they come. */
        TOGETHER,
        /** As they come; nobody looks at the server. */
        FREE
    }

    /**
     * What is run.
     *
     * @param workload of the clients; closed
     * @param purpose what it is for
     * @param warmUpSeconds with thinking, not counted
     * @param rounds that count, at least 1
     * @param seconds of a round, at least 1; if it has two purposes, of each
     * @param seed of inputs and think times
     * @param name for the person who waits
     */
    record Plan(WorkloadModel workload, Purpose purpose, double warmUpSeconds, int rounds, int seconds, long seed,
            String name) {
        /** How transactions run before and behind what counts. */
        Manner last() {
            return purpose.manners().getLast();
        }

        /** How often each manner has its turn in a round. */
        int turns() {
            return purpose == Purpose.RUN ? 1 : seconds;
        }

        double allSeconds() {
            return warmUpSeconds + (double) rounds * seconds * purpose.manners().size();
        }
    }

    /**
     * What was seen.
     *
     * @param alone transactions that were profiled one at a time
     * @param together transactions that were profiled as they came
     * @param rounds transactions that ran as they came, and at which nobody looked
     */
    record Seen(List<Observation> alone, List<Observation> together, List<Round> rounds) {}

    /**
     * Transactions of a round that ran as they came.
     *
     * @param transactions in the order of their ends, on a clock that stands still while others are profiled
     * @param seconds in which they ran
     * @param processorShare of all processors of this machine that was used in these, by whomever, 0 to 1
     */
    record Round(List<Observation> transactions, double seconds, double processorShare) {}

    /** A turn of one manner. */
    static final class Turn {
        final Manner manner;
        final Queue<Observation> seen = new ConcurrentLinkedQueue<>();
        long sinceNanos;
        long untilNanos;
        long busySinceMillis;
        long busyMillis;

        Turn(Manner manner) {
            this.manner = manner;
        }

        long nanos() {
            return untilNanos - sinceNanos;
        }
    }

    private final RealServer server;
    private final Plan plan;
    private final Screen screen;
    private final List<RealClient> clients = new ArrayList<>();
    private final CountDownLatch stop = new CountDownLatch(1);
    /** Held for writing by who is profiled alone, and between turns; for reading by all others. */
    private final ReentrantReadWriteLock under = new ReentrantReadWriteLock(true);
    private final AtomicReference<@Nullable Exception> failed = new AtomicReference<>();
    private final AtomicLong done = new AtomicLong();
    private long begun = System.nanoTime();
    private volatile Turn turn;

    private RealRun(RealServer server, Plan plan, Screen screen) {
        this.server = server;
        this.plan = plan;
        this.screen = screen;
        this.turn = new Turn(plan.last());
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
        List<Thread> threads = new ArrayList<>();
        try {
            long source = System.currentTimeMillis() << 14;
            for (int i = 0; i < plan.workload.clients(); i++) {
                RealClient client = new RealClient(i, plan.workload, server.database(), server.scale(), plan.seed,
                        populationSeed, source + i);
                clients.add(client);
                threads.add(Thread.ofPlatform().name("client-" + i).unstarted(() -> work(client)));
            }
            rehearse();
            begun = System.nanoTime();
            begin(turn);
            threads.forEach(Thread::start);
            watch(plan.warmUpSeconds);
            List<List<Turn>> rounds = new ArrayList<>();
            for (int round = 0; round < plan.rounds; round++) {
                rounds.add(round());
            }
            begin(new Turn(plan.last()));
            end(threads);
            return new Seen(seen(rounds, Manner.ALONE), seen(rounds, Manner.TOGETHER),
                    plan.last() == Manner.FREE ? rounds.stream().map(RealRun::joined).toList() : List.of());
        } finally {
            end(threads);
            for (RealClient client : clients) {
                client.close();
            }
            screen.live(List.of());
        }
    }

    private static List<Observation> seen(List<List<Turn>> rounds, Manner manner) {
        return rounds.stream().flatMap(List::stream).filter(one -> one.manner == manner)
                .flatMap(one -> one.seen.stream()).toList();
    }

    private void rehearse() throws SQLException {
        for (int i = 0; i < clients.size(); i++) {
            screen.live(List.of(ProgressBar.text(plan.name + ", rehearsing", i, clients.size(),
                    (System.nanoTime() - begun) / NANOS)));
            for (int time = 0; time < REHEARSALS; time++) {
                for (RequestKind kind : RequestKind.values()) {
                    if (plan.workload.shares().getOrDefault(kind, 0.0) > 0) {
                        clients.get(i).run(kind);
                    }
                }
            }
        }
    }

    /** Lets clients work for a round; its last turn ends with the next one. */
    private List<Turn> round() throws IOException, InterruptedException {
        List<Turn> turns = new ArrayList<>();
        for (int time = 0; time < plan.turns(); time++) {
            for (Manner manner : plan.purpose.manners()) {
                Turn next = new Turn(manner);
                begin(next);
                turns.add(next);
                watch((next.sinceNanos - begun) / NANOS + (double) plan.seconds / plan.turns());
            }
        }
        return turns;
    }

    /** Those turns of a round in which transactions ran as they came, and nobody looked. */
    static Round joined(List<Turn> round) {
        List<Turn> turns = round.stream().filter(one -> one.manner == Manner.FREE).toList();
        List<Observation> transactions = new ArrayList<>();
        long clock = turns.getFirst().sinceNanos;
        for (Turn one : turns) {
            long still = one.sinceNanos - clock;
            one.seen.stream().map(seen -> seen.earlier(still)).sorted(Comparator.comparingLong(Observation::nowNanos))
                    .forEach(transactions::add);
            clock += one.nanos();
        }
        double seconds = (clock - turns.getFirst().sinceNanos) / NANOS;
        return new Round(transactions, seconds, turns.stream().mapToLong(one -> one.busyMillis).sum() / 1e3 / seconds
                / Runtime.getRuntime().availableProcessors());
    }

    /** Ends a turn when all have ended that began in it, and begins the next. */
    private void begin(Turn next) throws IOException {
        under.writeLock().lock();
        try {
            long busy = ProcessTimes.machineBusyMillis();
            turn.untilNanos = System.nanoTime();
            turn.busyMillis = busy - turn.busySinceMillis;
            if (next.manner != Manner.FREE) {
                for (RealClient client : clients) {
                    client.rest();
                }
            }
            next.busySinceMillis = ProcessTimes.machineBusyMillis();
            next.sinceNanos = System.nanoTime();
            turn = next;
        } finally {
            under.writeLock().unlock();
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
        double elapsed = (System.nanoTime() - begun) / NANOS;
        while (elapsed < untilSeconds && stop.getCount() > 0) {
            screen.live(List.of(ProgressBar.text(plan.name + ", " + done + " transactions", elapsed, plan.allSeconds(),
                    elapsed)));
            Thread.sleep(Math.max(1, Math.min(SHOW_EVERY_MILLIS, (long) ((untilSeconds - elapsed) * 1e3))));
            elapsed = (System.nanoTime() - begun) / NANOS;
        }
    }

    private void work(RealClient client) {
        try {
            Observation last = null;
            while (!stop.await(client.thinkingNanos(last), TimeUnit.NANOSECONDS)) {
                last = next(client);
                done.incrementAndGet();
            }
        } catch (InterruptedException | IOException | SQLException | RuntimeException e) {
            failed.compareAndSet(null, e);
            stop.countDown();
        }
    }

    /** Runs a transaction as it is done in the turn in which it begins. */
    private Observation next(RealClient client) throws IOException, SQLException {
        while (true) {
            Turn now = turn;
            Lock lock = now.manner == Manner.ALONE ? under.writeLock() : under.readLock();
            lock.lock();
            try {
                // Who waited for the lock may have waited for the next turn.
                if (now.equals(turn)) {
                    Observation one = now.manner == Manner.FREE ? client.run() : client.runProfiled();
                    now.seen.add(one);
                    return one;
                }
            } finally {
                lock.unlock();
            }
        }
    }
}
