package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.SnapshotIsolation;
import tutti.core.schema.Versions;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.core.spi.Order;

/** A member sends what cannot be read: nodes are of one mind about it. */
class UnreadableMessagesTest extends ReplicaTrio {
    private static final byte VERSION = (byte) Versions.SPOKEN.newest();
    private static final byte NO_KIND = (byte) 190;

    private final Map<Integer, Order> orders = new TreeMap<>();
    private final Map<Integer, DurableLog.Reader> readers = new TreeMap<>();

    @Override
    Order order(int node) {
        Order order = super.order(node);
        orders.put(node, order);
        DurableLog log = (DurableLog) Proxy.newProxyInstance(DurableLog.class.getClassLoader(),
                new Class<?>[]{DurableLog.class}, (_, method, arguments) -> {
                    if (method.getName().equals("start")) {
                        readers.put(node, (DurableLog.Reader) arguments[1]);
                    }
                    try {
                        return method.invoke(order.log(), arguments);
                    } catch (InvocationTargetException wrong) {
                        throw wrong.getCause();
                    }
                });
        return new Order() {
            @Override
            public DurableLog log() {
                return log;
            }

            @Override
            public Group group() {
                return order.group();
            }
        };
    }

    private static List<byte[]> damaged() {
        byte[] whole = new Control.Restart(7).bytes();
        byte[] longer = Arrays.copyOf(whole, whole.length + 1);
        byte[] negative = whole.clone();
        negative[2] = -1;
        return List.of(new byte[]{VERSION}, Arrays.copyOf(whole, whole.length - 1), longer, negative,
                new byte[]{VERSION, 0, 1}, new byte[4]);
    }

    private void append(int node, byte[] payload) {
        try {
            orders.get(node).log().append(payload);
        } catch (DurableLog.OverflowException full) {
            throw new AssertionError(full);
        }
    }

    private void write(int count) {
        for (int i = 0; i < count; i++) {
            new Client(i % 3, "change " + i, i).committed();
        }
    }

    private void assertAllServe() {
        write(6);
        awaitVisible(nodes.get(0).deliveredPosition());
        noneHasEnded();
        assertEquals(engines.get(0).changes(), engines.get(1).changes());
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
    }

    @Test
    void whatIsDamagedInTheOrderCountsForNothing() throws IOException {
        openAll(SnapshotIsolation.NAME);
        write(3);
        damaged().forEach(payload -> append(1, payload));
        assertAllServe();
        nodes.remove(2).close();
        damaged().forEach(payload -> append(1, payload));
        openReady(SnapshotIsolation.NAME, 2);
        assertAllServe();
    }

    @Test
    void aKindThatIsNotKnownEndsEveryNodeThatCannotReadIt() throws IOException {
        assertEndsAll(new byte[]{VERSION, NO_KIND, 1, 2, 3});
    }

    @Test
    void aVersionThatIsNotKnownEndsEveryNodeThatCannotReadIt() throws IOException {
        byte[] later = new Control.Restart(7).bytes();
        later[0] = (byte) (VERSION + 1);
        assertEndsAll(later);
    }

    private void assertEndsAll(byte[] payload) throws IOException {
        openAll(SnapshotIsolation.NAME);
        write(3);
        append(1, payload);
        for (int node : ALL) {
            assertEndsForIt(node);
            nodes.remove(node).close();
        }
        for (int node : ALL) {
            open(SnapshotIsolation.NAME, node);
        }
        ALL.forEach(this::assertEndsForIt);
    }

    private void assertEndsForIt(int node) {
        End end = end(node);
        assertFalse(end.restartable());
        assertTrue(end.cause().getMessage().contains("node 1 has ordered at position")
                && end.cause().getMessage().contains("upgrade this node"), end::toString);
    }

    @Test
    void whatComesOutsideOfTheOrderIsLeftOut() throws IOException {
        openAll(SnapshotIsolation.NAME);
        List<byte[]> unreadable = new ArrayList<>(damaged());
        unreadable.add(new byte[]{VERSION, NO_KIND, 1});
        unreadable.add(new byte[]{VERSION, -1, 1});
        for (byte[] payload : unreadable) {
            orders.get(1).group().multicast(payload, ALL);
            readers.get(0).tentative(1, ByteBuffer.wrap(payload));
        }
        assertAllServe();
    }
}
