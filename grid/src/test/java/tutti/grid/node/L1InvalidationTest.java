package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.store.Key;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.machine.SimMachine;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;

/** Two simulated nodes, of which one keeps what the other one owns, and is told key by key what a transaction of that one writes. */
class L1InvalidationTest {
    private static final List<Key> KEYS = IntStream.range(0, 20).mapToObj(GridClient::key).toList();

    private final Kernel kernel = new Kernel(1);
    private final Map<Integer, GridNode> nodes = new TreeMap<>();
    private final Map<Key, Long> heardBefore = new HashMap<>();

    /** Takes down what it had heard of the owner's clock when a key was invalidated. */
    private final class Noting extends L1 {
        private long heard;

        Noting(GridConfig config) {
            super(config);
        }

        @Override
        void heard(int from, long clock, long nowNanos) {
            super.heard(from, clock, nowNanos);
            heard = Math.max(heard, clock);
        }

        @Override
        void invalidated(Key key) {
            super.invalidated(key);
            heardBefore.put(key, heard);
        }
    }

    private void start(CommitProtocol protocol) {
        Network network = new Network(kernel);
        Threads threads = new Threads(kernel);
        Segment lan = network.segment("lan", LinkConfig.LAN);
        Map<Integer, InetSocketAddress> members = Map.of(0, InetSocketAddress.createUnresolved("n0", 7000), 1,
                InetSocketAddress.createUnresolved("n1", 7000));
        for (int number : List.of(0, 1)) {
            GridConfig config = GridConfig.of("test", number, members,
                    List.of(GridConfig.CacheConfig.of("cache", 1).withL1BytesMax(1 << 20)), protocol);
            Host host = new Host(kernel, threads, "n" + number, HostConfig.DEFAULT);
            network.attach(host, lan);
            host.onBoot(_ -> {
                try {
                    nodes.put(number, new GridNode(config, new SimMachine(host, network), GridNode.Observer.NONE,
                            Relocation::new, number == 1 ? Noting::new : L1::new));
                } catch (IOException failure) {
                    throw new UncheckedIOException(failure);
                }
            });
            host.boot();
        }
        pass();
    }

    private void pass() {
        kernel.runUntil(kernel.now() + Duration.ofSeconds(1).toNanos());
    }

    private GridNode node(int number) {
        GridNode node = nodes.get(number);
        if (node == null) {
            throw new IllegalArgumentException("no node " + number);
        }
        return node;
    }

    private static <T> GridTransaction.Answer<T> then(Consumer<T> what) {
        return new GridTransaction.Answer<>() {
            @Override
            public void is(T value) {
                what.accept(value);
            }

            @Override
            public void failed(GridException why) {
                throw why;
            }
        };
    }

    private void write(int by, Set<Key> keys) {
        GridNode node = node(by);
        node.loop().execute(() -> {
            GridTransaction transaction = node.begin(IsolationLevel.SERIALIZABLE, false);
            keys.forEach(key -> transaction.write(key, new byte[]{1}));
            transaction.commit(then(_ -> {}));
        });
        pass();
    }

    /** Until all are invalidated that are written at one stamp, nothing is taken from L1 that was read below: a transaction that begins in between would not notice that it is old. */
    @ParameterizedTest
    @EnumSource(names = {"TOM_2", "TOM_3", "TWO_PHASE"})
    void whatTellsOfOneKeySaysNothingOfTheOthersThatAreWrittenWithIt(CommitProtocol protocol) {
        start(protocol);
        Set<Key> owned = new HashSet<>(KEYS);
        owned.removeIf(key -> !node(0).owners().isOwner(0, key));
        assertTrue(owned.size() > 2, owned.toString());
        write(0, owned);
        node(1).loop().execute(() -> {
            GridTransaction transaction = node(1).begin(IsolationLevel.SERIALIZABLE, false);
            owned.forEach(key -> transaction.read(key, then(_ -> {})));
        });
        pass();
        write(0, owned);
        assertEquals(owned, heardBefore.keySet());
        owned.forEach(key -> {
            long written = node(0).newest(key).stamp();
            assertTrue(heardBefore.getOrDefault(key, written) < written,
                    "had heard " + heardBefore.get(key) + " before it was told of what is written at " + written);
        });
    }
}
