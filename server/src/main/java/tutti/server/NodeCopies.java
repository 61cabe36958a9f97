package tutti.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.command.Trees;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.node.ReplicaNode;
import tutti.node.StateCopy;
import tutti.node.copy.CopySource;
import tutti.node.copy.NodeCopySource;
import tutti.order.CopiedOrder;
import tutti.runtime.DataFile;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;
import tutti.server.config.NodeConfig;
import tutti.server.metrics.PrometheusNodeMetrics;

/** What this node gives copies of: its part of the order, its replica's state, its database. Any thread. */
final class NodeCopies implements CopySource {
    /** Parts that every copy has. */
    static final String ORDER = "order";
    static final String REPLICA = "replica";
    /** Directory for what is written down for a copy, below that of the node's data. */
    private static final String STAGING = "copies";
    /** So long a backup waits for a node that lags. */
    private static final Duration LAG_MAX = Duration.ofMinutes(10);
    private static final Logger LOG = LoggerFactory.getLogger(NodeCopies.class);

    private final NodeConfig config;
    private final String cluster;
    private final ReplicaNode node;
    private final CopiedOrder order;
    private final NodeDatabase database;
    private final PrometheusNodeMetrics metrics;
    private final NodeCopySource toNodes;
    private final AtomicLong count = new AtomicLong();

    /**
     * Of a node whose parts run.
     *
     * @param cluster id of the cluster, or nothing
     * @throws IOException if what an earlier life has left cannot be removed
     */
    NodeCopies(NodeConfig config, String cluster, ReplicaNode node, CopiedOrder order, NodeDatabase database,
            PrometheusNodeMetrics metrics)
            throws IOException {
        this.config = config;
        this.cluster = cluster;
        this.node = node;
        this.order = order;
        this.database = database;
        this.metrics = metrics;
        Trees.delete(config.data().resolve(STAGING));
        toNodes = new NodeCopySource(state(config, cluster), config.node(), node, RealMachine.INSTANCE,
                PathDirectory.of(config.data().resolve(STAGING).resolve("nodes")),
                (after, taken) -> order.copy(after, copy -> taken.accept(copy::write)),
                (receiver, into) -> database.copy(receiver, Path.of(into.location())), ORDER, REPLICA);
    }

    @Override
    public String state() {
        return toNodes.state();
    }

    /** As nodes must have it the same that begin with a copy, or with a backup, of another. */
    static String state(NodeConfig config, String cluster) {
        Map<String, String> parameters = new TreeMap<>(config.protocolParameters());
        parameters.keySet().removeAll(config.chosenProtocol().descriptor().local());
        return "cluster " + config.cluster() + (cluster.isEmpty() ? "" : " (" + cluster + ")") + " with "
                + config.engineDescriptor().product() + " " + config.engineDescriptor().version() + ", protocol "
                + config.protocol() + parameters + ", stride "
                + config.sequences().stride();
    }

    @Override
    public boolean leads() {
        return toNodes.leads();
    }

    @Override
    public void begin(int receiver, long directory, Completion<Copy> done) {
        String impossible = DatabaseCopies.impossible(config);
        if (impossible != null) {
            done.failed(new EngineFailure("55000", impossible, false));
            return;
        }
        toNodes.begin(receiver, directory, new Completion<>() {
            @Override
            public void succeeded(Copy copy) {
                done.succeeded(counted("copy", copy));
            }

            @Override
            public void failed(EngineFailure failure) {
                done.failed(failure);
            }
        });
    }

    /**
     * A backup of this node: a base, or what was ordered since another one. Blocks.
     *
     * @param after position that the other one reaches; negative for a base
     * @throws IOException if there is none now, with cause and remedy
     */
    Copy backup(long after) throws IOException {
        String impossible = DatabaseCopies.notBackedUp(config);
        if (impossible != null) {
            throw new IOException("this node cannot be backed up: " + impossible);
        }
        // A node that lags answers when it has applied what had been ordered, and keeps the order's log until it is told that this is over.
        StateCopy state = NodeLife.asked(node::backUp, LAG_MAX, late -> node.copied(late, false));
        boolean begun = false;
        Path staging = config.data().resolve(STAGING).resolve(Long.toString(count.incrementAndGet()));
        try {
            long kept = node.orderStatus().firstRetained() - 1;
            if (after >= 0 && after < kept) {
                throw new IOException(
                        "the order's log begins behind position " + kept + ", and so there is no more of what"
                                + " was ordered since position " + after + ": take another base");
            }
            Files.createDirectories(staging);
            Copy backup = after < 0 ? base(state, staging) : new Backup(state, List.of(), null, after, staging);
            begun = true;
            return counted("backup", backup);
        } finally {
            if (!begun) {
                node.copied(state, false);
                Trees.delete(staging);
            }
        }
    }

    private SortedMap<String, List<Integer>> lacks() {
        SortedMap<String, List<Integer>> lacks = new TreeMap<>();
        node.lacks().forEach(table -> lacks.put(table.name(), table.nodes().stream().sorted().toList()));
        return lacks;
    }

    /** Has it show in the metrics. */
    private Copy counted(String kind, Copy copy) {
        metrics.copyBegun();
        return new Copy() {
            @Override
            public List<Entry> first() {
                return copy.first().stream().map(this::counted).toList();
            }

            @Override
            public List<Entry> last() throws IOException {
                return copy.last().stream().map(this::counted).toList();
            }

            private Entry counted(Entry entry) {
                Opener file = entry.file();
                return file == null ? entry : new Entry(entry.path(), () -> {
                    DataFile opened = file.open();
                    if (opened != null) {
                        metrics.copyReads(opened.size());
                    }
                    return opened;
                });
            }

            @Override
            public void end(boolean complete) {
                metrics.copyEnded(kind, complete);
                copy.end(complete);
            }
        };
    }

    private Copy base(StateCopy state, Path staging) throws IOException {
        state.write(PathDirectory.of(staging.resolve(REPLICA)));
        List<Entry> first = new ArrayList<>(DatabaseCopies.below(staging.resolve(REPLICA), REPLICA));
        Copy rows = database.copy(config.node(), Files.createDirectory(staging.resolve("database")));
        first.addAll(rows.first());
        return new Backup(state, first, rows, Math.max(0, state.position() - 1), staging);
    }

    /** One that is being read. The log is taken last: it must reach at least as far as the database does. */
    private final class Backup implements Copy {
        private final StateCopy state;
        private final List<Entry> first;
        private final @Nullable Copy rows;
        private final long after;
        private final Path staging;

        Backup(StateCopy state, List<Entry> first, @Nullable Copy rows, long after, Path staging) {
            this.state = state;
            this.first = first;
            this.rows = rows;
            this.after = after;
            this.staging = staging;
        }

        @Override
        public List<Entry> first() {
            return first;
        }

        @Override
        public List<Entry> last() throws IOException {
            List<Entry> entries = new ArrayList<>(rows == null ? List.of() : rows.last());
            // The database holds nothing behind what has been delivered, and has been copied.
            long delivered = node.deliveredPosition();
            CompletableFuture<CopiedOrder.Copy> taken = new CompletableFuture<>();
            order.copy(after, taken::complete);
            Path log = staging.resolve(ORDER);
            taken.join().write(PathDirectory.of(log));
            entries.addAll(DatabaseCopies.below(log, ORDER));
            Path about = Files.createDirectory(staging.resolve(BackupNote.PART));
            new BackupNote(rows == null ? "log" : "base", state(config, cluster), config.self().name(),
                    rows == null ? 0 : delivered, delivered, System.currentTimeMillis(),
                    rows == null ? new TreeMap<>() : lacks()).write(about);
            Path times = config.data().resolve(PositionTimes.FILE);
            if (Files.exists(times)) {
                Files.copy(times, about.resolve(PositionTimes.FILE));
            }
            entries.addAll(DatabaseCopies.below(about, BackupNote.PART));
            return entries;
        }

        @Override
        public void end(boolean complete) {
            node.copied(state, false);
            if (rows != null) {
                rows.end(complete);
            }
            try {
                Trees.delete(staging);
            } catch (IOException left) {
                LOG.warn("{} is left over", staging, left);
            }
        }
    }
}
