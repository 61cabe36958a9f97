package tutti.wire;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.engine.postgres.IndexBuilder;
import tutti.engine.postgres.OwnSessions;
import tutti.engine.postgres.apply.PlacedTables;
import tutti.engine.postgres.capture.SequenceName;
import tutti.node.Transactions;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.FrameSink;
import tutti.pgwire.PostgresException;
import tutti.pgwire.StartupPacket;

/**
 * A node's PostgreSQL server: unmodified clients connect to it, each gets a connection of its own to the node's engine,
 * and its transactions commit by way of the node (docs/tour.md follows one).
 *
 * <p>
 * Thread rules: {@link #start} and {@link #close} from any thread but an event loop; they wait.
 */
public final class PostgresFrontEnd implements FrontEnd, Handshake.Host {
    private static final Logger LOG = LoggerFactory.getLogger(PostgresFrontEnd.class);
    private final FrontEndSettings settings;
    private final SessionServices services;
    private final SessionRegistry registry;
    private final RoleVerifiers roles;
    private final byte[] mockSecret = new byte[32];
    private final ConcurrentHashMap<Integer, Session> sessions = new ConcurrentHashMap<>();
    private final ClientPort port;
    private final EventLoopGroup loops;
    private final ClusterDatabases databases;

    /** The engine, as far as sessions come and go: hears which processes are theirs, and lets them in. */
    public interface SessionRegistry {
        /**
         * A session has begun. From the session's event loop.
         *
         * @param processId of the engine's server process
         * @param current tells its open transaction, or null; from any thread
         * @return run when the session has ended
         */
        Runnable register(int processId, Supplier<@Nullable LocalTransaction> current);

        /**
         * Has the engine look after a session's transaction: who makes it wait is named to the node.
         *
         * @param loop of the session
         * @param waits whether a statement of it is under way; from the loop
         * @return run when that is over
         */
        default Runnable watch(EventLoop loop, int processId, LocalTransaction waiter, BooleanSupplier waits) {
            return () -> {};
        }

        /**
         * A session's transaction is being committed, and everything behind it waits. If that takes too long, the engine is to end the server
         * process: what has been decided is applied then as at other nodes.
         *
         * @param loop of the session
         * @return run when that is over
         */
        default Runnable commits(EventLoop loop, int processId) {
            return () -> {};
        }

        /**
         * Sequences that the node asks for values of, and which have some that no node has been given.
         *
         * @param error what the engine has said of one that has none left; null to ask ahead of time
         */
        default CompletableFuture<List<SequenceName>> wantedSequences(@Nullable String error) {
            return CompletableFuture.completedFuture(List.of());
        }

        /** How indexes are built beside the order; null if that is not possible at the moment. */
        default @Nullable IndexBuilding indexBuilding() {
            return null;
        }

        /** An error of the engine's as its client is to hear it: of an index that is being built, by the name that this will have. */
        default ErrorFields named(ErrorFields error) {
            return error;
        }

        /**
         * Asked about each engine connection before its client may use it: completes if the engine is still the one that
         * the node has recovered, and fails if it has restarted in between and may have lost commits. Completed on any
         * thread.
         */
        default CompletableFuture<Void> confirm() {
            return CompletableFuture.completedFuture(null);
        }
    }

    /** What is known of the nodes that build an index beside the order. From any thread. */
    public interface IndexBuilding {
        /** This node's, of the session's database. */
        IndexBuilder builder();

        /** This node. */
        int node();

        /** Nodes that can be reached. */
        Set<Integer> members();
    }

    /**
     * Sets a front end up; {@link #start} lets clients in.
     *
     * @param loops event loops for clients and their engine connections; the caller closes them after the front end
     */
    public PostgresFrontEnd(FrontEndSettings settings, Transactions transactions, Capture capture,
            SessionRegistry registry, EventLoopGroup loops) {
        this.settings = settings;
        this.port = new ClientPort(loops);
        this.registry = registry;
        this.loops = loops;
        this.databases = new ClusterDatabases(settings.engine().database(), transactions, capture.barrierKeys(),
                this::services);
        this.services = new SessionServices(transactions, capture, new OwnMessages(capture),
                settings.heldLimit(), settings.repetitions(), new RetryQueue(),
                new LoadsAndChanges(System::nanoTime),
                KeptBytes.Shared.ofStatements(), KeptBytes.Shared.ofMessages(settings.messageLimit()),
                new MemoryRoom(settings.changesLimit()), registry,
                new SequenceSupply(transactions, capture, registry, loops.next()), databases);
        this.roles = new RoleVerifiers(OwnSessions.superuser(settings.engine(), "tutti roles"), loops.next());
        new SecureRandom().nextBytes(mockSecret);
    }

    /** Another database that the cluster has. */
    public interface OtherDatabase {
        /** As {@link tutti.engine.postgres.databases.DatabaseTag} names it; no other has had it. */
        long id();

        /** Made once for each of these. */
        Capture capture();

        /** Its engine. */
        SessionRegistry registry();
    }

    /** The databases that a cluster has besides the configured one. From any thread. */
    public interface OtherDatabases {
        /** None, and none can be made. */
        OtherDatabases NONE = new OtherDatabases() {
            @Override
            public @Nullable OtherDatabase of(String name) {
                return null;
            }

            @Override
            public String refusal(boolean creates, boolean ofSystem) {
                return "this node keeps one database";
            }
        };

        /** The one of that name, or null; equal to what was answered before as long as it is the same. */
        @Nullable
        OtherDatabase of(String name);

        /**
         * Why clients cannot make, change or drop one now; null if they can.
         *
         * @param creates whether one is to be made
         * @param ofSystem whether that needs a locale of the operating system
         */
        @Nullable
        String refusal(boolean creates, boolean ofSystem);
    }

    /** Serves other databases, too. Until it is set there are none. Before {@link #start}. */
    public void others(OtherDatabases known) {
        databases.others(known);
    }

    private SessionServices services(OtherDatabase other) {
        Transactions tagging = new DatabaseTransactions(services.transactions(), other.id());
        Capture capture = other.capture();
        return new SessionServices(tagging, capture, new OwnMessages(capture), services.heldLimit(),
                services.repetitions(), new RetryQueue(), new LoadsAndChanges(System::nanoTime), services.kept(),
                services.messages(), services.changes(),
                other.registry(), new SequenceSupply(tagging, capture, other.registry(), loops.next()), databases);
    }

    @Override
    public InetSocketAddress start() throws IOException {
        return port.open(settings.listen(), this);
    }

    @Override
    public int sessions() {
        return sessions.size();
    }

    @Override
    public Memory memory() {
        return new Memory(services.kept().kept(), services.messages().kept(), services.changes().taken(),
                services.changes().waiting());
    }

    @Override
    public AdmissionLimits admission() {
        return settings.admission();
    }

    @Override
    public String admit(Channel client, boolean superuser) {
        return port.admit(client, superuser, settings.places());
    }

    @Override
    public String database() {
        return settings.engine().database();
    }

    @Override
    public boolean isServed(String database) {
        return databases.made(database);
    }

    /** Those that every server has: tools connect to one of them to see which others there are. */
    @Override
    public boolean mayBeRead(String database) {
        return database.equals("postgres") || database.equals("template1");
    }

    @Override
    public CompletableFuture<Void> upToDate() {
        CompletableFuture<Void> told = new CompletableFuture<>();
        services.transactions().awaitAll(new Completion<>() {
            @Override
            public void succeeded(Long visible) {
                told.complete(null);
            }

            @Override
            public void failed(EngineFailure why) {
                told.completeExceptionally(new PostgresException(Errors.fatal(why.sqlState(),
                        "this node knows no database of that name, and cannot tell whether it has been made since: "
                                + why.message())));
            }
        });
        return told;
    }

    @Override
    public CompletableFuture<Handshake.@Nullable KnownRole> role(String name) {
        return roles.role(name);
    }

    @Override
    public byte[] mockSecret() {
        return mockSecret;
    }

    /** Connects to the engine as the same role, proved by what the client has proved. */
    @Override
    public CompletableFuture<Connected> open(Handshake.Arrival arrival) {
        Map<String, String> parameters = new TreeMap<>(arrival.parameters());
        // as the server reads options: without backslashes, and with dashes for underscores
        String told = parameters.toString().toLowerCase(Locale.ROOT).replace("\\", "").replace('-', '_');
        if (told.contains("session_replication_role")) {
            return CompletableFuture.failedFuture(new PostgresException(
                    Errors.fatal(Errors.NOT_SUPPORTED, Classifier.NO_REPLICATION_ROLE)));
        }
        if (Classifier.RESERVED_PREFIXES.stream().anyMatch(arrival.user()::startsWith)) {
            return CompletableFuture.failedFuture(new PostgresException(
                    Errors.fatal("28000", Classifier.RESERVED)));
        }
        if (!grantsSerializable() && asksSerializable(parameters)) {
            return CompletableFuture.failedFuture(
                    new PostgresException(Errors.fatal(Errors.NOT_SUPPORTED, Classifier.NOT_SERIALIZABLE)));
        }
        ErrorFields mode = new Modes(services.transactions()).begin(parameters);
        if (mode == null) {
            mode = ReadLevel.refusal(parameters);
        }
        if (mode != null) {
            return CompletableFuture
                    .failedFuture(new PostgresException(Errors.fatal(mode.sqlState(), mode.message())));
        }
        if (!arrival.database().equals(database()) && !isServed(arrival.database())) {
            parameters.put("default_transaction_read_only", "on");
        }
        return BackendConnection
                .connect(arrival.client().eventLoop(), settings.engine().as(arrival.user(), arrival.credentials())
                        .inDatabase(arrival.database()).withProtocol(arrival.protocol()).withParameters(parameters))
                .thenCompose(connection -> registry.confirm().handle((_, failure) -> {
                    if (failure != null) {
                        connection.abort();
                        throw new CompletionException(failure);
                    }
                    return new Connected(arrival, connection, asksSerializable(parameters));
                }));
    }

    private static boolean asksSerializable(Map<String, String> parameters) {
        return (parameters.getOrDefault("options", "") + parameters.get("default_transaction_isolation")
                + parameters.get("transaction_isolation")).toLowerCase(Locale.ROOT).replace("\\", "")
                .contains("serializable");
    }

    private boolean grantsSerializable() {
        return services.transactions().serializable() || services.transactions().takesReads();
    }

    /** A client with a connection to the engine. */
    final class Connected implements Handshake.Opened {
        private final Handshake.Arrival arrival;
        private final BackendConnection connection;
        private final boolean serializable;
        private @Nullable Session session;

        Connected(Handshake.Arrival arrival, BackendConnection connection, boolean serializable) {
            this.arrival = arrival;
            this.connection = connection;
            this.serializable = serializable;
        }

        @Override
        public Map<String, String> parameters() {
            return connection.parameters();
        }

        @Override
        public List<ErrorFields> notices() {
            return connection.startNotices();
        }

        @Override
        public int processId() {
            return connection.processId();
        }

        @Override
        public byte[] secretKey() {
            return connection.secretKey();
        }

        @Override
        public @Nullable FrameSink begin() {
            if (!connection.channel().isActive()) {
                return null;
            }
            Map<String, String> started = new TreeMap<>(arrival.parameters());
            started.put("user", arrival.user());
            SessionServices others = databases.services(arrival.database());
            boolean replicated = others != null || arrival.database().equals(database());
            Session begun = new Session(others == null ? services : others, arrival.client(), arrival.reader(),
                    connection, started, replicated);
            session = begun;
            if (serializable) {
                begun.notedReads().ask();
            }
            TextSettings texts = new TextSettings(connection.parameters());
            connection.takeOver(new BackendSide(begun, texts));
            opened(begun, arrival.database());
            return new ClientSide(begun, texts,
                    new Classifier(grantsSerializable(), replicated ? null : arrival.database(),
                            replicated ? begun.capture()::placed : () -> PlacedTables.NONE, texts::certainlyUtf8));
        }

        @Override
        public void introduced() {
            Session begun = session;
            if (begun != null) {
                begun.introduced();
            }
        }

        @Override
        public void abandon() {
            connection.close();
        }
    }

    private void opened(Session session, String database) {
        int processId = session.processId();
        databases.entered(processId, database);
        Runnable unregister = registry.register(processId, session::openTransaction);
        sessions.put(processId, session);
        session.ending().whenOver(() -> sessions.remove(processId, session));
        session.whenClosed(() -> {
            databases.left(processId);
            unregister.run();
        });
    }

    @Override
    public CompletableFuture<Void> cancel(StartupPacket.Cancel request) {
        Session session = sessions.get(request.processId());
        return session != null && MessageDigest.isEqual(session.secretKey(), request.secretKey())
                ? session.cancelByClient()
                : CompletableFuture.completedFuture(null);
    }

    @Override
    public boolean drain(Duration grace) throws InterruptedException {
        port.stopListening();
        List<CompletableFuture<Void>> ends = new ArrayList<>();
        sessions.values().forEach(session -> {
            CompletableFuture<Void> end = new CompletableFuture<>();
            session.ending().whenOver(() -> end.complete(null));
            ends.add(end);
            session.dismiss(false);
        });
        CompletableFuture<Void> all = CompletableFuture.allOf(ends.toArray(CompletableFuture<?>[]::new));
        try {
            all.get(grace.toNanos(), TimeUnit.NANOSECONDS);
            return true;
        } catch (TimeoutException | ExecutionException late) {
            LOG.info("{} clients have transactions open when their time is over, and are sent away", sessions.size());
            LOG.debug("not all have gone", late);
            sessions.values().forEach(session -> session.dismiss(true));
            return false;
        }
    }

    @Override
    public void close() {
        sessions.values().forEach(Session::cutOff);
        port.close();
        services.sequences().close();
        databases.close();
        roles.close();
    }
}
