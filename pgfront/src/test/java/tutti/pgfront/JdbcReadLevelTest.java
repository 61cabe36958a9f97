package tutti.pgfront;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** When transactions at nodes with H2 or HSQLDB wait for what has been ordered before. */
@Timeout(60)
class JdbcReadLevelTest {
    @TempDir
    private Path directory;

    private static void run(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static int count(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT count(*) FROM item")) {
            assertTrue(row.next());
            return row.getInt(1);
        }
    }

    private static void refused(String state, Connection connection, String sql) {
        assertEquals(state, assertThrows(SQLException.class, () -> run(connection, sql)).getSQLState());
    }

    @ParameterizedTest
    @EnumSource
    void aLinearizableTransactionSeesWhatAnybodyWasToldOf(EngineKind kind) throws Exception {
        try (JdbcNodes nodes = new JdbcNodes(kind, directory, 2);
                Connection writer = nodes.connect(0);
                Connection reader = nodes.connect(1)) {
            run(writer, "CREATE TABLE item (id int PRIMARY KEY)");
            run(reader, "SET tutti.read_level = 'linearizable'");
            for (int i = 1; i <= 30; i++) {
                run(writer, "INSERT INTO item VALUES (" + i + ")");
                assertEquals(i, count(reader));
            }
            assertEquals(30, nodes.awaited.get(), "each once");
            reader.setAutoCommit(false);
            count(reader);
            count(reader);
            assertEquals(31, nodes.awaited.get(), "a block once");
            refused("25001", reader, "SET LOCAL tutti.read_level = 'local'");
            reader.rollback();
            refused("25001", reader, "SET tutti.read_level = 'local'");
            reader.rollback();
            run(reader, "SET LOCAL tutti.read_level = 'local'");
            count(reader);
            assertEquals(31, nodes.awaited.get());
            reader.commit();
            count(reader);
            assertEquals(32, nodes.awaited.get(), "only for the transaction");
            reader.commit();
            reader.setAutoCommit(true);
            run(reader, "RESET tutti.read_level");
            count(reader);
            assertEquals(32, nodes.awaited.get());
            refused("22023", reader, "SET tutti.read_level = 'new'");
        }
    }

    @ParameterizedTest
    @EnumSource
    void aCausalSessionWaitsOnce(EngineKind kind) throws Exception {
        try (JdbcNodes nodes = new JdbcNodes(kind, directory, 2); Connection writer = nodes.connect(0)) {
            run(writer, "CREATE TABLE item (id int PRIMARY KEY)");
            for (int i = 1; i <= 10; i++) {
                run(writer, "INSERT INTO item VALUES (" + i + ")");
                try (Connection reader = DriverManager.getConnection(
                        nodes.url(1) + "?options=-c%20tutti.read_level=causal", "tutti", "tutti")) {
                    assertEquals(i, count(reader));
                    count(reader);
                    assertEquals(i, nodes.awaited.get());
                }
            }
        }
    }
}
