package tutti.engine.postgres.server;

import java.io.IOException;
import java.nio.file.Path;

/** A plain PostgreSQL for tests: no capture, no replication. */
public final class PlainServer implements AutoCloseable {
    private final EmbeddedPostgres server;

    private PlainServer(EmbeddedPostgres server) {
        this.server = server;
    }

    /** Starts one on any free port. */
    public static PlainServer start(Path directory) throws IOException, InterruptedException {
        return new PlainServer(EmbeddedPostgres.start(ServerConfiguration
                .of(ServerBinaries.unpacked(), directory.resolve("data"), Ports.free(), "postgres", "secret")
                .with("fsync", "off").with("autovacuum", "off")));
    }

    /** Its port. */
    public int port() {
        return server.port();
    }

    /** Through this port: the server's own, or one that leads there. */
    public static String url(int port, String database) {
        return "jdbc:postgresql://127.0.0.1:" + port + "/" + database + "?user=postgres&password=secret";
    }

    /** Of one of its databases. */
    public String url(String database) {
        return url(port(), database);
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
