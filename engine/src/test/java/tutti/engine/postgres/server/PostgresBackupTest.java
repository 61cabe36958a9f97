package tutti.engine.postgres.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.BackendSettings.Credentials;
import tutti.pgwire.Transport;

/** Replication slots beside a backup: other people's, and a log that is longer than a slot keeps. */
@Timeout(120)
class PostgresBackupTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    @TempDir
    private Path directory;

    @Test
    void slotsOfOthersAreNotInItsWayAndALogThatWasNotKeptIsNoticed() throws Exception {
        ServerConfiguration configuration = ServerConfiguration
                .of(ServerBinaries.unpacked(), directory.resolve("data"), Ports.free(), "postgres", "secret")
                .with("shared_buffers", "16MB").with("fsync", "off").with("max_wal_size", "32MB")
                .with("min_wal_size", "32MB");
        EventLoopGroup loops = Transport.eventLoops(1, "backup-test");
        try (EmbeddedPostgres server = EmbeddedPostgres.start(configuration)) {
            BackendSettings settings = BackendSettings.of(new InetSocketAddress(server.host(), server.port()),
                    "postgres",
                    "postgres", new Credentials.Password("secret"));
            BackendConnection client = BackendConnection.connect(loops.next(), settings).get(30, TimeUnit.SECONDS);
            assertEquals("16GB", client.execute("SHOW max_slot_wal_keep_size", PATIENCE).value(),
                    "a slot that nobody reads must not fill the disk");
            client.execute("SELECT pg_create_physical_replication_slot('tutti_copy', true)", PATIENCE);
            try (PostgresBackup backup = PostgresBackup.begin(loops, settings, configuration.dataDirectory())) {
                assertTrue(backup.files().contains("global/pg_control"));
                assertFalse(backup.end().wal().isEmpty());
                backup.check();
            }
            // Its own is gone when the process of its session has ended.
            while (!client.execute("SELECT count(*) FROM pg_replication_slots", PATIENCE).value().equals("1")) {
                Thread.onSpinWait();
            }
            client.execute("SELECT pg_create_physical_replication_slot('taken_' || n) FROM generate_series(1, 9) n",
                    PATIENCE);
            assertTrue(assertThrows(IOException.class,
                    () -> PostgresBackup.begin(loops, settings, configuration.dataDirectory())).getMessage()
                    .contains("pg_drop_replication_slot"));
            client.execute("SELECT pg_drop_replication_slot('taken_9')", PATIENCE);
            PostgresBackup.begin(loops, settings, configuration.dataDirectory()).close();
            client.close();
        }
        try (EmbeddedPostgres server = EmbeddedPostgres.start(configuration.with("max_slot_wal_keep_size", "16MB"))) {
            BackendSettings settings = BackendSettings.of(new InetSocketAddress(server.host(), server.port()),
                    "postgres",
                    "postgres", new Credentials.Password("secret"));
            BackendConnection client = BackendConnection.connect(loops.next(), settings).get(30, TimeUnit.SECONDS);
            try (PostgresBackup backup = PostgresBackup.begin(loops, settings, configuration.dataDirectory())) {
                client.execute("CREATE TABLE filler (id int)", PATIENCE);
                for (int segments = 0; segments < 5; segments++) {
                    client.execute("INSERT INTO filler VALUES (1)", PATIENCE);
                    client.execute("SELECT pg_switch_wal()", PATIENCE);
                }
                client.execute("CHECKPOINT", PATIENCE);
                assertTrue(assertThrows(IOException.class, () -> {
                    backup.end();
                    backup.check();
                }).getMessage().contains("max_slot_wal_keep_size"));
            }
            client.close();
        } finally {
            loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly();
        }
    }
}
