package tutti.eval.calibrate;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.slf4j.LoggerFactory;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.command.Trees;
import tutti.engine.postgres.server.EmbeddedPostgres;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.engine.postgres.server.ServerConfiguration;
import tutti.report.BenchFiles;
import tutti.workload.tpcc.TpccDatabase;
import tutti.workload.tpcc.TpccLoader;
import tutti.workload.tpcc.TpccPopulation;
import tutti.workload.tpcc.TpccScale;

/**
 * A real PostgreSQL with TPC-C in it: one of our own, started in a directory that is deleted at the end, or one that runs
 * already, in a schema that is dropped at the end. Commits wait for the disk. However the command ends, nothing is left behind.
 */
final class RealServer implements AutoCloseable {
    private static final String USER = "calibration";
    private static final String SCHEMA = "tutti_calibration";
    /** The first release with pg_stat_io. */
    private static final int RELEASE_MIN = 16;
    private static final String NOT_ALLOWED = "42501";

    private final TpccDatabase database;
    private final @Nullable EmbeddedPostgres server;
    private final @Nullable Path directory;
    private final TpccScale scale;
    private final AtomicBoolean closed = new AtomicBoolean();
    private String version = "";

    private RealServer(TpccDatabase database, @Nullable EmbeddedPostgres server, @Nullable Path directory,
            TpccScale scale) {
        this.database = database;
        this.server = server;
        this.directory = directory;
        this.scale = scale;
        Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().name("stop").unstarted(this::closeInAnyCase));
    }

    private void closeInAnyCase() {
        try {
            close();
        } catch (IOException e) {
            LoggerFactory.getLogger(RealServer.class).warn("Not everything was removed: {}", e.getMessage());
        }
    }

    /**
     * Starts a server and loads it, telling how far it is.
     *
     * @param parent where its directory goes: the disk that is measured
     * @param seed of the population
     */
    static RealServer start(Path parent, TpccScale scale, long seed, Screen screen)
            throws IOException, SQLException, InterruptedException {
        Files.createDirectories(parent);
        Path directory = Files.createTempDirectory(parent, "tutti-calibration-");
        EmbeddedPostgres server = null;
        boolean ready = false;
        try {
            server = EmbeddedPostgres.start(ServerConfiguration
                    .of(ServerBinaries.unpacked(), directory.resolve("server"), BenchFiles.freePort(), USER, USER)
                    .with("synchronous_commit", "on").with("track_wal_io_timing", "on"));
            RealServer started = new RealServer(
                    TpccDatabase.of("PostgreSQL", "jdbc:postgresql://" + server.host() + ":" + server.port()
                            + "/postgres?user=" + USER + "&password=" + USER),
                    server, directory, scale);
            started.load(seed, screen);
            ready = true;
            return started;
        } finally {
            if (!ready) {
                end(server, directory);
            }
        }
    }

    /** Uses a server that runs already, on this machine. */
    static RealServer at(String url, TpccScale scale, long seed, Screen screen) throws IOException, SQLException {
        if (!url.startsWith("jdbc:postgresql:")) {
            throw Failure
                    .usage("--url must be of the form jdbc:postgresql://HOST:PORT/DATABASE?user=U, was '"
                            + url + "'", "");
        }
        try (Connection connection = TpccDatabase.of("PostgreSQL", url).open();
                Statement statement = connection.createStatement()) {
            check(connection);
            statement.execute("create schema " + SCHEMA);
        } catch (SQLException e) {
            throw "42P06".equals(e.getSQLState())
                    ? new Failure("the schema " + SCHEMA + " is there already: another calibration runs, or was killed",
                            "if none runs: drop schema " + SCHEMA + " cascade", e)
                    : new Failure("cannot use " + url.replaceAll("password=[^&]*", "password=...") + ": "
                            + e.getMessage(), "it needs a user who may create a schema and read statistics", e);
        }
        RealServer found = new RealServer(TpccDatabase.of("PostgreSQL",
                url + (url.indexOf('?') < 0 ? "?" : "&") + "currentSchema=" + SCHEMA), null, null, scale);
        boolean ready = false;
        try {
            found.load(seed, screen);
            ready = true;
            return found;
        } finally {
            if (!ready) {
                found.close();
            }
        }
    }

    /** Refuses, before anything is loaded, what could not be measured in the end. */
    private static void check(Connection connection) throws SQLException, IOException {
        int release = connection.getMetaData().getDatabaseMajorVersion();
        if (release < RELEASE_MIN) {
            throw new Failure(
                    "the server is PostgreSQL " + release + ", and calibration needs statistics that there are"
                            + " from " + RELEASE_MIN + " on",
                    "leave out --url to have a server started");
        }
        new ProcessClock(connection.unwrap(PGConnection.class).getBackendPID(), "postgres").close();
    }

    private void load(long seed, Screen screen) throws SQLException {
        long begun = System.nanoTime();
        new TpccLoader(new TpccPopulation(scale, seed)).load(database,
                (rows, expected) -> screen
                        .live(List.of(ProgressBar.text("loading " + scale, (double) rows, (double) expected,
                                (System.nanoTime() - begun) / 1e9))));
        screen.live(List.of());
        try (Connection connection = database.open(); Statement statement = connection.createStatement()) {
            checkpoint(statement, screen);
            try (ResultSet row = statement.executeQuery("show server_version")) {
                row.next();
                version = row.getString(1);
            }
        }
        screen.line(String.format(Locale.ROOT, "PostgreSQL %s: loaded %s in %.1f s", version, scale,
                (System.nanoTime() - begun) / 1e9));
    }

    /** Makes one now, so that none is due for a while; not every user may. */
    private static void checkpoint(Statement statement, Screen screen) throws SQLException {
        try {
            statement.execute("checkpoint");
        } catch (SQLException e) {
            if (!NOT_ALLOWED.equals(e.getSQLState())) {
                throw e;
            }
            screen.line(
                    "no checkpoint was made before: one of the server's own may fall into what is measured (to avoid"
                            + " that: grant pg_checkpoint to the user)");
        }
    }

    /** Where clients connect. */
    TpccDatabase database() {
        return database;
    }

    /** What was loaded. */
    TpccScale scale() {
        return scale;
    }

    /** The release of the server. */
    String version() {
        return version;
    }

    /** A directory on the disk that the server writes to; null for a server that is not ours. */
    @Nullable
    Path directory() {
        return directory;
    }

    @Override
    public void close() throws IOException {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        if (directory != null) {
            end(server, directory);
            return;
        }
        try (Connection connection = database.open(); Statement statement = connection.createStatement()) {
            statement.execute("drop schema " + SCHEMA + " cascade");
        } catch (SQLException e) {
            throw new IOException("the schema " + SCHEMA + " could not be dropped: " + e.getMessage(), e);
        }
    }

    private static void end(@Nullable EmbeddedPostgres server, Path directory) throws IOException {
        try {
            if (server != null) {
                server.close();
            }
        } finally {
            Trees.delete(directory);
        }
    }
}
