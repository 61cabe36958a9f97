package tutti.bench;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import tutti.command.Failure;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.api.Cache;
import tutti.grid.api.Grid;
import tutti.grid.api.Transaction;
import tutti.grid.node.GridStatus;
import tutti.report.BenchFiles;

/** One measurement of the grid: nodes in this virtual machine, and on each some clients that run transactions without pause. */
record GridMeasurement(GridScript.Workload workload, CommitProtocol protocol, IsolationLevel level, int keys,
        int degree, int nodes, int threads,
        int crashes, Duration lockTimeout, double seconds) {
    private static final int LOADED_AT_ONCE = 500;
    private static final long SEED = 1;

    private enum Phase {
        WARMING,
        MEASURING,
        OVER
    }

    /** What all clients share. */
    private static final class Progress {
        private volatile Phase phase = Phase.WARMING;
    }

    /** Runs transactions, and counts those that end while it is measured. */
    private final class Client implements Runnable {
        private final Grid grid;
        private final Cache<Object, Object> cache;
        private final Progress progress;
        private final GridScript.Source source;
        private final GridFigures figures = new GridFigures();

        Client(Grid grid, Progress progress, int number) {
            this.grid = grid;
            this.cache = cacheOf(grid);
            this.progress = progress;
            this.source = workload.source(keys, SEED, number);
        }

        @Override
        public void run() {
            while (progress.phase != Phase.OVER) {
                GridScript script = source.next();
                try (Transaction transaction = grid.begin(level, script.isReadOnly())) {
                    for (var operation = script.next(); operation != null; operation = script.next()) {
                        Object key = operation.key().get();
                        var written = operation.value();
                        if (written != null) {
                            cache.put(transaction, key, written.get());
                        } else {
                            operation.reader().accept(cache.get(transaction, key).orElse(null));
                        }
                    }
                    long begin = System.nanoTime();
                    transaction.commit();
                    if (progress.phase == Phase.MEASURING && script.isReadOnly()) {
                        figures.read();
                    } else if (progress.phase == Phase.MEASURING) {
                        figures.committed(System.nanoTime() - begin);
                    }
                } catch (GridException why) {
                    if (progress.phase == Phase.MEASURING) {
                        figures.failed(why.reason());
                    }
                }
            }
        }
    }

    private static Cache<Object, Object> cacheOf(Grid grid) {
        return grid.cache("bench", GridScript.KEYS, GridScript.VALUES);
    }

    GridFigures.Measured run() throws IOException, InterruptedException {
        Map<Integer, InetSocketAddress> addresses = new TreeMap<>();
        for (int i = 0; i < nodes; i++) {
            addresses.put(i, new InetSocketAddress(InetAddress.getLoopbackAddress(), BenchFiles.freePort()));
        }
        List<Grid> grids = new ArrayList<>();
        try {
            for (int i = 0; i < nodes; i++) {
                grids.add(Grid.open(config(i, addresses), level));
            }
            load(grids.getFirst());
            GridFigures.Measured measured = measure(grids);
            check(grids.getFirst());
            return measured;
        } finally {
            grids.forEach(Grid::close);
        }
    }

    /** Of a node. */
    GridConfig config(int node, Map<Integer, InetSocketAddress> addresses) {
        // Nodes that share too few processors must not take each other for dead.
        return GridConfig.of("bench", node, addresses, List.of(GridConfig.CacheConfig.of("bench", degree)), protocol)
                .withCrashes(crashes).withHeartbeat(Duration.ofMillis(50), Duration.ofSeconds(30))
                .withTimeouts(lockTimeout, Duration.ofSeconds(30), Duration.ofSeconds(60));
    }

    private void load(Grid grid) {
        Cache<Object, Object> cache = cacheOf(grid);
        for (int from = 0; workload == GridScript.Workload.RADARGUN && from < keys; from += LOADED_AT_ONCE) {
            int first = from;
            grid.run(in -> {
                for (int key = first; key < Math.min(keys, first + LOADED_AT_ONCE); key++) {
                    cache.put(in, key, 0L);
                }
            });
        }
    }

    /** What the workload says must hold, if no update may be lost. */
    private void check(Grid grid) {
        if (!isChecked()) {
            return;
        }
        Cache<Object, Object> cache = cacheOf(grid);
        // What is written back is compared with what is there.
        List<@Nullable Object> found = grid.transact(in -> {
            List<@Nullable Object> values = new ArrayList<>();
            for (Object key : GridTpcc.checkedKeys()) {
                Object value = cache.get(in, key).orElse(null);
                values.add(value);
                if (value != null) {
                    cache.put(in, key, value);
                }
            }
            return values;
        });
        check(found);
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

    private GridFigures.Measured measure(List<Grid> grids) throws InterruptedException {
        Progress progress = new Progress();
        List<Client> clients = new ArrayList<>();
        List<Thread> running = new ArrayList<>();
        for (Grid grid : grids) {
            for (int i = 0; i < threads; i++) {
                Client client = new Client(grid, progress, clients.size());
                clients.add(client);
                running.add(Thread.ofPlatform().daemon().name("client-" + running.size()).start(client));
            }
        }
        long measuredNanos = (long) (seconds * TimeUnit.SECONDS.toNanos(1));
        TimeUnit.NANOSECONDS.sleep(measuredNanos / 3);
        long messagesBefore = messages(grids);
        long begin = System.nanoTime();
        progress.phase = Phase.MEASURING;
        TimeUnit.NANOSECONDS.sleep(measuredNanos);
        progress.phase = Phase.OVER;
        double took = (System.nanoTime() - begin) / 1e9;
        long messages = messages(grids) - messagesBefore;
        for (Thread one : running) {
            one.join(TimeUnit.MINUTES.toMillis(2));
            if (one.isAlive()) {
                throw new Failure("a client of " + protocol + " did not end within two minutes",
                        "look at the log: --verbose");
            }
        }
        GridFigures figures = new GridFigures();
        clients.forEach(client -> figures.add(client.figures));
        return figures.measured(GridFigures.World.REAL, this, took, messages);
    }

    private static long messages(List<Grid> grids) {
        return grids.stream().map(Grid::status).mapToLong(GridStatus::messages).sum();
    }
}
