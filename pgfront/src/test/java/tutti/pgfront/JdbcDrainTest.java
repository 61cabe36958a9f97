package tutti.pgfront;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A node with a database in its process that is told to stop lets its clients finish, and tells them why they have to go. */
@Timeout(60)
class JdbcDrainTest {
    @TempDir
    private Path directory;

    private static CompletableFuture<Boolean> drain(JdbcNodes nodes, Duration grace) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return nodes.drain(0, grace);
            } catch (InterruptedException stopped) {
                throw new IllegalStateException(stopped);
            }
        });
    }

    private static String told(Statement statement) {
        return assertThrows(SQLException.class, () -> statement.execute("SELECT 1")).getSQLState();
    }

    @Test
    void clientsGoWhenTheirTransactionIsOverOrTheirTime() throws Exception {
        try (JdbcNodes nodes = new JdbcNodes(EngineKind.H2, directory, 1, "si", null);
                Connection idle = DriverManager.getConnection(nodes.url(0), "tutti", "tutti");
                Connection working = DriverManager.getConnection(nodes.url(0), "tutti", "tutti");
                Connection late = DriverManager.getConnection(nodes.url(0), "tutti", "tutti");
                Statement none = idle.createStatement();
                Statement statement = working.createStatement();
                Statement slow = late.createStatement()) {
            working.setAutoCommit(false);
            late.setAutoCommit(false);
            statement.execute("SELECT 1");
            slow.execute("SELECT 1");
            CompletableFuture<Boolean> drained = drain(nodes, Duration.ofSeconds(30));
            while (nodes.sessions(0) > 2) {
                statement.execute("SELECT 1");
            }
            assertEquals("57P01", told(none));
            assertFalse(drained.isDone());
            working.commit();
            assertEquals("57P01", told(statement));
            late.commit();
            assertTrue(drained.get(20, TimeUnit.SECONDS));
        }
    }

    @Test
    void whoTakesTooLongIsSentAway() throws Exception {
        try (JdbcNodes nodes = new JdbcNodes(EngineKind.H2, directory, 1, "si", null);
                Connection working = DriverManager.getConnection(nodes.url(0), "tutti", "tutti");
                Statement statement = working.createStatement()) {
            working.setAutoCommit(false);
            statement.execute("SELECT 1");
            assertFalse(drain(nodes, Duration.ofMillis(1)).get(20, TimeUnit.SECONDS));
            assertEquals("57P01", told(statement));
        }
    }
}
