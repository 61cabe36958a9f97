package tutti.server;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.engine.EngineDescriptor;
import tutti.node.ReplicaNode;
import tutti.server.config.HostPort;
import tutti.server.config.NodeConfig;
import tutti.server.http.NodeStatus;
import tutti.server.metrics.PrometheusNodeMetrics;
import tutti.wire.FrontEnd;

/** Puts together what a node says of itself, from whatever parts of it there are at the moment. */
final class NodeStatuses {
    private NodeStatuses() {}

    /**
     * A look at a node.
     *
     * @param life its present life, or null between two
     * @param between why it is between two lives or has not finished starting, or null
     */
    static NodeStatus of(NodeConfig config, PrometheusNodeMetrics metrics, @Nullable NodeLife life,
            @Nullable String between, boolean stopping, long uptimeSeconds) {
        ReplicaNode replica = life == null ? null : life.replica();
        FrontEnd frontEnd = life == null ? null : life.frontEnd();
        DurableLog.Status order = replica == null ? DurableLog.Status.NONE : replica.orderStatus();
        Group.View view = replica == null ? Group.View.NONE : replica.view();
        String refusal = replica == null ? between : replica.refusal();
        if (replica != null && refusal == null) {
            refusal = DiskSpace.shortage(List.of(config.data(), config.data().resolve("order"),
                    config.data().resolve(config.isInProcess() ? config.engine() : "postgres")));
        }
        if (life != null && refusal == null) {
            refusal = life.engineTrouble();
        }
        NodeStatus.State state = state(replica, frontEnd, refusal, stopping);
        String reason = state == NodeStatus.State.READY
                ? null
                : refusal != null ? refusal : stopping ? "the node is stopping" : "the node is opening its front end";
        long visible = replica == null ? 0 : replica.visiblePosition();
        long delivered = replica == null ? 0 : replica.deliveredPosition();
        List<NodeStatus.Member> members = members(config, replica, view);
        Runtime runtime = Runtime.getRuntime();
        return new NodeStatus(config.node(), config.self().name(), config.cluster(), state, reason, config.protocol(),
                version(), engine(config),
                config.listen().host() + ":" + config.listen().port(),
                new NodeStatus.Positions(Math.max(order.lastKnown(), delivered), delivered, visible,
                        replica == null ? 0 : replica.durablePosition()),
                view.leader() < 0 ? null : view.leader(), view.majority(), members,
                frontEnd == null ? 0 : frontEnd.sessions(), replica == null ? 0 : replica.inFlight(),
                metrics.committedCount(), metrics.abortedByCause(),
                new NodeStatus.OrderStatus(order.queuedBytes(), order.logBytes(), order.firstRetained(),
                        replica == null ? List.of() : replica.givenUp().stream().sorted().toList(),
                        life == null ? 0 : life.refused(), provenUntil(life)),
                runtime.totalMemory() - runtime.freeMemory(), uptimeSeconds,
                life == null ? null : life.secondaries(),
                replica == null
                        ? List.of()
                        : replica.lacks().stream().map(ReplicaNode.PlacedTable::name).toList());
    }

    /** Those of the configuration, but for those that have come or gone since it was written. */
    private static List<NodeStatus.Member> members(NodeConfig config, @Nullable ReplicaNode replica, Group.View view) {
        Map<Integer, NodeStatus.Member> members = new TreeMap<>();
        for (NodeConfig.Member member : config.members()) {
            members.put(member.id(), new NodeStatus.Member(member.id(), member.name(), text(member.http()),
                    view.members().contains(member.id())));
        }
        Group.Members now = replica == null ? null : replica.members();
        if (now != null && now.number() > 0) {
            members.keySet().retainAll(now.addresses().keySet());
            now.addresses().keySet().forEach(id -> members.putIfAbsent(id,
                    new NodeStatus.Member(id, "node-" + id, null, view.members().contains(id))));
        }
        return List.copyOf(members.values());
    }

    private static NodeStatus.State state(@Nullable ReplicaNode replica, @Nullable FrontEnd frontEnd,
            @Nullable String refusal, boolean stopping) {
        if (stopping) {
            return NodeStatus.State.STOPPING;
        }
        if (replica == null) {
            return NodeStatus.State.STARTING;
        }
        return switch (replica.state()) {
            case NEW -> NodeStatus.State.STARTING;
            case CATCHING_UP -> NodeStatus.State.RECOVERING;
            case READY -> frontEnd == null
                    ? NodeStatus.State.RECOVERING
                    : refusal == null ? NodeStatus.State.READY : NodeStatus.State.ISOLATED;
            case EXCLUDED -> NodeStatus.State.EXCLUDED;
            case STOPPED -> NodeStatus.State.STOPPING;
            case FAILED -> NodeStatus.State.FAILED;
        };
    }

    private static @Nullable Long provenUntil(@Nullable NodeLife life) {
        Instant until = life == null ? null : life.provenUntil();
        return until == null ? null : until.getEpochSecond();
    }

    private static String engine(NodeConfig config) {
        EngineDescriptor engine = config.engineDescriptor();
        String versioned = engine.product() + " " + engine.version();
        if (config.isInProcess()) {
            return config.inProcess().inMemory() ? versioned + " in memory" : versioned;
        }
        return config.postgres().url() == null ? versioned : engine.product();
    }

    private static @Nullable String text(@Nullable HostPort address) {
        return address == null ? null : address.toString();
    }

    private static String version() {
        String version = NodeStatuses.class.getPackage().getImplementationVersion();
        return version == null ? "development" : version;
    }
}
