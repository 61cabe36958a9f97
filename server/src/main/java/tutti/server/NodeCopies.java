package tutti.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.command.Trees;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.node.ReplicaNode;
import tutti.node.StateCopy;
import tutti.node.copy.CopySource;
import tutti.order.CopiedOrder;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;
import tutti.server.config.NodeConfig;

/** What this node gives copies of: its part of the order, its replica's state, its database. Any thread. */
final class NodeCopies implements CopySource {
    /** Parts that every copy has. */
    static final String ORDER = "order";
    static final String REPLICA = "replica";
    /** Directory for what is written down for a copy, below that of the node's data. */
    private static final String STAGING = "copies";
    private static final Logger LOG = LoggerFactory.getLogger(NodeCopies.class);

    private final NodeConfig config;
    private final String cluster;
    private final ReplicaNode node;
    private final CopiedOrder order;
    private final NodeDatabase database;
    private final AtomicLong count = new AtomicLong();

    /**
     * Of a node whose parts run.
     *
     * @param cluster id of the cluster, or nothing
     * @throws IOException if what an earlier life has left cannot be removed
     */
    NodeCopies(NodeConfig config, String cluster, ReplicaNode node, CopiedOrder order, NodeDatabase database)
            throws IOException {
        this.config = config;
        this.cluster = cluster;
        this.node = node;
        this.order = order;
        this.database = database;
        Trees.delete(config.data().resolve(STAGING));
    }

    @Override
    public String state() {
        return state(config, cluster);
    }

    /** As two nodes must have it the same so that one can be given a copy of the other. */
    static String state(NodeConfig config, String cluster) {
        return "cluster " + config.cluster() + (cluster.isEmpty() ? "" : " (" + cluster + ")") + " with "
                + config.engineDescriptor().product() + " " + config.engineDescriptor().version()
                + ", protocol " + config.protocol() + new TreeMap<>(config.protocolParameters()) + ", stride "
                + config.sequences().stride();
    }

    @Override
    public boolean leads() {
        return node.view().leader() == config.node();
    }

    @Override
    public void begin(int receiver, long directory, Completion<Copy> done) {
        String impossible = DatabaseCopies.impossible(config);
        if (impossible != null) {
            done.failed(new EngineFailure("55000", impossible, false));
            return;
        }
        node.copy(receiver, directory, new Completion<>() {
            @Override
            public void succeeded(StateCopy state) {
                order.copy(Math.max(0, state.position() - 1),
                        log -> RealMachine.INSTANCE.background("tutti-copy-begin", () -> {
                            try {
                                done.succeeded(staged(receiver, state, log));
                            } catch (IOException | RuntimeException broken) {
                                LOG.warn("no copy for node {}", receiver, broken);
                                node.copied(receiver, false);
                                done.failed(new EngineFailure("58030", String.valueOf(broken.getMessage()), true));
                            }
                        }));
            }

            @Override
            public void failed(EngineFailure failure) {
                done.failed(failure);
            }
        });
    }

    private Copy staged(int receiver, StateCopy state, CopiedOrder.Copy log) throws IOException {
        Path staging = config.data().resolve(STAGING).resolve(Long.toString(count.incrementAndGet()));
        boolean begun = false;
        try {
            log.write(PathDirectory.of(staging.resolve(ORDER)));
            state.write(PathDirectory.of(staging.resolve(REPLICA)));
            List<Entry> entries = new ArrayList<>(DatabaseCopies.below(staging.resolve(ORDER), ORDER));
            entries.addAll(DatabaseCopies.below(staging.resolve(REPLICA), REPLICA));
            Copy rows = database.copy(receiver, Files.createDirectory(staging.resolve("database")));
            entries.addAll(rows.first());
            begun = true;
            return new Copy() {
                @Override
                public List<Entry> first() {
                    return entries;
                }

                @Override
                public List<Entry> last() throws IOException {
                    return rows.last();
                }

                @Override
                public void end(boolean complete) {
                    node.copied(receiver, complete);
                    RealMachine.INSTANCE.background("tutti-copy-end", () -> {
                        rows.end(complete);
                        Trees.delete(staging);
                    });
                }
            };
        } finally {
            if (!begun) {
                Trees.delete(staging);
            }
        }
    }
}
