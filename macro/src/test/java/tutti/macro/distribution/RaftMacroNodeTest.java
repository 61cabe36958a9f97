package tutti.macro.distribution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.spi.Order;
import tutti.order.raft.RaftOrder;
import tutti.order.raft.RaftOrderConfig;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** The distribution on the durable order. */
@Timeout(90)
class RaftMacroNodeTest {
    @TempDir
    private Path directory;

    private final Map<Integer, InetSocketAddress> members = new TreeMap<>();
    private final Map<Integer, MacroNode> nodes = new TreeMap<>();
    private final Map<Integer, Order> orders = new TreeMap<>();

    @AfterEach
    void leave() {
        nodes.values().forEach(MacroNode::close);
    }

    private MacroNode.Builder builder(int node) throws Exception {
        Order order = RaftOrder.open(RaftOrderConfig.of(node, members), RealMachine.INSTANCE,
                PathDirectory.of(directory.resolve("node" + node)));
        orders.put(node, order);
        return MacroNode.builder(node, order).component("stock", HostedComponent.of(Map.class, new HashMap<>()));
    }

    @SuppressWarnings("unchecked")
    private Map<String, Integer> stock(int node) {
        return nodes.get(node).component("stock", Map.class);
    }

    @Test
    void nodesLeaveAndComeBackWithTheLogOrWithACopy() throws Exception {
        List<ServerSocket> held = new ArrayList<>();
        for (int node = 0; node < 3; node++) {
            ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
            held.add(socket);
            members.put(node, new InetSocketAddress(InetAddress.getLoopbackAddress(), socket.getLocalPort()));
        }
        for (ServerSocket socket : held) {
            socket.close();
        }
        for (int node = 0; node < 3; node++) {
            nodes.put(node, builder(node).start());
        }
        for (int i = 0; i < 60; i++) {
            stock(i % 3).put("k" + i, i);
        }
        assertEquals(60, stock(0).size());

        nodes.get(2).close();
        stock(0).put("while away", 1);
        nodes.put(2, builder(2).start());
        nodes.get(2).awaitCurrent();
        assertEquals(61, stock(2).size());
        assertEquals(1, stock(2).get("while away"));

        nodes.get(1).close();
        stock(0).remove("k0");
        StateCopy copy = nodes.get(2).stateCopy();
        MacroNode.Builder again = builder(1);
        nodes.put(1, again.start(copy));
        stock(1).put("k1", 1000);
        for (int node = 0; node < 3; node++) {
            assertEquals(60, stock(node).size());
            assertEquals(1000, stock(node).get("k1"));
        }
        assertThrows(NullPointerException.class, () -> stock(1).merge("k1", null, null));
    }
}
