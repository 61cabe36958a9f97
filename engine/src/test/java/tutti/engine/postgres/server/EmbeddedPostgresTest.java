package tutti.engine.postgres.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.engine.postgres.server.ServerException.Kind;

class EmbeddedPostgresTest {
    /** Making a data directory takes most of a test's time, so only one test does. */
    @TempDir
    private static Path shared;
    private static @Nullable Path template;
    @TempDir
    private Path directory;

    private ServerConfiguration configuration(int port) throws IOException, InterruptedException {
        ServerConfiguration configuration = ServerConfiguration
                .of(ServerBinaries.unpacked(), directory.resolve("data"), port, "postgres", "s'ecret")
                .with("shared_buffers", "16MB");
        if (template == null) {
            EmbeddedPostgres.initialise(new ServerConfiguration(configuration.binaries(),
                    shared.resolve("data"), shared.resolve("log"), port, "postgres", "s'ecret", java.util.Map.of(),
                    configuration.timeout()));
            template = shared.resolve("data");
        }
        assertEquals(0, new ProcessBuilder("cp", "-a", template.toString(), configuration.dataDirectory().toString())
                .start().waitFor());
        return configuration;
    }

    private static Connection connect(EmbeddedPostgres server, String password) throws SQLException {
        return DriverManager.getConnection("jdbc:postgresql://" + server.host() + ":" + server.port() + "/postgres",
                "postgres", password);
    }

    private static String query(EmbeddedPostgres server, String sql) throws SQLException {
        try (Connection connection = connect(server, "s'ecret");
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            assertTrue(rows.next());
            return rows.getString(1);
        }
    }

    private static void execute(EmbeddedPostgres server, String sql) throws SQLException {
        try (Connection connection = connect(server, "s'ecret"); Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Test
    void servesAndKeepsItsDataOverStopsAndCrashes() throws Exception {
        ServerConfiguration configuration = ServerConfiguration
                .of(ServerBinaries.unpacked(), directory.resolve("data"), Ports.free(), "postgres", "s'ecret")
                .with("synchronous_commit", "on");
        try (EmbeddedPostgres server = EmbeddedPostgres.start(configuration)) {
            execute(server, "create table t (i int); insert into t values (1)");
            assertEquals("on", query(server, "show data_checksums"));
            assertEquals("on", query(server, "show synchronous_commit"));
            assertEquals("UTF8", query(server, "show server_encoding"));
            assertEquals("28P01", assertThrows(SQLException.class, () -> connect(server, "wrong")).getSQLState());
        }
        EmbeddedPostgres server = EmbeddedPostgres.start(configuration);
        execute(server, "insert into t values (2)");
        server.kill();
        assertFalse(server.isAlive());
        try (EmbeddedPostgres again = EmbeddedPostgres.start(configuration)) {
            assertEquals("2", query(again, "select count(*) from t"));
        }
    }

    @Test
    void aServerThatLostItsParentIsEndedBeforeItsDataIsUsedAgain() throws Exception {
        ServerConfiguration configuration = configuration(Ports.free());
        EmbeddedPostgres.start(configuration).stop();
        Process orphan = configuration.binaries()
                .command("postgres", java.util.List.of("-D", configuration.dataDirectory().toString()))
                .directory(configuration.dataDirectory().toFile()).redirectErrorStream(true).start();
        assertTrue(orphan.inputReader().lines().anyMatch(line -> line.contains("ready to accept connections")));
        try (EmbeddedPostgres server = EmbeddedPostgres.start(configuration)) {
            assertTrue(orphan.waitFor(10, TimeUnit.SECONDS));
            assertEquals("1", query(server, "select 1"));
        }
    }

    @Test
    void saysThatThePortIsTaken() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            ServerConfiguration configuration = configuration(taken.getLocalPort());
            ServerException refused = assertThrows(ServerException.class, () -> EmbeddedPostgres.start(configuration));
            assertEquals(Kind.PORT_TAKEN, refused.kind(), refused.getMessage());
        }
    }

    @Test
    void saysThatTheDataDirectoryIsInUseOrNotOne() throws Exception {
        ServerConfiguration configuration = configuration(Ports.free());
        try (EmbeddedPostgres server = EmbeddedPostgres.start(configuration)) {
            assertTrue(server.isAlive());
            ServerConfiguration second = configuration.onPort(Ports.free());
            assertEquals(Kind.DATA_IN_USE,
                    assertThrows(ServerException.class, () -> EmbeddedPostgres.start(second)).kind());
        }
        Path other = Files.createDirectory(directory.resolve("other"));
        Files.writeString(other.resolve("precious.txt"), "mine");
        ServerConfiguration foreign = ServerConfiguration.of(configuration.binaries(), other, Ports.free(), "a", "b");
        assertEquals(Kind.DATA_DAMAGED,
                assertThrows(ServerException.class, () -> EmbeddedPostgres.start(foreign)).kind());
        assertTrue(Files.exists(other.resolve("precious.txt")));
    }

    @Test
    void saysThatTheDataIsDamaged() throws Exception {
        ServerConfiguration configuration = configuration(Ports.free());
        EmbeddedPostgres.start(configuration).stop();
        Path control = configuration.dataDirectory().resolve("global/pg_control");
        byte[] bytes = Files.readAllBytes(control);
        bytes[100] ^= 0x55;
        Files.write(control, bytes);
        ServerException refused = assertThrows(ServerException.class, () -> EmbeddedPostgres.start(configuration));
        assertEquals(Kind.DATA_DAMAGED, refused.kind(), refused.getMessage());
    }

    /** One that recovers, from an archive that gives nothing until the gate is open, and that may take three seconds to begin. */
    private ServerConfiguration recovering(Path gate) throws IOException, InterruptedException {
        assertEquals(0, new ProcessBuilder("mkfifo", gate.toString()).start().waitFor());
        ServerConfiguration configuration = configuration(Ports.free()).with("max_wal_senders", "10")
                .with("restore_command", "cat '" + gate + "' >/dev/null; false");
        Files.createFile(configuration.dataDirectory().resolve("recovery.signal"));
        return new ServerConfiguration(configuration.binaries(), configuration.dataDirectory(), configuration.logFile(),
                configuration.port(), configuration.superuser(), configuration.password(), configuration.settings(),
                Duration.ofSeconds(3));
    }

    /** Whoever waits at it goes on, and whoever comes. */
    private static void open(Path gate) {
        try {
            Path open = Files.createFile(gate.resolveSibling("open"));
            try (OutputStream _ = Files.newOutputStream(gate)) {
                Files.move(open, gate, StandardCopyOption.REPLACE_EXISTING);
            }
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    @Test
    void oneThatRecoversIsWaitedForLongerThanOneThatDoesNotBegin() throws Exception {
        Path gate = directory.resolve("gate");
        List<String> told = new ArrayList<>();
        try (EmbeddedPostgres server = EmbeddedPostgres.start(recovering(gate), new CompletableFuture<>(), said -> {
            if (told.isEmpty()) {
                open(gate);
            }
            told.add(said);
        })) {
            assertEquals("f", query(server, "select pg_is_in_recovery()"));
        }
        assertTrue(told.getFirst().contains("LOG:"), told::toString);
    }

    @Test
    void oneThatRecoversIsEndedWhenNobodyWaitsAnyMore() throws Exception {
        Path gate = directory.resolve("gate");
        ServerConfiguration configuration = recovering(gate);
        CompletableFuture<Void> givenUp = new CompletableFuture<>();
        ServerException ended = assertThrows(ServerException.class,
                () -> EmbeddedPostgres.start(configuration, givenUp, _ -> {
                    givenUp.complete(null);
                    open(gate);
                }));
        assertEquals(Kind.TIMEOUT, ended.kind(), ended.getMessage());
        try (EmbeddedPostgres server = EmbeddedPostgres.start(configuration)) {
            assertEquals("1", query(server, "select 1"));
        }
    }

    /** With statements that fail, which the server writes down. */
    @Test
    void theLogOfAServerThatRunsHasABound() throws Exception {
        ServerConfiguration configuration = configuration(Ports.free());
        Path log = configuration.logFile();
        Path before = log.resolveSibling(log.getFileName() + ".1");
        try (WatchService watch = directory.getFileSystem().newWatchService();
                EmbeddedPostgres server = EmbeddedPostgres.start(configuration)) {
            directory.register(watch, StandardWatchEventKinds.ENTRY_CREATE, StandardWatchEventKinds.ENTRY_MODIFY);
            String long17MiB = "select 1/0 -- " + "x".repeat(17 << 20);
            assertEquals("22012", assertThrows(SQLException.class, () -> execute(server, long17MiB)).getSQLState());
            while (!Files.exists(before) || Files.size(log) > 1 << 20) {
                WatchKey key = watch.poll(20, TimeUnit.SECONDS);
                assertNotNull(key, "the log stays as it is");
                key.pollEvents();
                key.reset();
            }
            assertTrue(Files.size(before) <= 16 << 20, () -> before + " is too long");
            assertEquals("22012",
                    assertThrows(SQLException.class, () -> execute(server, "select 2/0")).getSQLState());
            assertTrue(Files.readString(log).contains("STATEMENT:  select 2/0"));
        }
    }

    @Test
    void explainsAFullDisk() {
        assertEquals(Kind.DISK_FULL, ServerException
                .explain("x", "FATAL:  could not write to file \"pg_wal/xlogtemp.1\": No space left on device").kind());
    }

    /** It would be told that they are damaged, and that they may be removed. */
    @Test
    void filesThatItMayNotReadAreNotDamaged() {
        ServerException refused = ServerException
                .explain("x", "FATAL:  could not open file \"global/pg_control\": Permission denied");
        assertEquals(Kind.OTHER, refused.kind());
        assertTrue(refused.getMessage().contains("chown"), refused.getMessage());
        assertEquals(Kind.OTHER, ServerException
                .explain("x", "PANIC:  could not open file \"pg_wal/1\": Too many open files").kind());
    }

    @Test
    void refusesImpossibleSettingsInTheServersWords() throws Exception {
        ServerConfiguration configuration = configuration(Ports.free()).with("shared_bufers", "1MB");
        ServerException refused = assertThrows(ServerException.class, () -> EmbeddedPostgres.start(configuration));
        assertTrue(refused.getMessage().contains("shared_bufers"), refused.getMessage());
    }
}
