package tutti.wire;

import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.LocalTransaction;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.BackendSettings.Credentials;
import tutti.pgwire.TestServer;
import tutti.pgwire.Transport;

/** A front end before a real server, with a scripted node, role {@code alice} and a captured table {@code account}. */
final class FrontEndFixture implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofSeconds(20);
    /** Bytes of what large transactions have changed that may be in memory. */
    static final long CHANGES_LIMIT = 300_000;
    /** Once for all her connections: what follows from a password takes long to compute. */
    static final Credentials ALICE = new Credentials.Password("wonderland");
    final TestServer server;
    final EventLoopGroup loops = Transport.eventLoops(2, "front-end-test");
    final ScriptedNode node = new ScriptedNode();
    final SmallCapture capture = new SmallCapture();
    final PostgresFrontEnd frontEnd;
    final InetSocketAddress address;
    final BlockingQueue<LocalTransaction> watched = new LinkedBlockingQueue<>();
    /** Server processes of sessions whose COMMIT is under way. */
    final BlockingQueue<Integer> committing = new LinkedBlockingQueue<>();
    /** By the server process of each session: that it has lost its connection to it. */
    private final Map<Integer, CompletableFuture<@Nullable Void>> lost = new ConcurrentHashMap<>();
    final PostgresFrontEnd.SessionRegistry registry = new Registry();
    final BackendConnection admin;

    FrontEndFixture() throws Exception {
        this(null);
    }

    FrontEndFixture(@Nullable FrontEndSettings custom) throws Exception {
        server = TestServer.start("max_replication_slots=10");
        admin = BackendConnection.connect(loops.next(), server.settings()).get(20, TimeUnit.SECONDS);
        node.admin = admin;
        admin.execute(SmallCapture.INSTALL, PATIENCE);
        capture.installed(admin);
        admin.execute("CREATE ROLE alice LOGIN PASSWORD 'wonderland'; GRANT ALL ON SCHEMA public TO PUBLIC;"
                + SmallCapture.table("account", "id int PRIMARY KEY, balance int NOT NULL, note text"), PATIENCE);
        admin.execute("CREATE TABLE plain (id int PRIMARY KEY); GRANT ALL ON plain TO PUBLIC", PATIENCE);
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        FrontEndSettings settings = custom == null
                ? FrontEndSettings.of(any, server.settings()).withChanges(CHANGES_LIMIT)
                : new FrontEndSettings(any, server.settings(), custom.authentication(), custom.tls(),
                        custom.tlsRequired(), custom.places(), custom.authenticationTimeout(),
                        custom.messageLimit(), custom.heldLimit(), custom.changesLimit(), custom.repetitions(),
                        custom.usual());
        frontEnd = new PostgresFrontEnd(settings, node, capture, registry, loops);
        address = frontEnd.start();
    }

    /** Notes whom the engine is to look after. */
    private final class Registry implements PostgresFrontEnd.SessionRegistry {
        @Override
        public Runnable register(int processId, Supplier<@Nullable LocalTransaction> current) {
            CompletableFuture<@Nullable Void> loss = new CompletableFuture<>();
            lost.put(processId, loss);
            return () -> loss.complete(null);
        }

        @Override
        public Runnable watch(EventLoop loop, int processId, LocalTransaction waiter, BooleanSupplier waits) {
            watched.add(waiter);
            return () -> {};
        }

        @Override
        public Runnable commits(EventLoop loop, int processId) {
            committing.add(processId);
            return () -> committing.remove(processId);
        }
    }

    /** Waits until the engine sleeps in a statement; before that, what is to interrupt it may find it between two messages. */
    void awaitSleeping() throws Exception {
        while (!"1".equals(admin.execute("select count(*) from pg_stat_activity where wait_event = 'PgSleep'", PATIENCE)
                .value())) {
            Thread.onSpinWait();
        }
    }

    /** Waits until the engine runs a statement like this. */
    void awaitRunning(String like) throws Exception {
        String query = "select count(*) from pg_stat_activity where state = 'active' and pid <> pg_backend_pid()"
                + " and query like '" + like + "'";
        while (!"1".equals(admin.execute(query, PATIENCE).value())) {
            Thread.onSpinWait();
        }
    }

    /** Ends a session's server process, and waits until it is gone and the session knows that. */
    void end(int processId) throws Exception {
        admin.execute("select pg_terminate_backend(" + processId + ", " + PATIENCE.toMillis() + ")", PATIENCE);
        ScriptedNode.await(Objects.requireNonNull(lost.get(processId)));
        // The session is told behind that.
        awaitLoops();
    }

    /** Waits until sessions have done what they have been told. */
    private void awaitLoops() throws Exception {
        for (EventExecutor loop : loops) {
            loop.submit(() -> {}).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        }
    }

    /** Removes rows and what the node noted of earlier tests. */
    void reset() throws Exception {
        node.reset();
        admin.execute("SET session_replication_role = replica; DELETE FROM account; DELETE FROM plain;"
                + " RESET session_replication_role", PATIENCE);
        awaitLoops();
        node.forget();
        watched.clear();
        capture.requests.clear();
        capture.settings.clear();
    }

    BackendSettings settings(String user, String password) {
        return BackendSettings.of(address, user, "postgres", new Credentials.Password(password));
    }

    /** A client that speaks the protocol as we tell it. */
    BackendConnection client() throws Exception {
        return client(address);
    }

    /** The same at another front end. */
    BackendConnection client(InetSocketAddress at) throws Exception {
        return BackendConnection.connect(loops.next(), BackendSettings.of(at, "alice", "postgres", ALICE)).get(20,
                TimeUnit.SECONDS);
    }

    Connection jdbc(String... properties) throws SQLException {
        Properties all = new Properties();
        all.setProperty("user", "alice");
        all.setProperty("password", "wonderland");
        all.setProperty("socketTimeout", "30");
        for (String property : properties) {
            int equals = property.indexOf('=');
            all.setProperty(property.substring(0, equals), property.substring(equals + 1));
        }
        return DriverManager.getConnection("jdbc:postgresql://127.0.0.1:" + address.getPort() + "/postgres", all);
    }

    String accounts() throws Exception {
        return String.valueOf(admin
                .execute("SELECT string_agg(id || ':' || balance, ' ' ORDER BY id) FROM account", PATIENCE).value());
    }

    @Override
    public void close() throws java.io.IOException {
        frontEnd.close();
        admin.close();
        node.close();
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly();
        server.close();
    }
}
