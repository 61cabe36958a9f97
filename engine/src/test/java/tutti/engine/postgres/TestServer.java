package tutti.engine.postgres;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.engine.postgres.server.EmbeddedPostgres;
import tutti.engine.postgres.server.Ports;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.engine.postgres.server.ServerConfiguration;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.QueryResult;
import tutti.pgwire.Transport;

/** One real PostgreSQL server for all tests of a JVM; each test makes databases of its own. */
public final class TestServer {
    /** The superuser. */
    public static final String USER = "postgres";
    /** Its password. */
    public static final String PASSWORD = "secret";
    /** The cluster's secret. */
    public static final String CLUSTER_SECRET = "cluster secret";
    /** Once for all connections: what follows from a password takes long to compute. */
    private static final BackendSettings.Credentials CREDENTIALS = new BackendSettings.Credentials.Password(PASSWORD);
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final AtomicInteger NUMBER = new AtomicInteger();
    private static final EventLoopGroup LOOPS = Transport.eventLoops(1, "test");
    private static final EmbeddedPostgres SERVER = start();

    private TestServer() {}

    private static EmbeddedPostgres start() {
        try {
            Path directory = Files.createTempDirectory("tutti-engine-test");
            EmbeddedPostgres server = EmbeddedPostgres.start(ServerConfiguration
                    .of(ServerBinaries.unpacked(), directory.resolve("data"), Ports.free(), USER, PASSWORD)
                    .with("fsync", "off").with("shared_buffers", "64MB")
                    // hundreds of databases that are used for a second each: it would look at all of them every minute
                    .with("autovacuum", "off")
                    // for those tests that have it tell what was changed
                    .with("wal_level", "logical").with("max_slot_wal_keep_size", "1GB")
                    .with("max_replication_slots", "20").with("max_wal_senders", "20")
                    // so that it is soon full
                    .with("max_notify_queue_pages", "64"));
            Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server, directory)));
            return server;
        } catch (IOException failed) {
            throw new java.io.UncheckedIOException(failed);
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    private static void stop(EmbeddedPostgres server, Path directory) {
        try {
            server.kill();
            ProcessBuilder remove = new ProcessBuilder("rm", "-rf", directory.toString());
            remove.start().waitFor();
        } catch (IOException | InterruptedException failed) {
            throw new IllegalStateException(failed);
        }
    }

    /** The server. */
    public static EmbeddedPostgres server() {
        return SERVER;
    }

    /** Event loops. */
    public static EventLoopGroup loops() {
        return LOOPS;
    }

    /** Makes an empty database, executes the statements in it, and returns its name. */
    public static String database(String... statements) throws Exception {
        String name = "test" + NUMBER.incrementAndGet();
        BackendConnection admin = connect(USER);
        execute(admin, "CREATE DATABASE " + name);
        admin.close();
        BackendConnection connection = connect(name);
        for (String statement : statements) {
            execute(connection, statement);
        }
        connection.close();
        return name;
    }

    /** Installs capture for that node. */
    public static void install(String database, int nodeIndex) throws Exception {
        BackendConnection connection = connect(database);
        CaptureInstaller.install(connection, settings(nodeIndex));
        connection.close();
    }

    /** What capture is installed with. */
    public static CaptureInstaller.Settings settings(int nodeIndex) {
        return new CaptureInstaller.Settings(nodeIndex, 16, CLUSTER_SECRET, 1 << 20);
    }

    /** How to reach a database. */
    public static BackendSettings reach(String database) {
        return BackendSettings.of(new InetSocketAddress(SERVER.host(), SERVER.port()), USER,
                database.equals(USER) ? "postgres" : database, CREDENTIALS);
    }

    /** A raw connection. */
    public static BackendConnection connect(String database)
            throws InterruptedException, ExecutionException, TimeoutException {
        return BackendConnection.connect(LOOPS.next(), reach(database)).get(30, TimeUnit.SECONDS);
    }

    /** Executes on it. */
    public static QueryResult execute(BackendConnection connection, String sql)
            throws IOException, InterruptedException {
        return connection.execute(sql, TIMEOUT);
    }

    /** A JDBC connection, not committing by itself. */
    public static Connection jdbc(String database) throws SQLException {
        Connection connection = DriverManager.getConnection(
                "jdbc:postgresql://" + SERVER.host() + ":" + SERVER.port() + "/" + database, USER, PASSWORD);
        connection.setAutoCommit(false);
        return connection;
    }
}
