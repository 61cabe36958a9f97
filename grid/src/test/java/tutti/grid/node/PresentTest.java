package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
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

/** Two groups of three simulated nodes far from each other, of which one is started anew while the last transaction is committed by the other group. */
class PresentTest {
    private static final int RESTARTED = 2;
    private static final int OTHER = 3;

    private final Kernel kernel = new Kernel(1);
    private final Map<Integer, GridNode> nodes = new TreeMap<>();
    private final Map<Integer, Host> hosts = new TreeMap<>();
    private final List<String> found = new ArrayList<>();

    PresentTest() {
        Network network = new Network(kernel);
        Threads threads = new Threads(kernel);
        Segment wan = network.segment("wan", LinkConfig.WAN);
        Map<Integer, InetSocketAddress> members = new TreeMap<>();
        for (int i = 0; i < 6; i++) {
            members.put(i, InetSocketAddress.createUnresolved("n" + i, 7000));
        }
        for (int number : members.keySet()) {
            GridConfig config = GridConfig.of("test", number, members, List.of(GridConfig.CacheConfig.of("cache", 3)),
                    CommitProtocol.GROUPS);
            Host host = new Host(kernel, threads, "n" + number, HostConfig.DEFAULT);
            network.attach(host, wan);
            hosts.put(number, host);
            host.onBoot(_ -> {
                try {
                    nodes.put(number, new GridNode(config, new SimMachine(host, network), GridNode.Observer.NONE));
                } catch (IOException failure) {
                    throw new UncheckedIOException(failure);
                }
            });
            host.boot();
        }
        pass(2000);
    }

    private void pass(int millis) {
        kernel.runUntil(kernel.now() + Duration.ofMillis(millis).toNanos());
    }

    private GridNode node(int number) {
        return nodes.getOrDefault(number, nodes.get(0));
    }

    private void write(int by, Key key) {
        node(by).loop().execute(() -> {
            GridTransaction transaction = node(by).begin(IsolationLevel.READ_COMMITTED, false);
            transaction.write(key, new byte[]{1});
            transaction.commit(new GridTransaction.Answer<>() {
                @Override
                public void is(Long stamp) {
                    found.add("committed");
                }

                @Override
                public void failed(GridException why) {
                    throw why;
                }
            });
        });
    }

    private void readByRestarted(Key key) {
        node(RESTARTED).loop().execute(() -> {
            GridTransaction snapshot = node(RESTARTED).begin(IsolationLevel.SERIALIZABLE, true);
            snapshot.read(key, new GridTransaction.Answer<>() {
                @Override
                public void is(GridTransaction.Value value) {
                    found.add("read " + (value.bytes() != null));
                }

                @Override
                public void failed(GridException why) {
                    found.add("failed " + why.reason());
                }
            });
        });
        pass(1000);
    }

    /** Then nothing is committed any more: what may be read has to be known all the same. */
    @ParameterizedTest
    @ValueSource(ints = {100, 250, 400, 550, 700, 850})
    void aLifeThatIsTakenInReadsSnapshotsThoughNobodyCommitsAnyMore(int afterMillis) {
        Key key = IntStream.range(0, 100).mapToObj(GridClient::key)
                .filter(one -> node(OTHER).owners().isOwner(OTHER, one)).findFirst().orElseThrow();
        write(OTHER, key);
        pass(1000);
        hosts.getOrDefault(RESTARTED, hosts.get(0)).crash();
        pass(3000);
        hosts.getOrDefault(RESTARTED, hosts.get(0)).boot();
        pass(afterMillis);
        write(OTHER, key);
        for (int i = 0; i < 100 && !node(RESTARTED).isMember(); i++) {
            pass(100);
        }
        assertTrue(node(RESTARTED).isMember());
        pass(3000);
        readByRestarted(key);
        assertEquals(List.of("committed", "committed", "read true"), found);
    }
}
