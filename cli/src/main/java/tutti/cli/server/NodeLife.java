package tutti.cli.server;

import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import io.netty.channel.unix.DomainSocketAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.flight.FlightRecorder;
import tutti.core.flight.FlightRecording;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.Replica;
import tutti.core.protocol.TwoPhaseCommit;
import tutti.core.spi.LocalTransaction;
import tutti.core.spi.Order.TruncatedException;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.engine.postgres.server.EmbeddedPostgres;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.engine.postgres.server.ServerConfiguration;
import tutti.node.NodeFlightRecorder;
import tutti.node.ReplicaNode;
import tutti.node.config.NodeConfig;
import tutti.node.metrics.NodeMetrics;
import tutti.order.raft.RaftOrder;
import tutti.order.raft.RaftOrderConfig;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.BackendSettings.Credentials;
import tutti.pgwire.Transport;
import tutti.wire.EngineCapture;
import tutti.wire.FrontEndSettings;
import tutti.wire.PostgresFrontEnd;

/**
 * One life of a node: database, engine, order, replica and front end, from their start to the first failure or the stop.
 * Started and closed by one thread; the rest may be asked from any.
 */
final class NodeLife implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(NodeLife.class);
    private static final Duration DATABASE_TIMEOUT = Duration.ofSeconds(30);
    private static final int SECRET_BYTES = 16;

    /**
     * Why a life ended that nobody asked to end.
     *
     * @param restartable whether another life may do better
     * @param atStart whether it ended before it had begun
     */
    record Ending(Throwable cause, boolean restartable, boolean atStart) {
        Ending(Throwable cause, boolean restartable) {
            this(cause, restartable, false);
        }
    }

    private final NodeConfig config;
    private final NodeMetrics metrics;
    private final CompletableFuture<Ending> ended = new CompletableFuture<>();
    /** What has been started, latest first. */
    private final ArrayDeque<AutoCloseable> started = new ArrayDeque<>();
    private volatile @Nullable ReplicaNode replica;
    private volatile @Nullable PostgresFrontEnd frontEnd;
    private volatile @Nullable NodeFlightRecorder flightRecorder;
    private volatile boolean closing;

    NodeLife(NodeConfig config, NodeMetrics metrics) {
        this.config = config;
        this.metrics = metrics;
    }

    /** Completes when something ends the life. */
    CompletableFuture<Ending> ended() {
        return ended;
    }

    @Nullable
    ReplicaNode replica() {
        return replica;
    }

    /** Writes what its flight recorder keeps to a file. */
    Path writeFlightRecording() throws IOException {
        NodeFlightRecorder recorder = flightRecorder;
        if (recorder == null) {
            throw new IOException(config.flightRecorder().enabled()
                    ? "the node is starting; its flight recorder has nothing yet"
                    : "this node's flight recorder is off; set `flight-recorder: {enabled: true}` in its configuration and"
                            + " start it again");
        }
        return recorder.write();
    }

    @Nullable
    PostgresFrontEnd frontEnd() {
        return frontEnd;
    }

    /** Starts everything; returns when the front end is about to open, which it does once the replica has caught up. */
    void start() throws IOException, InterruptedException {
        BackendSettings database = database();
        // Passing messages on takes a fraction of the time that PostgreSQL takes to answer them, and a loop that has more to
        // do at a time wakes up less often.
        EventLoopGroup loops = Transport.eventLoops(Math.max(1, Runtime.getRuntime().availableProcessors() / 2),
                "tutti-io");
        started.push(() -> loops.shutdownGracefully(0, 2, TimeUnit.SECONDS).await(5, TimeUnit.SECONDS));
        createDatabase(loops, database);
        PostgresEngine engine = PostgresEngine.open(loops, database,
                new CaptureInstaller.Settings(config.node(), config.sequences().stride(), secret(),
                        config.limits().transactionBytes()));
        started.push(engine);
        RaftOrder order = RaftOrder.open(orderConfig());
        started.push(order);
        Set<Integer> replicas = config.members().stream().map(NodeConfig.Member::id)
                .collect(Collectors.toUnmodifiableSet());
        ReplicaNode.Settings settings = new ReplicaNode.Settings(config.node(), replicas,
                config.data().resolve("replica"), config.protocol(), config.protocolParameters(),
                config.apply().appliers(),
                config.apply().batchTransactions(), config.limits().transactionsInFlight(), 256L << 20,
                2_000_000_000L, 50_000);
        NodeFlightRecorder recorder = recorder(replicas);
        flightRecorder = recorder;
        Function<Replica, Protocol> protocol = world -> Protocols.create(config.protocol(), config.node(), replicas,
                config.protocolParameters(), world);
        ReplicaNode node = new ReplicaNode(settings, order, engine,
                recorder == null ? protocol : recorder.recorded(protocol), metrics, (cause, restartable) -> {
                    if (recorder != null) {
                        recorder.failed(cause);
                    }
                    ended.complete(new Ending(cause, restartable));
                });
        started.push(node);
        replica = node;
        try {
            node.start();
        } catch (TruncatedException truncated) {
            throw new IOException(truncated.getMessage(), truncated);
        }
        node.ready().thenRunAsync(() -> openFrontEnd(engine, node, database, loops), Thread::startVirtualThread);
    }

    /** Closed after everything else, when what is written because of a failure is complete. */
    private @Nullable NodeFlightRecorder recorder(Set<Integer> replicas) {
        NodeConfig.FlightRecorder wanted = config.flightRecorder();
        if (!wanted.enabled()) {
            return null;
        }
        NodeFlightRecorder recorder = new NodeFlightRecorder(config.data().resolve("flight"),
                new FlightRecording.Subject(config.protocol(), config.protocolParameters(), config.node(), replicas),
                new FlightRecorder.Limits(wanted.memoryBytes(), wanted.keep().toNanos()));
        started.addLast(recorder);
        return recorder;
    }

    private void openFrontEnd(PostgresEngine engine, ReplicaNode node, BackendSettings database,
            EventLoopGroup loops) {
        try {
            FrontEndSettings settings = FrontEndSettings
                    .of(new InetSocketAddress(config.listen().host(), config.listen().port()), database)
                    .withLimits(config.limits().sessions(), Duration.ofSeconds(60), 256 << 20);
            NodeConfig.Tls tls = config.listen().tls();
            if (tls != null) {
                settings = settings.withTls(tlsContext(tls), false);
            }
            EngineCapture capture = new EngineCapture(engine::catalog, engine::references, () -> refresh(engine),
                    engine.secret(),
                    PostgresEngine.RECORD);
            PostgresFrontEnd front = new PostgresFrontEnd(settings, node, capture, new Sessions(engine), loops);
            synchronized (started) {
                if (closing) {
                    return;
                }
                front.start();
                started.push(front);
                frontEnd = front;
            }
        } catch (IOException | RuntimeException e) {
            ended.complete(new Ending(e, false));
        }
    }

    /** The engine as the front end's sessions need it. */
    private record Sessions(PostgresEngine engine) implements PostgresFrontEnd.SessionRegistry {
        @Override
        public Runnable register(int processId, Supplier<@Nullable LocalTransaction> current) {
            return engine.registerSession(processId, current)::close;
        }

        @Override
        public Runnable watch(EventLoop loop, int processId, LocalTransaction waiter, BooleanSupplier waits) {
            ScheduledFuture<?> watching = engine.watch(loop, waiter, processId, waits);
            return () -> watching.cancel(false);
        }

        @Override
        public CompletableFuture<Void> confirm() {
            return engine.confirm();
        }
    }

    private CompletableFuture<Void> refresh(PostgresEngine engine) {
        return engine.refreshCatalog().whenComplete((_, failure) -> {
            if (failure != null && !closing) {
                ended.complete(new Ending(new IOException("the catalog of the database cannot be read after a schema"
                        + " change: " + failure.getMessage(), failure), true));
            }
        });
    }

    private static SslContext tlsContext(NodeConfig.Tls tls) throws IOException {
        try {
            return SslContextBuilder.forServer(tls.certificate().toFile(), tls.key().toFile()).build();
        } catch (IllegalArgumentException unusable) {
            throw new IOException("listen.tls cannot be used: " + unusable.getMessage()
                    + "; both files must be PEM, the key PKCS #8 without a password", unusable);
        }
    }

    /** Starts the embedded server, or takes the given one. */
    private BackendSettings database() throws IOException, InterruptedException {
        NodeConfig.Postgres postgres = config.postgres();
        NodeConfig.Embedded embedded = postgres.embedded();
        if (embedded == null) {
            var url = java.util.Objects.requireNonNull(postgres.url(), "a configuration has one of the two");
            Credentials credentials = postgres.password() == null
                    ? new Credentials.None()
                    : new Credentials.Password(postgres.password());
            return BackendSettings.of(new InetSocketAddress(url.address().host(), url.address().port()),
                    postgres.user(),
                    postgres.database(), credentials);
        }
        int port = embedded.port() == 0 ? freePort() : embedded.port();
        String password = postgres.password() == null ? secret() : postgres.password();
        ServerConfiguration server = ServerConfiguration.of(ServerBinaries.unpacked(),
                config.data().resolve("postgres"), port, postgres.user(), password)
                .with("max_connections",
                        Integer.toString(config.limits().sessions() * (prepares() ? config.members().size() : 1)
                                + config.apply().appliers() + 20))
                .with("shared_buffers", (embedded.sharedBuffersBytes() >> 10) + "kB");
        for (Map.Entry<String, String> parameter : new TreeMap<>(embedded.parameters()).entrySet()) {
            server = server.with(parameter.getKey(), parameter.getValue());
        }
        EmbeddedPostgres running = EmbeddedPostgres.start(server);
        started.push(running);
        running.onExit().thenRun(() -> {
            if (!closing) {
                ended.complete(new Ending(new IOException("the PostgreSQL server of this node has ended; see "
                        + running.configuration().logFile()), true));
            }
        });
        return BackendSettings.of(address(running), postgres.user(), postgres.database(),
                new Credentials.Password(password));
    }

    /** Whether each transaction of another node may need a connection of its own to hold its locks. */
    private boolean prepares() {
        return config.protocol().equals(TwoPhaseCommit.NAME);
    }

    /** The embedded server's Unix socket, which takes a third less work than TCP, where there is one. */
    private static SocketAddress address(EmbeddedPostgres server) {
        return server.socket().filter(_ -> Transport.hasDomainSockets())
                .<SocketAddress>map(path -> new DomainSocketAddress(path.toFile()))
                .orElseGet(() -> new InetSocketAddress(server.host(), server.port()));
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private static void createDatabase(EventLoopGroup loops, BackendSettings database)
            throws IOException, InterruptedException {
        BackendSettings maintenance = new BackendSettings(database.address(), database.user(), "postgres",
                database.credentials(), database.parameters(), database.tls(), database.timeout(),
                database.gatherLimit());
        BackendConnection connection = connect(loops, maintenance);
        try {
            String name = database.database();
            String known = connection.execute("SELECT 1 FROM pg_catalog.pg_database WHERE datname = '"
                    + name.replace("'", "''") + "'", DATABASE_TIMEOUT).value();
            if (known == null) {
                connection.execute("CREATE DATABASE \"" + name.replace("\"", "\"\"")
                        + "\" TEMPLATE template0 ENCODING 'UTF8'", DATABASE_TIMEOUT);
            }
        } finally {
            connection.close();
        }
    }

    private static BackendConnection connect(EventLoopGroup loops, BackendSettings settings)
            throws IOException, InterruptedException {
        try {
            return BackendConnection.connect(loops.next(), settings).get(DATABASE_TIMEOUT.toSeconds(),
                    TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new IOException("cannot connect to PostgreSQL at " + settings.address() + " as " + settings.user()
                    + ": " + cause.getMessage(), cause);
        }
    }

    private RaftOrderConfig orderConfig() {
        Map<Integer, InetSocketAddress> members = new TreeMap<>();
        for (NodeConfig.Member member : config.members()) {
            members.put(member.id(), new InetSocketAddress(member.order().host(), member.order().port()));
        }
        int payloadMax = Math.toIntExact(Math.min(config.limits().transactionBytes() * 2 + (1 << 20), 1 << 28));
        return RaftOrderConfig.of(config.node(), members, config.data().resolve("order"))
                .withVoters(Protocols.voters(config.protocol(), members.keySet(), config.protocolParameters()))
                .withQueue(Math.max(config.order().queueBytes(), payloadMax), payloadMax)
                .withSegmentBytes(Math.toIntExact(Math.min(config.order().segmentBytes(), 1 << 30)))
                .withBatches(Math.toIntExact(config.order().batchBytes()), 4)
                .withTimeouts(config.order().electionTimeout(), config.order().electionTimeout());
    }

    /** A secret of this node, made at its first start: arms commits, and is the embedded server's password by default. */
    private String secret() throws IOException {
        Path file = config.data().resolve("secret");
        if (Files.exists(file)) {
            return Files.readString(file).trim();
        }
        byte[] random = new byte[SECRET_BYTES];
        new SecureRandom().nextBytes(random);
        String secret = HexFormat.of().formatHex(random);
        Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        Files.writeString(file, secret);
        return secret;
    }

    /** Lets transactions that wait for their outcome have it, for so long at most. */
    void drain(Duration grace) throws InterruptedException {
        ReplicaNode node = replica;
        if (node == null) {
            return;
        }
        try {
            node.idle().get(grace.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException | TimeoutException late) {
            LOG.warn("{} transactions still wait for their outcome; they stay in doubt until the node is back",
                    node.inFlight());
        }
    }

    @Override
    public void close() {
        synchronized (started) {
            closing = true;
        }
        while (!started.isEmpty()) {
            AutoCloseable next = started.pop();
            try {
                next.close();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            } catch (Exception e) {
                LOG.warn("{} did not close cleanly: {}", next, e.getMessage(), e);
            }
        }
    }
}
