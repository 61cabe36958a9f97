package tutti.embedded;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocols;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.Order;
import tutti.engine.jdbc.CaptureMode;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.JdbcEngine;
import tutti.engine.jdbc.SequenceSteps;
import tutti.engine.jdbc.SqlSyntax;
import tutti.engine.macro.MacroDb;
import tutti.node.ReplicaNode;
import tutti.node.metrics.NodeMetrics;
import tutti.order.OrderSettings;
import tutti.order.Orders;
import tutti.order.local.LocalOrderGroup;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.PeerKeys;
import tutti.runtime.real.RealMachine;
import tutti.session.EmbeddedSession;

/** One node of this virtual machine: order, engine and replica. Safe for use by several threads. */
final class EmbeddedNode implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EmbeddedNode.class);
    /** Sequences count in so many times their increments. */
    static final int SEQUENCE_STEP = 16;
    /** Longest message of the order: the changes of one transaction, its keys, and what is around them. */
    private static final int PAYLOAD_BYTES_MAX = 2 * EmbeddedUrl.TRANSACTION_BYTES_MAX + (1 << 20);
    private static final long READY_SECONDS = 120;
    /** Groups in memory that have nodes, by engine and name. */
    private static final Map<String, Group> GROUPS = new ConcurrentHashMap<>();

    /**
     * Nodes in memory that belong together. Their log is in memory, too, and is shortened like any other; so a node that was
     * stopped begins with a copy of another one's database, and the files that it has left itself. When the last one has
     * stopped, all is gone.
     */
    private static final class Group {
        private final LocalOrderGroup order;
        private final Path directory;
        private final Map<Integer, EmbeddedNode> present = new ConcurrentHashMap<>();
        /** Up to where nodes that were stopped had got. */
        private final Map<Integer, Long> left = new ConcurrentHashMap<>();

        Group(Set<Integer> members) {
            order = new LocalOrderGroup(RealMachine.INSTANCE, members, PAYLOAD_BYTES_MAX, PAYLOAD_BYTES_MAX);
            try {
                directory = Files.createTempDirectory("tutti-embedded");
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        }

        void delete() throws IOException {
            try (Stream<Path> files = Files.walk(directory)) {
                for (Path file : (Iterable<Path>) files.sorted(Comparator.reverseOrder())::iterator) {
                    Files.delete(file);
                }
            }
        }
    }

    private final EmbeddedUrl url;
    private final @Nullable Group group;
    private final String text;
    private final ArrayDeque<AutoCloseable> started = new ArrayDeque<>();
    private final MacroDb engine;
    private final ReplicaNode replica;
    private volatile @Nullable Throwable failure;
    private volatile boolean stopped;

    private EmbeddedNode(EmbeddedUrl url, String text) throws SQLException, IOException {
        this.url = url;
        this.text = text;
        boolean complete = false;
        try {
            Set<Integer> members = url.members().isEmpty()
                    ? IntStream.range(0, url.nodes()).boxed().collect(Collectors.toUnmodifiableSet())
                    : Set.copyOf(url.members().keySet());
            group = url.name() == null ? null : GROUPS.computeIfAbsent(groupName(), _ -> new Group(members));
            Path directory = directory();
            PeerKeys keys = keys();
            engine = engine(directory, keys == null ? "" : keys.identity().cluster());
            started.push(engine);
            Order order = order(directory, keys);
            started.push(order);
            ChosenProtocol protocol = Protocols.STANDARD.choose(url.protocol(), url.parameters());
            replica = new ReplicaNode(
                    ReplicaNode.Settings.defaults(url.node(), members, protocol), RealMachine.INSTANCE,
                    PathDirectory.of(directory.resolve("replica")), order, engine,
                    world -> protocol.create(url.node(), members, world),
                    NodeMetrics.NONE,
                    (cause, _) -> failure = cause);
            started.push(replica);
            replica.start().get();
            if (group != null) {
                group.present.put(url.node(), this);
            }
            complete = true;
        } catch (ExecutionException failed) {
            throw new IOException(failed.getCause().getMessage(), failed.getCause());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while the node started");
        } finally {
            if (!complete) {
                close();
            }
        }
    }

    /** Starts a node. */
    static EmbeddedNode start(EmbeddedUrl url, String text) throws SQLException {
        try {
            return new EmbeddedNode(url, text);
        } catch (IOException | UncheckedIOException failed) {
            throw new SQLException("the node of " + text + " cannot be started: " + failed.getMessage(), "08001",
                    failed);
        }
    }

    private String groupName() {
        return url.engine().name() + " " + url.name();
    }

    private Path directory() throws IOException {
        Path directory = url.directory();
        Group of = group;
        if (directory == null && of != null) {
            directory = of.directory.resolve("node" + url.node());
        }
        return Files.createDirectories(Objects.requireNonNull(directory, "a URL names a directory or a group"));
    }

    /** With what this node proves to others who it is; null if it need not. */
    private @Nullable PeerKeys keys() throws IOException {
        Path keys = url.trust().keys();
        return url.members().size() > 1 && keys != null && url.trust().security().equals(EmbeddedUrl.Trust.TLS)
                ? PeerKeys.open(PeerKeys.Source.in(keys), LOG::warn)
                : null;
    }

    private MacroDb engine(Path directory, String cluster) throws SQLException {
        JdbcEngine primary = url.directory() == null
                ? inMemory()
                : JdbcEngine.open(url.engine().inFiles(directory.resolve("database"), SqlSyntax.OWN), CaptureMode.NOTES,
                        steps());
        primary.claim(cluster);
        return MacroDb.open(primary, this::memory, url.secondaries(), MacroDb.Settings.DEFAULT);
    }

    private SequenceSteps steps() {
        return new SequenceSteps(url.node(), SEQUENCE_STEP);
    }

    private JdbcEngine inMemory() throws SQLException {
        Group of = group;
        Long left = of == null ? null : of.left.get(url.node());
        EmbeddedNode other = of == null ? null : of.present.values().stream().findAny().orElse(null);
        JdbcEngine engine = other == null || left == null
                ? JdbcEngine.open(memory(), CaptureMode.NOTES, steps())
                : other.copyOf(memory(), left, steps());
        engine.lostWithLog();
        return engine;
    }

    /** A copy of this node's database that shows this position at least. */
    private JdbcEngine copyOf(EmbeddedDatabase empty, long position, SequenceSteps steps) throws SQLException {
        CompletableFuture<Long> there = new CompletableFuture<>();
        replica.await(position, new Completion<>() {
            @Override
            public void succeeded(Long visible) {
                there.complete(visible);
            }

            @Override
            public void failed(EngineFailure failure) {
                there.completeExceptionally(new SQLException(failure.message(), failure.sqlState()));
            }
        });
        try {
            there.get(READY_SECONDS, TimeUnit.SECONDS);
            return engine.primary().copyTo(empty, steps);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw notServing(interrupted);
        } catch (ExecutionException | TimeoutException failed) {
            throw notServing(failed);
        }
    }

    private EmbeddedDatabase memory() throws SQLException {
        return url.engine().inMemory(SqlSyntax.OWN);
    }

    private Order order(Path directory, @Nullable PeerKeys keys) throws IOException {
        Group of = group;
        if (of != null) {
            return of.order.openDirect(url.node());
        }
        Map<Integer, InetSocketAddress> addresses = url.members();
        if (addresses.isEmpty()) {
            addresses = Map.of(url.node(), lonePlace(directory.resolve("port")));
        }
        OrderSettings settings = OrderSettings.of("", url.node(), addresses).withPayloadBytesMax(PAYLOAD_BYTES_MAX);
        RealMachine machine = RealMachine.INSTANCE;
        if (keys != null) {
            machine = machine.proving(keys);
            settings = settings.withClusterId(keys.identity().cluster());
        }
        return Orders.STANDARD.descriptor(Orders.DEFAULT).open(settings, machine,
                PathDirectory.of(directory.resolve("order")));
    }

    /** Where a node that is alone listens for others that never come; kept, since a log belongs to its members. */
    private static InetSocketAddress lonePlace(Path file) throws IOException {
        InetAddress loopback = InetAddress.getLoopbackAddress();
        if (Files.exists(file)) {
            return new InetSocketAddress(loopback, Integer.parseInt(Files.readString(file).strip()));
        }
        try (ServerSocket free = new ServerSocket(0, 1, loopback)) {
            Files.writeString(file, Integer.toString(free.getLocalPort()));
            return new InetSocketAddress(loopback, free.getLocalPort());
        }
    }

    /** The database and its secondaries. */
    MacroDb engine() {
        return engine;
    }

    /** What it was started with. */
    EmbeddedUrl url() {
        return url;
    }

    /**
     * Connects, once the node has caught up.
     *
     * @param session as in the connection's URL
     */
    Connection connect(EmbeddedUrl.Session session) throws SQLException {
        try {
            replica.ready().get(READY_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException failed) {
            throw notServing(failed.getCause());
        } catch (TimeoutException late) {
            throw new SQLException("the node of " + text + " has not caught up with its cluster in " + READY_SECONDS
                    + " seconds: " + replica.refusal(), "08001", late);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new SQLException("interrupted while the node of " + text + " starts", "08001", interrupted);
        }
        Throwable cause = failure;
        if (cause != null) {
            throw notServing(cause);
        }
        Connection connection = EmbeddedConnection.open(
                new EmbeddedSession(replica, engine, session.transactionBytes()), text,
                () -> !stopped && failure == null, session.classes());
        connection.setReadOnly(session.readOnly());
        return connection;
    }

    private SQLException notServing(@Nullable Throwable cause) {
        return new SQLException("the node of " + text + " has stopped: " + (cause == null ? "" : cause.getMessage()),
                "08001", cause);
    }

    @Override
    public void close() {
        stopped = true;
        Group of = group;
        if (of != null && of.present.remove(url.node(), this)) {
            of.left.put(url.node(), replica.deliveredPosition());
        }
        closeParts();
        if (of != null && of.present.isEmpty() && GROUPS.remove(groupName(), of)) {
            try {
                of.delete();
            } catch (IOException failed) {
                LOG.warn("{} cannot be deleted: {}", of.directory, failed.getMessage(), failed);
            }
        }
    }

    private void closeParts() {
        while (!started.isEmpty()) {
            AutoCloseable next = started.pop();
            try {
                next.close();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            } catch (Exception failed) {
                LOG.warn("{} did not close cleanly: {}", next, failed.getMessage(), failed);
            }
        }
    }
}
