package tutti.bench;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import tutti.grid.IsolationLevel;
import tutti.grid.api.Cache;
import tutti.grid.api.Grid;
import tutti.grid.api.Transaction;
import tutti.grid.node.GridStatus;
import tutti.report.BenchFiles;

/** Nodes of our grid, over loopback. */
final class GridNodes implements GridSystem {
    private final IsolationLevel level;
    private final List<Grid> grids = new ArrayList<>();
    private final List<Cache<Object, Object>> caches = new ArrayList<>();

    private GridNodes(IsolationLevel level) {
        this.level = level;
    }

    /** Starts those of a measurement. */
    static GridNodes start(GridMeasurement of) throws IOException, InterruptedException {
        Map<Integer, InetSocketAddress> addresses = new TreeMap<>();
        for (int i = 0; i < of.nodes(); i++) {
            addresses.put(i, new InetSocketAddress(InetAddress.getLoopbackAddress(), BenchFiles.freePort()));
        }
        return start(of, addresses, 0, of.nodes());
    }

    /** Starts some of its nodes: from one to before another one. */
    static GridNodes start(GridMeasurement of, Map<Integer, InetSocketAddress> addresses, int from, int to)
            throws IOException {
        GridNodes started = new GridNodes(of.level());
        try {
            for (int i = from; i < to; i++) {
                Grid grid = Grid.open(of.config(i, addresses), of.level());
                started.grids.add(grid);
                started.caches.add(grid.cache(GridMeasurement.CACHE, GridScript.KEYS, GridScript.VALUES));
            }
        } catch (IOException | RuntimeException failed) {
            started.close();
            throw failed;
        }
        return started;
    }

    @Override
    public int nodes() {
        return grids.size();
    }

    @Override
    public long run(int node, GridScript script) {
        Cache<Object, Object> cache = caches.get(node);
        try (Transaction transaction = grids.get(node).begin(level, script.isReadOnly())) {
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
            return System.nanoTime() - begin;
        }
    }

    @Override
    public long messages() {
        return grids.stream().map(Grid::status).mapToLong(GridStatus::messages).sum();
    }

    @Override
    public boolean isAtRest() {
        return grids.stream().allMatch(grid -> grid.status().kept() == 0);
    }

    @Override
    public void close() {
        grids.forEach(Grid::close);
    }
}
