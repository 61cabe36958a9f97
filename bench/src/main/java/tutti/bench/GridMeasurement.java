package tutti.bench;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import tutti.command.Failure;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;

/** One measurement of the grid: nodes in this virtual machine, and on each some clients that run transactions without pause. */
record GridMeasurement(GridScript.Workload workload, GridContender protocol, IsolationLevel level, int keys,
        int degree, int nodes, int threads,
        int crashes, Duration lockTimeout, double seconds) {
    /** Name of the cache. */
    static final String CACHE = "bench";
    private static final int LOADED_AT_ONCE = 500;
    private static final int RUNS_MAX = 10;
    private static final long SEED = 1;

    /** The same for another time. */
    GridMeasurement lasting(double otherSeconds) {
        return new GridMeasurement(workload, protocol, level, keys, degree, nodes, threads, crashes, lockTimeout,
                otherSeconds);
    }

    private enum Phase {
        WARMING,
        MEASURING,
        OVER
    }

    /** What the clients of some nodes have seen in so many seconds, and the messages that these nodes have sent. */
    record Part(GridFigures figures, double seconds, long messages) {
        /** As a line of text. */
        String encoded() {
            return seconds + " " + messages + " " + figures.encoded();
        }

        /**
         * What was encoded.
         *
         * @throws IllegalArgumentException if the text is something else
         */
        static Part decoded(String text) {
            String[] parts = text.split(" ", 3);
            if (parts.length < 3) {
                throw new IllegalArgumentException(text);
            }
            return new Part(GridFigures.decoded(parts[2]), Double.parseDouble(parts[0]), Long.parseLong(parts[1]));
        }
    }

    /** What all clients share. */
    private static final class Progress {
        private volatile Phase phase = Phase.WARMING;
    }

    /** Runs transactions, and counts those that end while it is measured. */
    private final class Client implements Runnable {
        private final GridSystem system;
        private final int node;
        private final Progress progress;
        private final GridScript.Source source;
        private final GridFigures figures = new GridFigures();

        Client(GridSystem system, int node, Progress progress, int number) {
            this.system = system;
            this.node = node;
            this.progress = progress;
            this.source = workload.source(keys, SEED, number);
        }

        @Override
        public void run() {
            while (progress.phase != Phase.OVER) {
                GridScript script = source.next();
                try {
                    long took = system.run(node, script);
                    if (progress.phase == Phase.MEASURING && script.isReadOnly()) {
                        figures.read();
                    } else if (progress.phase == Phase.MEASURING) {
                        figures.committed(took);
                    }
                } catch (GridException why) {
                    if (progress.phase == Phase.MEASURING) {
                        figures.failed(why.reason());
                    }
                }
            }
        }
    }

    GridFigures.Measured run() throws IOException, InterruptedException {
        try (GridSystem system = protocol.isOurs() ? GridNodes.start(this) : InfinispanNodes.start(this)) {
            load(system);
            Part all = measure(system, 0);
            check(system);
            return all.figures.measured(GridFigures.World.REAL, this, all.seconds, all.messages);
        }
    }

    /** Of a node. */
    GridConfig config(int node, Map<Integer, InetSocketAddress> addresses) {
        // Nodes that share too few processors must not take each other for dead.
        GridConfig config = GridConfig
                .of("bench", node, addresses, List.of(GridConfig.CacheConfig.of(CACHE, degree)), protocol.protocol())
                .withCrashes(crashes).withHeartbeat(Duration.ofMillis(50), Duration.ofSeconds(30))
                .withTimeouts(lockTimeout, Duration.ofSeconds(30), Duration.ofSeconds(60));
        return protocol == GridContender.TWO_PHASE_BLIND ? config.withoutDeadlockDetection() : config;
    }

    void load(GridSystem system) {
        for (int from = 0; workload == GridScript.Workload.RADARGUN && from < keys; from += LOADED_AT_ONCE) {
            GridScript script = new GridScript(false);
            for (int i = from; i < Math.min(keys, from + LOADED_AT_ONCE); i++) {
                int key = i;
                script.write(() -> key, () -> 0L);
            }
            system.run(0, script);
        }
    }

    /** What the workload says must hold, if no update may be lost. */
    void check(GridSystem system) {
        if (!isChecked()) {
            return;
        }
        for (int run = 1;; run++) {
            List<@Nullable Object> found = new ArrayList<>();
            // What is written back is compared with what is there.
            GridScript script = new GridScript(false);
            for (Object key : GridTpcc.checkedKeys()) {
                script.read(() -> key, found::add);
            }
            Object first = GridTpcc.checkedKeys().getFirst();
            script.write(() -> first, () -> Objects.requireNonNullElse(found.getFirst(), 0L));
            try {
                system.run(0, script);
            } catch (GridException again) {
                if (!again.isRetryable() || run == RUNS_MAX) {
                    throw again;
                }
                continue;
            }
            check(found);
            return;
        }
    }

    /** Whether there is something that must hold in the end. */
    boolean isChecked() {
        return workload == GridScript.Workload.TPCC && level.compareTo(IsolationLevel.REPEATABLE_READ_WRITE_SKEW) >= 0;
    }

    /** What was found under {@link GridTpcc#checkedKeys} in the end. */
    void check(List<@Nullable Object> found) {
        if (!GridTpcc.isConsistent(found)) {
            throw new Failure("updates were lost by " + protocol + " at " + level
                    + ": the warehouse was not paid what its districts were: " + found, "this is a defect of the grid");
        }
    }

    /**
     * Has the clients of a system's nodes run.
     *
     * @param firstClient the number of its first one, of all that are measured together
     */
    Part measure(GridSystem system, int firstClient) throws InterruptedException {
        Progress progress = new Progress();
        List<Client> clients = new ArrayList<>();
        List<Thread> running = new ArrayList<>();
        for (int node = 0; node < system.nodes(); node++) {
            for (int i = 0; i < threads; i++) {
                Client client = new Client(system, node, progress, firstClient + clients.size());
                clients.add(client);
                running.add(Thread.ofPlatform().daemon().name("client-" + running.size()).start(client));
            }
        }
        long measuredNanos = (long) (seconds * TimeUnit.SECONDS.toNanos(1));
        TimeUnit.NANOSECONDS.sleep(measuredNanos / 3);
        long messagesBefore = system.messages();
        long begin = System.nanoTime();
        progress.phase = Phase.MEASURING;
        TimeUnit.NANOSECONDS.sleep(measuredNanos);
        progress.phase = Phase.OVER;
        double took = (System.nanoTime() - begin) / 1e9;
        long messages = system.messages() - messagesBefore;
        for (Thread one : running) {
            one.join(TimeUnit.MINUTES.toMillis(2));
            if (one.isAlive()) {
                throw new Failure("a client of " + protocol + " did not end within two minutes",
                        "look at the log: --verbose");
            }
        }
        GridFigures figures = new GridFigures();
        clients.forEach(client -> figures.add(client.figures));
        return new Part(figures, took, messages);
    }
}
