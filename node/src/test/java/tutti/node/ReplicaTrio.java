package tutti.node;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocols;
import tutti.node.metrics.NodeMetrics;
import tutti.order.local.LocalOrderGroup;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** Three replicas in one process, over an order in memory and engines that keep lists. */
abstract class ReplicaTrio {
    /** In order: the first primary is there before the others, and so nobody misses it. */
    static final Set<Integer> ALL = new TreeSet<>(List.of(0, 1, 2));

    @TempDir
    private Path directory;

    private final LocalOrderGroup group = new LocalOrderGroup(RealMachine.INSTANCE, ALL);
    final Map<Integer, ListEngine> engines = new HashMap<>();
    final Map<Integer, ReplicaNode> nodes = new HashMap<>();
    /** The first end of a replica that nobody asked for: why, and whether starting anew helps. */
    final CompletableFuture<End> failed = new CompletableFuture<>();

    /** Why a replica ended. */
    record End(Throwable cause, boolean restartable) {}

    /** Starts a node, or starts it anew. */
    final ReplicaNode open(String protocol, int node) throws Exception {
        ListEngine engine = engines.computeIfAbsent(node, _ -> new ListEngine());
        Map<String, String> parameters = switch (protocol) {
            case "passive" -> Map.of("take-over-delay", "10ms");
            case "postgres-r" -> Map.of("resolve-delay", "10ms");
            default -> Map.of();
        };
        ChosenProtocol chosen = Protocols.STANDARD.choose(protocol, parameters);
        ReplicaNode.Settings settings = new ReplicaNode.Settings(node, ALL, chosen, 3, 16, 100, 1 << 20, 5_000_000L, 20,
                0);
        ReplicaNode replica = new ReplicaNode(settings, RealMachine.INSTANCE,
                PathDirectory.of(directory.resolve("node" + node)), group.open(node), engine,
                world -> chosen.create(node, ALL, world), NodeMetrics.NONE,
                (cause, restartable) -> failed.complete(new End(cause, restartable)));
        nodes.put(node, replica);
        replica.start().get(20, TimeUnit.SECONDS);
        return replica;
    }

    final void openAll(String protocol) throws Exception {
        for (int node : ALL) {
            open(protocol, node);
        }
        for (int node : ALL) {
            nodes.get(node).ready().get(20, TimeUnit.SECONDS);
        }
    }

    @AfterEach
    void closeAll() {
        nodes.values().forEach(ReplicaNode::close);
        engines.values().forEach(ListEngine::close);
    }
}
