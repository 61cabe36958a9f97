package tutti.cluster;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import tutti.engine.postgres.server.EmbeddedPostgres;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.engine.postgres.server.ServerConfiguration;
import tutti.server.config.ConfigReader;
import tutti.server.config.NodeConfig;
import tutti.server.http.AdminServer;
import tutti.server.http.NodeStatus;

/**
 * A process that looks like the only node of a cluster and is a bare PostgreSQL: enough to try everything of a
 * demonstration but replication.
 */
public final class LoneNode {
    private LoneNode() {}

    public static void main(String[] arguments) throws Exception {
        NodeConfig config = ConfigReader.read(Path.of(arguments[2]));
        int port = Objects.requireNonNull(config.postgres().embedded()).port();
        String password = config.postgres().password();
        ServerBinaries binaries = ServerBinaries.unpacked();
        try (EmbeddedPostgres _ = EmbeddedPostgres.start(ServerConfiguration.of(binaries,
                config.data().resolve("postgres"), port, config.postgres().user(), password));
                ServerSocket front = new ServerSocket(config.listen().port(), 50, InetAddress.getLoopbackAddress());
                AdminServer _ = AdminServer.start(
                        new InetSocketAddress(config.http().host(), config.http().port()), () -> status(config),
                        _ -> {})) {
            try (Connection connection = DriverManager.getConnection(
                    "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=postgres&password=" + password)) {
                if (!connection.createStatement().executeQuery("select from pg_database where datname = '"
                        + config.postgres().database() + "'").next()) {
                    connection.createStatement().execute("create database " + config.postgres().database());
                }
            }
            Thread.ofVirtual().start(() -> forward(front, port));
            System.in.transferTo(OutputStream.nullOutputStream());
        }
        System.exit(0);
    }

    private static void forward(ServerSocket front, int port) {
        try {
            while (true) {
                Socket client = front.accept();
                Socket server = new Socket(InetAddress.getLoopbackAddress(), port);
                Thread.ofVirtual().start(() -> copy(client, server));
                Thread.ofVirtual().start(() -> copy(server, client));
            }
        } catch (IOException e) {
            System.err.println("no more clients: " + e);
        }
    }

    private static void copy(Socket from, Socket to) {
        try (from; to; InputStream in = from.getInputStream()) {
            in.transferTo(to.getOutputStream());
        } catch (IOException e) {
            System.err.println("connection over: " + e);
        }
    }

    private static NodeStatus status(NodeConfig config) {
        return new NodeStatus(config.node(), config.self().name(), config.cluster(), NodeStatus.State.READY, null,
                config.protocol(), "0", "PostgreSQL", config.listen().host() + ":" + config.listen().port(),
                new NodeStatus.Positions(7, 7, 7, 7), 0, true, List.of(), 0, 0, 0, Map.of(),
                new NodeStatus.OrderStatus(0, 0, 1, List.of(), 0, null), 0, 0, null, List.of());
    }
}
