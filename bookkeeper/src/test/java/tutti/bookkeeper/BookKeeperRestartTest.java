package tutti.bookkeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.spi.Order;
import tutti.order.Recorder;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** The least that must hold with real bookies, in every build; {@link BookKeeperOrderTest} has the rest. */
@Timeout(120)
class BookKeeperRestartTest {
    @TempDir
    private Path directory;

    @Test
    void anotherWriterGoesOnAndANodeResumesBehindItsPosition() throws Exception {
        Map<Integer, InetSocketAddress> members = BookKeeperOrderTest.members(2);
        Map<Integer, Order> orders = new TreeMap<>();
        try (LocalStore store = new LocalStore(directory.resolve("store"), 3)) {
            Recorder first = start(store, members, orders, 0, 0);
            first.awaitView(view -> view.leader() == 0);
            Recorder second = start(store, members, orders, 1, 0);
            second.awaitView(view -> view.majority() && view.members().size() == 2);
            orders.get(1).log().append("one".getBytes(StandardCharsets.UTF_8));
            assertEquals(first.awaitCount(1), second.awaitCount(1));
            orders.remove(0).close();
            orders.get(1).log().append("two".getBytes(StandardCharsets.UTF_8));
            assertEquals(new Recorder.Delivered(2, 1, "two"), second.awaitCount(2).get(1));
            assertEquals(List.of(new Recorder.Delivered(2, 1, "two")),
                    start(store, members, orders, 0, 1).awaitCount(1));
        } finally {
            orders.values().forEach(Order::close);
        }
    }

    private Recorder start(LocalStore store, Map<Integer, InetSocketAddress> members, Map<Integer, Order> orders,
            int node, long after) throws Exception {
        Order order = BookKeeperOrder.open(
                BookKeeperOrderTest.settings(store, "/tutti/restart", node, members, 1 << 20),
                RealMachine.INSTANCE, PathDirectory.of(directory.resolve("node" + node)));
        orders.put(node, order);
        Recorder recorder = new Recorder();
        order.group().join(recorder);
        order.log().start(after, recorder);
        return recorder;
    }
}
