package tutti.bench.apply;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.engine.postgres.server.EmbeddedPostgres;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.engine.postgres.server.ServerConfiguration;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.Transport;
import tutti.report.BenchFiles;
import tutti.workload.tpcc.TpccDatabase;

/** The server of a measurement: with the settings of a node's own, but for logical decoding, and a database for each contender. */
final class ApplyServer implements AutoCloseable {
    /** Of capture. */
    static final String SECRET = "measured";
    private static final String USER = "postgres";
    private static final String PASSWORD = "tutti";
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final long POLL_MILLIS = 20;

    private final EventLoopGroup loops = Transport.eventLoops(1, "apply");
    private final ServerConfiguration configuration;
    private EmbeddedPostgres server;

    ApplyServer(Path directory) throws IOException, InterruptedException {
        configuration = ServerConfiguration
                .of(ServerBinaries.unpacked(), directory.resolve("server"), BenchFiles.freePort(), USER, PASSWORD)
                .with("wal_level", "logical").with("log_min_messages", "error");
        server = EmbeddedPostgres.start(configuration);
    }

    EventLoopGroup loops() {
        return loops;
    }

    BackendSettings settings(String database) {
        return BackendSettings.of(new InetSocketAddress(server.host(), server.port()), USER, database,
                new BackendSettings.Credentials.Password(PASSWORD));
    }

    TpccDatabase database(String name) {
        return TpccDatabase.of("PostgreSQL", "jdbc:postgresql://" + server.host() + ":" + server.port() + "/" + name
                + "?user=" + USER + "&password=" + PASSWORD);
    }

    /** A connection that commits by itself. */
    Connection connect(String name) throws SQLException {
        Connection connection = database(name).open();
        connection.setAutoCommit(true);
        return connection;
    }

    void execute(String database, String... statements) throws SQLException {
        try (Connection connection = connect(database); Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    /** The first value of a query's first row as text; null if there is none. */
    @Nullable
    String ask(String database, String sql) throws SQLException {
        try (Connection connection = connect(database);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            return rows.next() ? rows.getString(1) : null;
        }
    }

    /** Asks again until the answer is something, and what is wanted of it. */
    String await(String database, String sql, java.util.function.Predicate<String> wanted)
            throws SQLException, InterruptedException {
        long until = System.nanoTime() + PATIENCE.toNanos();
        String last = ask(database, sql);
        while (last == null || !wanted.test(last)) {
            if (System.nanoTime() > until) {
                throw new IllegalStateException(
                        "within " + PATIENCE + " there was nothing but " + last + " from: " + sql);
            }
            Thread.sleep(POLL_MILLIS);
            last = ask(database, sql);
        }
        return last;
    }

    /** Installs capture. */
    void install(String database, int node) throws Exception {
        BackendConnection connection = BackendConnection.connect(loops.next(), settings(database)).get();
        CaptureInstaller.install(connection, capture(node));
        connection.close();
    }

    static CaptureInstaller.Settings capture(int node) {
        return new CaptureInstaller.Settings(node, 16, SECRET, 64 << 20);
    }

    /** Has the server's own worker apply in a database what is sent. Returns the id of its process. */
    long subscribe(String database, WalSender sender, boolean binary) throws SQLException, InterruptedException {
        execute(database, "CREATE SUBSCRIPTION measured_" + database + " CONNECTION '" + sender.connectionString()
                + "' PUBLICATION measured WITH (connect = false, slot_name = 'measured', synchronous_commit = off, binary = "
                + binary + ")",
                // The rows are there already: tables are taken for synchronised without asking the publisher about them.
                "SET allow_system_table_mods = on; INSERT INTO pg_catalog.pg_subscription_rel (srsubid, srrelid, srsubstate)"
                        + " SELECT s.oid, c.oid, 'r' FROM pg_catalog.pg_subscription s, pg_catalog.pg_class c WHERE s.subname = 'measured_"
                        + database + "' AND c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace",
                "ALTER SUBSCRIPTION measured_" + database + " ENABLE");
        return worker(database);
    }

    /** Process of the worker of a database, as soon as it is there. */
    long worker(String database) throws SQLException, InterruptedException {
        return Long
                .parseLong(await(database, "SELECT pid FROM pg_catalog.pg_stat_subscription WHERE subname = 'measured_"
                        + database + "' AND pid IS NOT NULL", pid -> true));
    }

    /** How far the worker of a database has come, as the server keeps it. */
    String progress(String database) throws SQLException {
        return String.valueOf(ask(database,
                "SELECT coalesce(o.remote_lsn, '0/0') FROM pg_catalog.pg_subscription s LEFT JOIN"
                        + " pg_catalog.pg_replication_origin_status o ON o.external_id = 'pg_' || s.oid WHERE s.subname = 'measured_"
                        + database + "'"));
    }

    /** Processor time that a process has taken, in nanoseconds. */
    static long processorNanos(long pid) throws IOException {
        try {
            String told = Files.readString(Path.of("/proc/" + pid + "/schedstat"));
            return Long.parseLong(told.substring(0, told.indexOf(' ')));
        } catch (NoSuchFileException gone) {
            throw new IOException("process " + pid + " is gone, or this system does not count processor time", gone);
        }
    }

    /** Ends the server as a crash does, and starts it again. */
    void crash() throws IOException, InterruptedException {
        server.kill();
        server = EmbeddedPostgres.start(configuration);
    }

    @Override
    public void close() throws IOException {
        server.close();
        loops.shutdownGracefully();
    }
}
