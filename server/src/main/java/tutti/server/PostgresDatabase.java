package tutti.server;

import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.unix.DomainSocketAddress;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.Trait;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.Group;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.WriteSet;
import tutti.engine.CapturedWriteSets;
import tutti.engine.StateView;
import tutti.engine.postgres.AwaitedSessions;
import tutti.engine.postgres.IndexBuilder;
import tutti.engine.postgres.IndexReports;
import tutti.engine.postgres.NodeRole;
import tutti.engine.postgres.OwnSessions;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.apply.ExecutorServices;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.engine.postgres.capture.SequenceName;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.engine.postgres.databases.DatabaseTag;
import tutti.engine.postgres.databases.DatabasesView;
import tutti.engine.postgres.databases.ServerEngine;
import tutti.engine.postgres.output.DecodedWriteSets;
import tutti.engine.postgres.server.EmbeddedPostgres;
import tutti.engine.postgres.server.PostgresBackup;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.engine.postgres.server.ServerConfiguration;
import tutti.engine.procedure.Procedures;
import tutti.node.ReplicaNode;
import tutti.node.copy.CopySource;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.BackendSettings.Credentials;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Transport;
import tutti.runtime.DataFile;
import tutti.runtime.real.PathDirectory;
import tutti.server.config.NodeConfig;
import tutti.server.config.PostgresUrl;
import tutti.server.http.NodeStatus;
import tutti.wire.Capture;
import tutti.wire.EngineCapture;
import tutti.wire.FrontEnd;
import tutti.wire.FrontEndSettings;
import tutti.wire.JavaRequests;
import tutti.wire.Places;
import tutti.wire.PostgresFrontEnd;
import tutti.wire.sql.StatementClasses;

/** A PostgreSQL server, the node's own or a given one, and the pass-through front end before it. */
final class PostgresDatabase implements NodeDatabase {
    private static final Logger LOG = LoggerFactory.getLogger(PostgresDatabase.class);
    /** As many as `apply.appliers` can be while the node runs; the server's number of connections is fixed when it starts. */
    private static final int APPLIERS_MAX = 64;
    /** A transaction takes up to ten times the bytes that it has changed while it commits, among which are copies in the order. */
    private static final int CHANGES_PART_OF_MEMORY = 16;
    /** Of what was committed last, for who asks what it was. */
    private static final long CHANGES_KEPT_BYTES_MAX = 16 << 20;

    /** What nodes tell each other that can build indexes beside the order. */
    private static final String BUILDS_INDEXES = "builds-indexes";
    private static final Completion<ExecuteResult> HEARD_AT_ITS_POSITION = new Completion<>() {
        @Override
        public void succeeded(ExecuteResult result) {
            // all nodes have heard of it, or will
        }

        @Override
        public void failed(EngineFailure failure) {
            LOG.debug("not told how far an index is: {}", failure.message());
        }
    };

    private final NodeConfig config;
    private final NodeLife life;
    private final EventLoopGroup loops;
    private final String secret;
    private final BackendSettings settings;
    /** Of the configured database. */
    private final PostgresEngine engine;
    private final ServerEngine all;
    private final Procedures procedures;
    private final ServerLocales locales;

    private PostgresDatabase(NodeConfig config, String cluster, NodeLife life, EventLoopGroup loops)
            throws IOException, InterruptedException {
        this.config = config;
        this.life = life;
        this.loops = loops;
        procedures = NodeDatabase.procedures(config);
        secret = secret();
        settings = server();
        String before = clusterOf();
        if (before != null && !cluster.isEmpty() && !before.equals(cluster)) {
            throw new IOException(NodeDatabase.foreign("the database " + settings.database() + " at "
                    + settings.address(), before, cluster));
        }
        CaptureInstaller.Settings capture = new CaptureInstaller.Settings(config.node(),
                config.sequences().stride(), secret, config.limits().transactionBytes(),
                config.chosenProtocol().grantsSerializable());
        engine = configured(PostgresEngine.open(loops, settings, capture));
        life.started(engine);
        all = new ServerEngine(loops, settings, engine,
                (other, beside) -> configured(PostgresEngine.open(loops, other, capture, beside)));
        life.started(all);
        locales = ServerLocales.of(this::ask);
        if (before == null && !cluster.isEmpty()) {
            ask("INSERT INTO tutti.cluster (id) VALUES ('" + cluster.replace("'", "''") + "')");
        }
    }

    private PostgresEngine configured(PostgresEngine opened) {
        opened.onExecuted(new Known(opened, procedures));
        opened.leaveOut(() -> life.allCan(Group.COLUMNS));
        opened.limitTimes(config.apply().codeTime(), config.apply().statementTime());
        return opened;
    }

    /** What is known of what requests may do. */
    private record Known(PostgresEngine engine, Procedures procedures) implements ExecutorServices.Check {
        @Override
        public @Nullable String outside(WriteSet writes, List<Long> relations, ConflictClasses classes) {
            TableCatalog tables = engine.catalog();
            String written = StatementClasses.outside(writes, classes, tables, engine.references());
            return written != null
                    ? written
                    : StatementClasses.outside(relations, classes, tables, engine.references());
        }

        @Override
        public @Nullable String varies(String sql) {
            return StatementClasses.statements(sql.getBytes(StandardCharsets.UTF_8), true, engine.references())
                    .varying();
        }
    }

    @Override
    public Procedures procedures() {
        return procedures;
    }

    @Override
    public Set<String> abilities() {
        Set<String> abilities = new TreeSet<>(procedures.abilities());
        abilities.addAll(locales.abilities());
        abilities.add(BUILDS_INDEXES);
        return abilities;
    }

    /** Id of the cluster that the database belongs to, null if it has none. */
    private @Nullable String clusterOf() throws IOException, InterruptedException {
        return ask("SELECT pg_catalog.to_regclass('tutti.cluster')") == null
                ? null
                : ask("SELECT id FROM tutti.cluster");
    }

    private @Nullable String ask(String sql) throws IOException, InterruptedException {
        return NodeRole.ask(loops, settings, sql);
    }

    /** Starts it, as a part of a life. */
    static PostgresDatabase start(NodeConfig config, String cluster, NodeLife life, EventLoopGroup loops)
            throws IOException, InterruptedException {
        return new PostgresDatabase(config, cluster, life, loops);
    }

    @Override
    public ServerEngine engine() {
        return all;
    }

    @Override
    public CopySource.Copy copy(int receiver, Path staging) throws IOException {
        Path data = config.data().resolve("postgres");
        PostgresBackup backup;
        try {
            backup = PostgresBackup.begin(loops, OwnSessions.superuser(settings, "tutti copy"), data);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IOException("the node is stopping", interrupted);
        }
        return new PostgresCopy(backup, data, staging);
    }

    /** A base backup. */
    private record PostgresCopy(PostgresBackup backup, Path data, Path staging) implements CopySource.Copy {
        private static final String PART = "postgres";

        @Override
        public List<CopySource.Entry> first() {
            List<CopySource.Entry> entries = new ArrayList<>();
            entries.add(new CopySource.Entry(PART, null));
            for (String file : backup.files()) {
                entries.add(file.endsWith("/")
                        ? new CopySource.Entry(PART + "/" + file.substring(0, file.length() - 1), null)
                        : DatabaseCopies.file(data.resolve(file), PART + "/" + file));
            }
            return entries;
        }

        @Override
        public List<CopySource.Entry> last() throws IOException {
            PostgresBackup.Rest rest;
            try {
                rest = backup.end();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new IOException("the node is stopping", interrupted);
            }
            Path label = Files.writeString(staging.resolve("backup_label"), rest.label());
            List<CopySource.Entry> entries = new ArrayList<>();
            rest.wal().forEach(wal -> entries.add(DatabaseCopies.file(data.resolve(wal), PART + "/" + wal)));
            entries.add(new CopySource.Entry(PART + "/backup_label", () -> checked(label)));
            return entries;
        }

        /** The label comes last, and only if all of the log has come. */
        private DataFile checked(Path label) throws IOException {
            try {
                backup.check();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new IOException("the node is stopping", interrupted);
            }
            return PathDirectory.read(label);
        }

        @Override
        public void end(boolean complete) {
            backup.close();
        }
    }

    @Override
    public CompletableFuture<?> answers() {
        return BackendConnection.connect(loops.next(), OwnSessions.superuser(settings, "tutti watch"))
                .thenCompose(connection -> connection.query("SELECT 1")
                        .whenComplete((_, _) -> connection.close()));
    }

    @Override
    public CompletableFuture<String> awaited() {
        return AwaitedSessions.ask(loops, settings, engine.functions());
    }

    @Override
    public StateView view() throws IOException {
        try {
            return DatabasesView.open(loops, settings, all.made());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IOException("the node is stopping", interrupted);
        }
    }

    @Override
    public NodeChanges changes(ReplicaNode node) {
        CapturedWriteSets captured = new CapturedWriteSets(
                Math.min(CHANGES_KEPT_BYTES_MAX, Runtime.getRuntime().maxMemory() / CHANGES_PART_OF_MEMORY),
                node::visiblePosition);
        node.traces().tell(captured::committed);
        return new NodeChanges(captured, new DecodedWriteSets(loops, settings), this::toldOf);
    }

    private NodeChanges.@Nullable Told toldOf(String database) {
        if (database.isEmpty() || database.equals(settings.database())) {
            return new NodeChanges.Told(DatabaseTag.CONFIGURED, engine);
        }
        ServerEngine.Member member = all.member(database);
        return member == null ? null : new NodeChanges.Told(member.id(), member.engine());
    }

    @Override
    public NodeStatus.Secondaries secondaries(int count) throws IOException {
        throw new IOException(NodeDatabase.noSecondaries(config));
    }

    @Override
    public FrontEnd frontEnd(ReplicaNode node) throws IOException {
        FrontEndSettings front = FrontEndSettings
                .of(new InetSocketAddress(config.listen().host(), config.listen().port()), settings)
                .withLimits(new Places(config.limits().sessions(), config.limits().reservedSessions(),
                        config.limits().sessionsPerAddress()), Duration.ofSeconds(60), 256 << 20)
                .withChanges(Runtime.getRuntime().maxMemory() / CHANGES_PART_OF_MEMORY)
                .withRepetitions(config.limits().repetitions())
                .withUsual("default_transaction_isolation", config.postgres().isolation())
                .withUsual("tutti.acknowledge", config.listen().acknowledge());
        SslContext tls = NodeDatabase.tls(config);
        if (tls != null) {
            front = front.withTls(tls, NodeConfig.Tls.isRequired(config.listen().tls()));
        }
        PostgresFrontEnd served = new PostgresFrontEnd(front, node, capture(engine), sessions(engine, node), loops);
        served.others(new Others(node));
        engine.builds().reports().sendBy(config.node(),
                report -> node.barrier(report, IndexReports.KEYS, HEARD_AT_ITS_POSITION));
        return served;
    }

    /** The databases besides the configured one. */
    private final class Others implements PostgresFrontEnd.OtherDatabases {
        private final ReplicaNode node;

        Others(ReplicaNode node) {
            this.node = node;
        }

        @Override
        public PostgresFrontEnd.@Nullable OtherDatabase of(String name) {
            ServerEngine.Member member = all.member(name);
            return member == null ? null : new Other(PostgresDatabase.this, member, node);
        }

        @Override
        public @Nullable String refusal(boolean creates, boolean ofSystem) {
            if (!life.allCan(Group.DATABASES)) {
                return "databases are not made, changed or dropped before every node of the cluster is up, and of a"
                        + " release that keeps several";
            }
            return creates ? locales.refusal(ofSystem, life::allCan) : null;
        }
    }

    /** Another database than the configured one. */
    private record Other(PostgresDatabase server, ServerEngine.Member member, ReplicaNode node)
            implements
                PostgresFrontEnd.OtherDatabase {
        @Override
        public long id() {
            return member.id();
        }

        @Override
        public Capture capture() {
            return server.capture(member.engine());
        }

        @Override
        public PostgresFrontEnd.SessionRegistry registry() {
            return server.sessions(member.engine(), node);
        }
    }

    private Capture capture(PostgresEngine of) {
        EngineCapture capture = new EngineCapture(of::catalog, of::references, of::inBandTables, () -> refresh(of),
                of.promises()::of, of::leavesOut, of.functions(), secret.getBytes(StandardCharsets.UTF_8));
        capture.tellLargeObjects(() -> life.allCan(Group.LARGE_OBJECTS));
        capture.java(new JavaRequests(procedures, life::lacking));
        capture.placed(() -> of.schema().placed());
        capture.recorded(of::appliedPosition);
        IndexBuilder builder = of.builds();
        capture.changing(() -> new Capture.SchemaChange(builder.stop(), builder::resume));
        return capture;
    }

    /** How the nodes build indexes beside the order. */
    private record Building(IndexBuilder builder, int node, ReplicaNode of) implements PostgresFrontEnd.IndexBuilding {
        @Override
        public Set<Integer> members() {
            return of.view().members();
        }
    }

    private Sessions sessions(PostgresEngine of, ReplicaNode node) {
        Building building = new Building(of.builds(), config.node(), node);
        return new Sessions(of, () -> life.allCan(BUILDS_INDEXES) ? building : null);
    }

    /** The engine as the front end's sessions need it. */
    private record Sessions(PostgresEngine engine, Supplier<PostgresFrontEnd.@Nullable IndexBuilding> building)
            implements
                PostgresFrontEnd.SessionRegistry {
        @Override
        public PostgresFrontEnd.@Nullable IndexBuilding indexBuilding() {
            return building.get();
        }

        @Override
        public Runnable register(int processId, Supplier<@Nullable LocalTransaction> current) {
            return engine.registerSession(processId, current)::close;
        }

        @Override
        public CompletableFuture<List<SequenceName>> wantedSequences(@Nullable String error) {
            return engine.wantedSequences(error);
        }

        @Override
        public Runnable watch(EventLoop loop, int processId, LocalTransaction waiter, BooleanSupplier waits) {
            ScheduledFuture<?> watching = engine.watch(loop, waiter, processId, waits);
            return () -> watching.cancel(false);
        }

        /** As where rows are applied, code in a COMMIT must end in time: a held cursor's query, a foreign table of this very node. */
        @Override
        public Runnable commits(EventLoop loop, int processId) {
            ScheduledFuture<?> end = loop.schedule(() -> engine.end(processId), engine.rowsTime().toMillis(),
                    TimeUnit.MILLISECONDS);
            return () -> end.cancel(false);
        }

        @Override
        public ErrorFields named(ErrorFields error) {
            return engine.builds().named(error);
        }

        @Override
        public CompletableFuture<Void> confirm() {
            return engine.confirm();
        }
    }

    private CompletableFuture<Void> refresh(PostgresEngine of) {
        return of.refreshCatalog().whenComplete((_, failure) -> {
            // one that is dropped meanwhile has none
            if (failure != null && all.has(of)) {
                life.broken(new IOException("the catalog of the database cannot be read after a schema change: "
                        + failure.getMessage(), failure));
            }
        });
    }

    /** Starts the embedded server, or takes the given one, and sees to it that the node's own role can connect. */
    private BackendSettings server() throws IOException, InterruptedException {
        NodeConfig.Postgres postgres = config.postgres();
        NodeConfig.Embedded embedded = postgres.embedded();
        if (embedded == null) {
            var url = java.util.Objects.requireNonNull(postgres.url(), "a configuration has one of the two");
            Credentials credentials = postgres.password() == null
                    ? new Credentials.None()
                    : new Credentials.Password(postgres.password());
            BackendSettings given = BackendSettings.of(
                    new InetSocketAddress(url.address().host(), url.address().port()), postgres.user(),
                    postgres.database(), credentials);
            return NodeRole.connect(loops, given.withTls(tls(url.encryption(), postgres.authorities())), rolePassword(),
                    (_, why) -> {
                        throw why;
                    });
        }
        String password = postgres.password() == null ? secret() : postgres.password();
        ServerConfiguration server = configuration(postgres, embedded, password);
        AtomicReference<EmbeddedPostgres> running = new AtomicReference<>(start(server));
        life.started(() -> running.get().close());
        BackendSettings own = NodeRole.connect(loops, BackendSettings.of(address(running.get()), postgres.user(),
                postgres.database(), new Credentials.Password(password)), rolePassword(), (statements, why) -> {
                    LOG.warn("the node's role is made anew with its server alone", why);
                    running.get().close();
                    EmbeddedPostgres.executeAlone(server, statements);
                    running.set(start(server));
                });
        running.get().onExit().thenRun(() -> life.broken(new IOException(
                "the PostgreSQL server of this node has ended; see " + server.logFile())));
        return own;
    }

    private EmbeddedPostgres start(ServerConfiguration server) throws IOException, InterruptedException {
        try {
            return EmbeddedPostgres.start(server, life.stopAsked(),
                    said -> life.waitsFor("the node's PostgreSQL server recovers: " + said));
        } finally {
            life.waitsFor(null);
        }
    }

    /**
     * How connections to a given server are encrypted; null if they are not.
     *
     * @param authorities whose word is taken, PEM; null for those that Java trusts
     * @throws IOException if they cannot be read
     */
    static @Nullable SslContext tls(PostgresUrl.Encryption encryption, @Nullable Path authorities) throws IOException {
        SslContextBuilder client = SslContextBuilder.forClient();
        try {
            return switch (encryption) {
                case DISABLE -> null;
                case REQUIRE -> client.trustManager(InsecureTrustManagerFactory.INSTANCE)
                        .endpointIdentificationAlgorithm("").build();
                case VERIFY_FULL -> (authorities == null ? client : client.trustManager(authorities.toFile()))
                        .endpointIdentificationAlgorithm("HTTPS").build();
            };
        } catch (IllegalArgumentException unusable) {
            throw new IOException("postgres.authorities cannot be used: " + unusable.getMessage()
                    + "; it must name a file with certificates, PEM", unusable);
        }
    }

    private ServerConfiguration configuration(NodeConfig.Postgres postgres, NodeConfig.Embedded embedded,
            String password) throws IOException, InterruptedException {
        int port = embedded.port() == 0 ? freePort() : embedded.port();
        ServerConfiguration server = ServerConfiguration.of(ServerBinaries.unpacked(),
                config.data().resolve("postgres"), port, postgres.user(), password)
                .with("max_connections",
                        Integer.toString(config.limits().sessions() * (prepares() ? config.members().size() : 1)
                                + APPLIERS_MAX * ServerEngine.OPENED_MAX + 20 + ServerEngine.DATABASES_MAX))
                .with("shared_buffers", (embedded.sharedBuffersBytes() >> 10) + "kB");
        for (Map.Entry<String, String> parameter : new TreeMap<>(embedded.parameters()).entrySet()) {
            server = server.with(parameter.getKey(), parameter.getValue());
        }
        return server;
    }

    /** Whether each transaction of another node may need a connection of its own to hold its locks. */
    private boolean prepares() {
        return config.chosenProtocol().has(Trait.PREPARES);
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

    /** The password of the node's own role: follows from its secret, which nobody else knows. */
    private String rolePassword() throws IOException {
        return CaptureInstaller.password("node " + secret());
    }

    /** A secret of this node, made at its first start: arms commits, and is the embedded server's password by default. */
    private String secret() throws IOException {
        return SecretFile.of(config.data().resolve("secret"));
    }
}
