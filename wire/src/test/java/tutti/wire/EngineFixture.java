package tutti.wire;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.TestServer;
import tutti.pgwire.Transport;

/** The engine of a real server, and front ends before it, with a scripted node. */
class EngineFixture implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String SECRET = "cluster secret";

    final EventLoopGroup loops = Transport.eventLoops(2, "engine-fixture");
    final ScriptedNode node = new ScriptedNode();
    final TestServer server;
    final BackendConnection admin;
    final PostgresEngine engine;
    private final List<PostgresFrontEnd> frontEnds = new ArrayList<>();

    /**
     * Without a front end.
     *
     * @param serializable whether SERIALIZABLE transactions may commit
     */
    EngineFixture(boolean serializable, String schema) throws Exception {
        server = TestServer.start("max_replication_slots=10");
        admin = connect(server.settings());
        node.admin = admin;
        admin.execute(schema, PATIENCE);
        engine = PostgresEngine.open(loops, server.settings(),
                new CaptureInstaller.Settings(0, 16, SECRET, 1 << 20, serializable));
    }

    /** That of another database of the server, as another node has it. */
    final PostgresEngine another(String database) throws Exception {
        return PostgresEngine.open(loops, server.settings().inDatabase(database),
                new CaptureInstaller.Settings(1, 16, SECRET, 1 << 20, false));
    }

    /** The engine's. */
    final EngineCapture capture() {
        return new EngineCapture(engine::catalog, engine::references, engine::inBandTables, engine::refreshCatalog,
                engine.promises()::of, engine::leavesOut, engine.functions(), SECRET.getBytes(StandardCharsets.UTF_8));
    }

    /** Starts a front end; where it listens. */
    final InetSocketAddress frontEnd() throws IOException {
        return frontEnd(capture(), usual -> usual);
    }

    /** Starts another one; where it listens. */
    final InetSocketAddress frontEnd(Capture capture, UnaryOperator<FrontEndSettings> set)
            throws IOException {
        PostgresFrontEnd frontEnd = new PostgresFrontEnd(set.apply(FrontEndSettings
                .of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), server.settings())), node, capture,
                (_, _) -> () -> {}, loops);
        frontEnds.add(frontEnd);
        return frontEnd.start();
    }

    /** A client that speaks the protocol as it is told. */
    final BackendConnection connect(BackendSettings settings) throws Exception {
        return BackendConnection.connect(loops.next(), settings).get(20, TimeUnit.SECONDS);
    }

    /** The same at a front end, in the superuser's name. */
    final BackendConnection connect(InetSocketAddress address) throws Exception {
        BackendSettings settings = server.settings();
        return connect(BackendSettings.of(address, settings.user(), settings.database(), settings.credentials()));
    }

    /** A driver's connection in the superuser's name, in this mode of queries. */
    static Connection jdbc(InetSocketAddress address, String mode) throws SQLException {
        return DriverManager.getConnection("jdbc:postgresql://127.0.0.1:" + address.getPort()
                + "/postgres?preferQueryMode=" + mode, TestServer.SUPERUSER, TestServer.PASSWORD);
    }

    @Override
    public void close() throws IOException {
        frontEnds.forEach(PostgresFrontEnd::close);
        engine.close();
        admin.close();
        node.close();
        server.close();
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly();
    }
}
