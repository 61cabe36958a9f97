package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.commit.Commits;
import tutti.grid.store.Layouts;
import tutti.grid.store.Store;
import tutti.grid.view.View;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.machine.SimMachine;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;

/** A node leaves, and its keys take longer to be moved than who has asked for it waits. */
class LeavingTest {
    private static final int PORT = 7000;
    private static final Duration OPERATION = Duration.ofMillis(300);
    private final AtomicBoolean mayMove = new AtomicBoolean(true);
    private final Kernel kernel = new Kernel(1);
    private final Map<Integer, GridNode> nodes = new TreeMap<>();

    /** Keys are moved when the test says so. */
    private final class Held extends Relocation {
        Held(int self, int degreeMax, Commits commits, Store store, Layouts layouts,
                BiConsumer<Integer, GridMessage> sender, View first) {
            super(self, degreeMax, commits, store, layouts, sender, first);
        }

        @Override
        boolean haveCopied(long upTo, long present) {
            return mayMove.get() && super.haveCopied(upTo, present);
        }
    }

    private void boot(int count) {
        Network network = new Network(kernel);
        Threads threads = new Threads(kernel);
        Segment lan = network.segment("lan", LinkConfig.LAN);
        Map<Integer, InetSocketAddress> members = new TreeMap<>();
        for (int i = 0; i < count; i++) {
            members.put(i, InetSocketAddress.createUnresolved("n" + i, PORT));
        }
        for (int number : members.keySet()) {
            Host host = new Host(kernel, threads, "n" + number, HostConfig.DEFAULT);
            network.attach(host, lan);
            host.onBoot(_ -> {
                GridConfig config = GridConfig
                        .of("test", number, members, List.of(GridConfig.CacheConfig.of("cache", 2)),
                                CommitProtocol.TOM_3)
                        .withTimeouts(Duration.ofSeconds(10), OPERATION, Duration.ofSeconds(60));
                try {
                    nodes.put(number, new GridNode(config, new SimMachine(host, network), GridNode.Observer.NONE,
                            Held::new, L1::new));
                } catch (IOException failure) {
                    throw new UncheckedIOException(failure);
                }
            });
            host.boot();
        }
        pass(Duration.ofSeconds(5));
    }

    private void pass(Duration time) {
        kernel.runUntil(kernel.now() + time.toNanos());
    }

    @Test
    void aNodeWhoseLeavingTakesLongLeavesInTheEndAndDoesNotComeBack() {
        boot(3);
        GridNode leaver = nodes.get(2);
        assertNotNull(leaver);
        mayMove.set(false);
        List<String> answers = new ArrayList<>();
        leaver.loop().execute(() -> leaver.leave(new GridTransaction.Answer<>() {
            @Override
            public void is(GridNode value) {
                answers.add("left");
            }

            @Override
            public void failed(GridException why) {
                answers.add(why.reason().name());
            }
        }));
        pass(OPERATION.multipliedBy(10).plus(Duration.ofSeconds(1)));
        assertEquals(List.of("TIMEOUT"), answers);
        assertNull(leaver.ended());
        mayMove.set(true);
        pass(Duration.ofSeconds(20));
        GridException over = leaver.ended();
        assertNotNull(over);
        assertEquals("the node has left", over.getMessage());
        for (int stays : List.of(0, 1)) {
            GridNode node = nodes.get(stays);
            assertNotNull(node);
            assertEquals(Set.of(0, 1), node.view().members());
        }
    }
}
