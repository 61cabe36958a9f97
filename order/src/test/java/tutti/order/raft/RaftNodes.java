package tutti.order.raft;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import tutti.keys.ClusterAuthority;
import tutti.runtime.real.FreePorts;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;
import tutti.runtime.real.TestKeys;

/** Clusters on free ports of the loopback interface. */
final class RaftNodes {
    private RaftNodes() {}

    static Map<Integer, InetSocketAddress> members(int nodes) throws IOException {
        Map<Integer, InetSocketAddress> members = new TreeMap<>();
        for (InetSocketAddress address : FreePorts.addresses(nodes)) {
            members.put(members.size(), address);
        }
        return members;
    }

    /** Where a node of a cluster keeps its files, of all that are here. */
    static Path files(Path directory, int node) {
        return directory.resolve("node" + node);
    }

    /** A node of this machine. */
    static RaftOrder open(RaftOrderConfig config, Path directory) throws IOException {
        return RaftOrder.open(config, RealMachine.INSTANCE, PathDirectory.of(files(directory, config.self())));
    }

    /** A node that proves to the others who it is. */
    static RaftOrder open(RaftOrderConfig config, ClusterAuthority authority, Path directory) throws IOException {
        return RaftOrder.open(config.withCluster(authority.cluster()),
                RealMachine.INSTANCE.proving(TestKeys.of(directory.resolve("keys" + config.self()), authority,
                        config.self())),
                PathDirectory.of(files(directory, config.self())));
    }

    /** Small files and short timeouts. */
    static RaftOrderConfig config(int node, Map<Integer, InetSocketAddress> members) {
        return RaftOrderConfig.of(node, members).withSegmentBytes(1 << 16)
                .withQueue(1 << 20, 1 << 16).withTimeouts(Duration.ofMillis(500), Duration.ofMillis(500));
    }
}
