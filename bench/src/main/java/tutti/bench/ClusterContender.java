package tutti.bench;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.cluster.AdminClient;
import tutti.cluster.ChosenNodes;
import tutti.cluster.Cluster;
import tutti.cluster.ClusterFile;
import tutti.cluster.ClusterSpec;
import tutti.command.Failure;
import tutti.workload.tpcc.TpccDatabase;

/** A Tutti cluster on this machine, each node a process with a PostgreSQL of its own, at the defaults of its settings. */
final class ClusterContender implements Contender {
    private static final Duration READY_PATIENCE = Duration.ofMinutes(2);
    private static final Duration CHANGE_PATIENCE = Duration.ofSeconds(15);
    private static final Duration SETTLE_PATIENCE = Duration.ofMinutes(3);

    private final Kind kind;
    private final ClusterSpec spec;

    /**
     * A cluster of as many nodes as the kind says.
     *
     * @param directory of its own
     * @param nodeCommand what starts a node, without the arguments of {@code tutti node}
     */
    ClusterContender(Kind kind, Path directory, List<String> nodeCommand) {
        this(kind, directory, nodeCommand, "si", Map.of());
    }

    /**
     * Likewise, under another protocol.
     *
     * @param settings further lines of the nodes' configuration, by top-level key
     */
    ClusterContender(Kind kind, Path directory, List<String> nodeCommand, String protocol,
            Map<String, String> settings) {
        this.kind = kind;
        spec = new ClusterSpec(directory, kind.nodes(), 0, protocol, "tutti", "tutti", settings, nodeCommand);
    }

    @Override
    public Kind kind() {
        return kind;
    }

    @Override
    public Started startEmpty() {
        return start();
    }

    @Override
    public void loaded() {
        // The nodes keep what was loaded.
    }

    @Override
    public Started start() {
        Started started = new Started(spec);
        try {
            started.awaitReady();
            return started;
        } catch (RuntimeException e) {
            started.close();
            throw e;
        }
    }

    /** The cluster's processes. */
    final class Started implements Running {
        private final AtomicReference<@Nullable String> death = new AtomicReference<>();
        private final Cluster cluster;

        private Started(ClusterSpec wanted) {
            cluster = Cluster.start(wanted, (node, exitStatus) -> death.compareAndSet(null, node.name()
                    + " ended on its own with exit status " + exitStatus + "; its log: " + node.log()));
        }

        /** Gives parameters of the protocol other values, at all nodes from one position of the order on. */
        void change(Map<String, String> parameters) throws InterruptedException {
            ClusterFile.Node first = cluster.nodes().getFirst();
            String query = parameters.entrySet().stream().map(each -> each.getKey() + "=" + each.getValue())
                    .collect(Collectors.joining("&"));
            try (AdminClient admin = new AdminClient(CHANGE_PATIENCE)) {
                AdminClient.Answer answer = admin.post(first.httpUrl(), "/parameters?" + query,
                        ChosenNodes.token(first));
                if (!answer.well()) {
                    throw new Failure("the parameters stay as they are: " + answer.text(), "");
                }
            }
        }

        private void awaitReady() {
            for (ClusterFile.Node node : cluster.nodes()) {
                cluster.awaitReady(node.id(), READY_PATIENCE);
            }
        }

        /** The nodes as they are now. */
        List<ClusterFile.Node> nodes() {
            return cluster.nodes();
        }

        @Override
        public List<TpccDatabase> copies() {
            return cluster.nodes().stream().map(node -> TpccDatabase.of(node.name(), node.jdbcUrl())).toList();
        }

        @Override
        public List<TpccDatabase> databases() {
            return kind == Kind.D ? copies() : copies().subList(0, 1);
        }

        @Override
        public List<Long> processes() {
            refuseDeath();
            return cluster.nodes().stream().map(ClusterFile.Node::pid).toList();
        }

        @Override
        public void settle() {
            refuseDeath();
            long target = 0;
            for (ClusterFile.Node node : cluster.nodes()) {
                target = Math.max(target,
                        cluster.status(node.id()).map(status -> status.positions().known()).orElse(0L));
            }
            long mustReach = target;
            for (ClusterFile.Node node : cluster.nodes()) {
                cluster.await(node.id(), SETTLE_PATIENCE, "at position " + mustReach,
                        status -> status.positions().applied() >= mustReach);
            }
        }

        private void refuseDeath() {
            String why = death.get();
            if (why != null) {
                throw new Failure(why, "");
            }
        }

        @Override
        public void close() {
            cluster.close();
        }
    }
}
