package tutti.check;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import tutti.engine.postgres.server.EmbeddedPostgres;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.engine.postgres.server.ServerConfiguration;
import tutti.workload.tpcc.TpccDatabase;

/** A plain PostgreSQL for tests: no capture, no replication. */
final class PlainServer implements AutoCloseable {
    private final EmbeddedPostgres server;

    private PlainServer(EmbeddedPostgres server) {
        this.server = server;
    }

    static PlainServer start(Path directory) throws IOException, InterruptedException {
        int port;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = socket.getLocalPort();
        }
        return new PlainServer(EmbeddedPostgres.start(ServerConfiguration
                .of(ServerBinaries.unpacked(), directory.resolve("data"), port, "postgres", "secret")));
    }

    int port() {
        return server.port();
    }

    /** Through this port: the server's own, or one that leads there. */
    static String url(int port, String database) {
        return "jdbc:postgresql://127.0.0.1:" + port + "/" + database + "?user=postgres&password=secret";
    }

    /** One of the server's databases. */
    TpccDatabase database(String name) {
        return TpccDatabase.of(name, url(port(), name));
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
