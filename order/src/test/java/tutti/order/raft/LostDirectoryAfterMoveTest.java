package tutti.order.raft;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.spi.Group;
import tutti.keys.ClusterAuthority;
import tutti.order.Recorder;
import tutti.runtime.real.FreePorts;

/**
 * A member that has lost its directory, and whose configuration says where the others are now: it is known for what it is, and gets a copy, though the
 * cluster has begun with another list.
 */
@Timeout(60)
class LostDirectoryAfterMoveTest {
    @TempDir
    private Path directory;
    private final Map<Integer, RaftOrder> orders = new HashMap<>();
    private final Map<Integer, Recorder> recorders = new HashMap<>();
    private final ClusterAuthority authority = ClusterAuthority.create(Instant.now());

    @AfterEach
    void close() {
        orders.values().forEach(RaftOrder::close);
    }

    private void start(int node, Map<Integer, InetSocketAddress> configured, Path files, long after) throws Exception {
        RaftOrder order = RaftNodes.open(RaftNodes.config(node, configured), authority, files);
        orders.put(node, order);
        Recorder recorder = new Recorder();
        recorders.put(node, recorder);
        order.join(recorder);
        order.start(after, recorder);
    }

    private void stop(int node) {
        orders.remove(node).close();
        recorders.remove(node);
    }

    @Test
    void itIsToldToGetACopy() throws Exception {
        Map<Integer, InetSocketAddress> members = new TreeMap<>(RaftNodes.members(3));
        for (int node = 0; node < 3; node++) {
            start(node, members, directory, 0);
        }
        for (Recorder recorder : recorders.values()) {
            recorder.awaitView(view -> view.majority() && view.members().size() == 3);
        }
        orders.get(0).append("one".getBytes(StandardCharsets.UTF_8));
        for (Recorder recorder : recorders.values()) {
            recorder.awaitCount(1);
        }
        stop(1);
        members.put(1, FreePorts.addresses(1).getFirst());
        Map<Integer, String> present = new TreeMap<>();
        members.forEach((id, address) -> present.put(id, address.getHostString() + ":" + address.getPort()));
        Group.Members now = new Group.Members(1, new TreeMap<>(present), Set.of(), new TreeMap<>());
        orders.values().forEach(order -> order.members(now));
        start(1, members, directory, 1);
        recorders.get(1).awaitView(view -> view.majority() && view.members().size() == 3);
        stop(2);
        start(2, members, directory.resolve("new"), 0);
        Throwable why = recorders.get(2).awaitFailure();
        assertTrue(String.valueOf(why.getMessage()).contains("comes with another directory"), why::toString);
    }
}
