package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
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

/** Three nodes of a group on simulated machines, of which some crash, while much is written. */
class RetentionTest {
    private static final Key KEY = new Key(0, new byte[]{1});
    private static final int VALUE_BYTES = 1 << 16;
    private static final int KEPT_BYTES_MAX = 1 << 20;

    private final Kernel kernel = new Kernel(1);
    private final Map<Integer, GridNode> nodes = new TreeMap<>();
    private final Map<Integer, Host> hosts = new TreeMap<>();

    RetentionTest() {
        Network network = new Network(kernel);
        Threads threads = new Threads(kernel);
        Segment lan = network.segment("lan", LinkConfig.LAN);
        Map<Integer, InetSocketAddress> members = new TreeMap<>();
        for (int i = 0; i < 3; i++) {
            members.put(i, InetSocketAddress.createUnresolved("n" + i, 7000));
        }
        for (int number : members.keySet()) {
            GridConfig config = GridConfig.of("test", number, members, List.of(GridConfig.CacheConfig.of("cache", 3)),
                    CommitProtocol.GROUPS).withUnsentBytesMax(KEPT_BYTES_MAX);
            Host host = new Host(kernel, threads, "n" + number, HostConfig.DEFAULT);
            network.attach(host, lan);
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
        passSeconds(1);
    }

    private void passSeconds(int seconds) {
        kernel.runUntil(kernel.now() + Duration.ofSeconds(seconds).toNanos());
    }

    private GridNode node(int number) {
        return nodes.getOrDefault(number, nodes.get(0));
    }

    /** Writes a key so often, one time after the other. */
    private void write(int times) {
        GridTransaction next = node(0).begin(IsolationLevel.READ_COMMITTED, false);
        next.write(KEY, new byte[VALUE_BYTES]);
        next.commit(new GridTransaction.Answer<>() {
            @Override
            public void is(Long stamp) {
                if (times > 1) {
                    write(times - 1);
                }
            }

            @Override
            public void failed(GridException why) {
                throw why;
            }
        });
    }

    /** Its group was smaller when it crashed: what is left of it can go on without nobody. */
    @Test
    void aMemberOfAGroupOfTwoThatIsStartedAnewSaysThatItCannotBeTakenIn() {
        hosts.get(2).crash();
        passSeconds(3);
        node(0).loop().execute(() -> node(0).remove(2, new GridTransaction.Answer<>() {
            @Override
            public void is(GridNode removed) {
                // It goes on.
            }

            @Override
            public void failed(GridException why) {
                throw why;
            }
        }));
        passSeconds(1);
        hosts.get(1).crash();
        passSeconds(3);
        hosts.get(1).boot();
        passSeconds(3);
        GridException why = node(1).ended();
        assertTrue(why != null && String.valueOf(why.getMessage()).contains("was there before"), String.valueOf(why));
    }

    /** After 5 s of silence at most, where time alone would have it given up after 20. */
    @Test
    void ofWhatIsWrittenWhileAMemberIsAwayNotMoreIsKeptThanMayBe() {
        hosts.get(2).crash();
        passSeconds(3);
        node(0).loop().execute(() -> write(8));
        passSeconds(1);
        for (int left : List.of(0, 1)) {
            assertTrue(node(left).status().bytes() > 7 * VALUE_BYTES, "it is kept for who may come back");
        }
        node(0).loop().execute(() -> write(16));
        passSeconds(1);
        for (int left : List.of(0, 1)) {
            GridStatus status = node(left).status();
            assertTrue(status.bytes() < 2 * VALUE_BYTES && status.kept() < 4, status.toString());
        }
        hosts.get(2).boot();
        passSeconds(3);
        assertTrue(node(2).isMember());
        assertEquals(node(0).newest(KEY).stamp(), node(2).newest(KEY).stamp());
        node(0).loop().execute(() -> write(1));
        passSeconds(1);
        assertEquals(node(0).newest(KEY).stamp(), node(2).newest(KEY).stamp(), "it takes part");
    }
}
