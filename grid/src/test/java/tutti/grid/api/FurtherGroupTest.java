package tutti.grid.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridConfig.CacheConfig;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.view.Layout;
import tutti.runtime.real.FreePorts;

/** Groups that are founded and dissolved while clients count up keys: nodes in this process, over real sockets. */
class FurtherGroupTest {
    private static final int KEYS = 200;
    private static final List<CacheConfig> CACHES = List.of(CacheConfig.of("stock", 3));
    private static final Set<Integer> FOUNDERS = Set.of(0, 1, 2);
    private static final Set<Integer> FURTHER = Set.of(3, 4, 5);

    private final List<Grid> grids = new ArrayList<>();
    private final List<InetSocketAddress> free;
    private final ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor();
    private final AtomicBoolean foundersServe = new AtomicBoolean(true);
    private final AtomicBoolean allServe = new AtomicBoolean(true);

    FurtherGroupTest() throws IOException {
        free = FreePorts.addresses(6);
    }

    @AfterEach
    void close() {
        allServe.set(false);
        foundersServe.set(false);
        grids.forEach(Grid::close);
        clients.close();
    }

    private GridConfig config(int self) {
        Map<Integer, InetSocketAddress> nodes = new LinkedHashMap<>();
        FOUNDERS.forEach(node -> nodes.put(node, free.get(node)));
        nodes.put(self, free.get(self));
        GridConfig config = GridConfig.of("test", self, nodes, FOUNDERS, CACHES, CommitProtocol.GROUPS)
                .withHeartbeat(Duration.ofMillis(50), Duration.ofSeconds(10));
        return FOUNDERS.contains(self) ? config : config.withFurtherGroup(FURTHER);
    }

    private void open(Set<Integer> nodes) throws IOException {
        for (int node : nodes.stream().sorted().toList()) {
            grids.add(Grid.open(config(node), IsolationLevel.SERIALIZABLE));
        }
    }

    private static Cache<Integer, Integer> stock(Grid grid) {
        return grid.cache("stock", Serializers.compact(Integer.class), Serializers.compact(Integer.class));
    }

    /** Counts up two keys at a time, until it is told to end; how often it has. */
    private Future<Integer> count(Grid at, int which, AtomicBoolean serves) {
        return clients.submit(() -> {
            Cache<Integer, Integer> stock = stock(at);
            int counted = 0;
            for (int i = which; serves.get(); i += 7) {
                int one = i % KEYS;
                int other = (i * 3 + 1) % KEYS;
                at.run(in -> {
                    stock.put(in, one, stock.get(in, one).orElse(0) + 1);
                    stock.put(in, other, stock.get(in, other).orElse(0) + 1);
                });
                counted++;
            }
            return counted;
        });
    }

    private static int sum(Grid at) {
        Cache<Integer, Integer> stock = stock(at);
        return at.readOnly(in -> {
            int sum = 0;
            for (int key : stock.keys(in)) {
                sum += stock.get(in, key).orElse(0);
            }
            return sum;
        });
    }

    private static double share(Grid at, int node) {
        return at.topology().nodes().stream().filter(one -> one.number() == node)
                .mapToDouble(one -> one.shares().getOrDefault("stock", 0.0)).sum();
    }

    @Test
    void aGroupIsFoundedAndTheFirstOneIsDissolvedWhileAllCountUpAndNothingIsLost()
            throws IOException, ExecutionException, InterruptedException {
        open(FOUNDERS);
        Grid first = grids.getFirst();
        for (int key = 0; key < KEYS; key++) {
            stock(first).put(key, 0);
        }
        List<Future<Integer>> counted = new ArrayList<>();
        for (Grid grid : grids) {
            counted.add(count(grid, grids.indexOf(grid), foundersServe));
        }
        open(FURTHER);
        List<Grid> further = List.copyOf(grids.subList(3, 6));
        for (Grid grid : further) {
            counted.add(count(grid, grids.indexOf(grid), allServe));
        }
        // Both groups have their shares, when all is copied.
        await(() -> share(first, 3) > 0.2 && first.topology().phase() == Layout.Phase.STABLE, first);
        for (int node = 0; node < 6; node++) {
            assertEquals(node < 3 ? share(first, 0) : share(first, 3), share(first, node), "node " + node);
        }
        assertEquals(1, share(first, 0) + share(first, 3), 0.001);
        int between = sum(first);
        foundersServe.set(false);
        for (Future<Integer> one : counted.subList(0, 3)) {
            assertTrue(one.get() > 0, "it went on meanwhile");
        }
        List<Future<?>> leaving = new ArrayList<>();
        for (Grid grid : grids.subList(0, 3)) {
            leaving.add(clients.submit(grid::leave));
        }
        for (Future<?> one : leaving) {
            one.get();
        }
        grids.subList(0, 3).clear();
        Grid left = further.getFirst();
        assertEquals(1, share(left, 3), 0.001);
        allServe.set(false);
        int all = 0;
        for (Future<Integer> one : counted) {
            all += one.get();
        }
        int counts = 2 * all;
        // What others have committed just now, this node has been told of soon.
        await(() -> sum(left) >= counts, left);
        assertEquals(counts, sum(left));
        assertTrue(between <= 2 * all, between + " of " + all);
        // The only group is not dissolved, and cannot be smaller than two.
        left.leave();
        assertEquals(GridException.Reason.NOT_ENOUGH_OWNERS,
                assertThrows(GridException.class, further.get(1)::leave).reason());
    }

    @Test
    void aFurtherGroupThatCannotBeIsRefused() {
        IllegalArgumentException why = assertThrows(IllegalArgumentException.class,
                () -> config(3).withFurtherGroup(Set.of(3, 4)));
        assertTrue(String.valueOf(why.getMessage()).contains("3 nodes at least"), why.getMessage());
        assertThrows(IllegalArgumentException.class, () -> config(3).withFurtherGroup(Set.of(4, 5, 6)));
        assertThrows(IllegalArgumentException.class, () -> config(3).withFurtherGroup(Set.of(2, 3, 4)));
        assertThrows(IllegalArgumentException.class, () -> config(3).withFurtherGroup(Set.of(0, 3, 4, 5)));
    }

    private static void await(BooleanSupplier until, Grid what) {
        long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (!until.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, what.topology().toString());
            Thread.onSpinWait();
        }
    }
}
