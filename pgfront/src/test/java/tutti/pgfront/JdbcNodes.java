package tutti.pgfront;

import io.netty.channel.EventLoopGroup;
import io.netty.handler.ssl.SslContext;
import java.net.InetAddress;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocols;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.engine.jdbc.CaptureMode;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.JavaCall;
import tutti.engine.jdbc.JdbcEngine;
import tutti.engine.jdbc.SequenceSteps;
import tutti.engine.jdbc.SqlSyntax;
import tutti.engine.macro.MacroDb;
import tutti.node.ReplicaNode;
import tutti.node.Transactions;
import tutti.node.metrics.NodeMetrics;
import tutti.order.local.LocalOrderGroup;
import tutti.pgwire.Transport;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;
import tutti.wire.AdmissionLimits;
import tutti.wire.FrontEndSettings;
import tutti.wire.JavaRequests;
import tutti.wire.Places;

/** Nodes with databases in this virtual machine, and their front ends. */
final class JdbcNodes implements AutoCloseable {
    private static final int TRANSACTION_BYTES_MAX = 1 << 24;
    private static final int RESULT_BYTES_MAX = 22 << 20;
    private final EventLoopGroup loops = Transport.eventLoops(1, "test-io");
    private final List<MacroDb> engines = new ArrayList<>();
    private final List<ReplicaNode> nodes = new ArrayList<>();
    private final List<JdbcFrontEnd> frontEnds = new ArrayList<>();
    private final List<String> urls = new ArrayList<>();
    private final List<AtomicLong> undertaken = new ArrayList<>();
    private final AtomicLong repeated = new AtomicLong();
    /** How often nodes were asked to wait for all that was ordered before. */
    final AtomicLong awaited = new AtomicLong();
    /** What clients' transactions have lost to. */
    final BlockingQueue<NodeMetrics.Loss> losses = new LinkedBlockingQueue<>();
    /** Statements that took long. */
    final BlockingQueue<String> slow = new LinkedBlockingQueue<>();
    private final BlockingQueue<CompletableFuture<Void>> booked = new LinkedBlockingQueue<>();
    private volatile boolean holds;

    JdbcNodes(EngineKind kind, Path directory, int count) throws Exception {
        this(kind, directory, count, "si", null);
    }

    private static EmbeddedDatabase empty(EngineKind kind) throws SQLException {
        return kind.engine().inMemory(SqlSyntax.POSTGRES);
    }

    /**
     * Likewise.
     *
     * @param tls that clients must use, or null for none
     */
    JdbcNodes(EngineKind kind, Path directory, int count, String protocol, @Nullable SslContext tls)
            throws Exception {
        this(kind, directory, count, protocol, tls, JavaRequests.NONE);
    }

    /** Likewise, with procedures in Java. */
    JdbcNodes(EngineKind kind, Path directory, int count, String protocol, @Nullable SslContext tls, JavaRequests java)
            throws Exception {
        Set<Integer> all = IntStream.range(0, count).boxed().collect(Collectors.toSet());
        LocalOrderGroup group = new LocalOrderGroup(RealMachine.INSTANCE, all);
        for (int i = 0; i < count; i++) {
            int node = i;
            MacroDb engine = MacroDb.open(
                    JdbcEngine.open(empty(kind), CaptureMode.NOTES, new SequenceSteps(i, 16)), () -> empty(kind),
                    0, MacroDb.Settings.DEFAULT);
            engine.primary().registers(new JavaCall.Known(java.registered(), Duration.ofSeconds(2)));
            engines.add(engine);
            ChosenProtocol chosen = Protocols.STANDARD.choose(protocol);
            ReplicaNode replica = new ReplicaNode(
                    ReplicaNode.Settings.defaults(i, all, chosen), RealMachine.INSTANCE,
                    PathDirectory.of(directory.resolve("node" + i)), group.open(i), engine,
                    world -> chosen.create(node, all, world), counting(), (cause, _) -> {
                        throw new AssertionError(cause);
                    });
            nodes.add(replica);
            replica.start().get(20, TimeUnit.SECONDS);
        }
        for (int i = 0; i < count; i++) {
            nodes.get(i).ready().get(20, TimeUnit.SECONDS);
            AdmissionLimits admission = new AdmissionLimits(FrontEndSettings.Authentication.SCRAM, tls, tls != null,
                    Places.of(50),
                    Duration.ofSeconds(30),
                    1 << 24, Map.of());
            JdbcFrontEnd frontEnd = new JdbcFrontEnd(
                    new JdbcFrontEndSettings(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), "tutti",
                            "tutti", "tutti", admission,
                            kind.engine(), TRANSACTION_BYTES_MAX, RESULT_BYTES_MAX, 16, 10),
                    holding(nodes.get(i)), engines.get(i), java, engines.get(i).primary()::tables, loops);
            frontEnds.add(frontEnd);
            urls.add("jdbc:postgresql://127.0.0.1:" + frontEnd.start().getPort() + "/tutti");
        }
    }

    /** From now on what is booked comes when it is said so; see {@link #booked}. */
    void holdBookings() {
        holds = true;
    }

    /** A node of which what is booked can be held. */
    private Transactions holding(ReplicaNode node) {
        return (Transactions) Proxy.newProxyInstance(Transactions.class.getClassLoader(),
                new Class<?>[]{Transactions.class}, (_, method, arguments) -> {
                    if (holds && method.getName().equals("book")) {
                        CompletableFuture<Void> may = new CompletableFuture<>();
                        @SuppressWarnings("unchecked") // as declared
                        Completion<Long> come = (Completion<Long>) arguments[1];
                        Transactions.Booking booking = node.book((Long) arguments[0], new Completion<>() {
                            @Override
                            public void succeeded(Long position) {
                                may.thenRun(() -> come.succeeded(position));
                            }

                            @Override
                            public void failed(EngineFailure failure) {
                                come.failed(failure);
                            }
                        });
                        booked.add(may);
                        return booking;
                    }
                    if (method.getName().equals("awaitAll")) {
                        awaited.incrementAndGet();
                    }
                    try {
                        return method.invoke(node, arguments);
                    } catch (InvocationTargetException failed) {
                        throw failed.getCause();
                    }
                });
    }

    /** Takes the next that was booked; it comes when this is completed, if its turn has come. */
    CompletableFuture<Void> booked() throws InterruptedException {
        return Objects.requireNonNull(booked.poll(20, TimeUnit.SECONDS), "nothing was booked");
    }

    private NodeMetrics counting() {
        AtomicLong count = new AtomicLong();
        undertaken.add(count);
        return (NodeMetrics) Proxy.newProxyInstance(NodeMetrics.class.getClassLoader(),
                new Class<?>[]{NodeMetrics.class},
                (_, method, arguments) -> switch (method.getName()) {
                    case "undertaken" -> count.addAndGet((Integer) arguments[0]);
                    case "repeated" -> repeated.incrementAndGet();
                    case "lost" -> losses.add((NodeMetrics.Loss) arguments[0]);
                    case "slow" -> slow.add((String) arguments[1]);
                    default -> null;
                });
    }

    /** How many requests the nodes have executed as the owners of their logs. */
    List<Long> undertaken() {
        return undertaken.stream().map(AtomicLong::get).toList();
    }

    /** How often the nodes have run transactions again. */
    long repeated() {
        return repeated.get();
    }

    String url(int node) {
        return urls.get(node);
    }

    Connection connect(int node) throws SQLException {
        return DriverManager.getConnection(url(node), "tutti", "tutti");
    }

    /** Bytes that a node keeps of its clients' statements and results. */
    long keptBytes(int node) {
        return frontEnds.get(node).memory().preparedBytes();
    }

    /** Bytes of clients' long messages at a node. */
    long messageBytes(int node) {
        return frontEnds.get(node).memory().messageBytes();
    }

    int sessions(int node) {
        return frontEnds.get(node).sessions();
    }

    /** Has a node's clients leave. */
    boolean drain(int node, Duration grace) throws InterruptedException {
        return frontEnds.get(node).drain(grace);
    }

    @Override
    public void close() {
        frontEnds.forEach(JdbcFrontEnd::close);
        nodes.forEach(ReplicaNode::close);
        engines.forEach(MacroDb::close);
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
    }
}
