package tutti.pgfront;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.postgresql.PGConnection;

/** What sessions are told of their transactions, and what nodes answer when they are asked for them. */
@Timeout(60)
class JdbcClusterQuestionsTest {
    @TempDir
    private Path directory;

    private static Connection reporting(JdbcNodes nodes, int node) throws SQLException {
        return DriverManager.getConnection(nodes.url(node) + "?options=-c%20tutti.report=on", "tutti", "tutti");
    }

    private static String told(Connection connection, String name) throws SQLException {
        return connection.unwrap(PGConnection.class).getParameterStatus("tutti." + name);
    }

    private static void run(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static String value(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(sql)) {
            assertTrue(row.next());
            return row.getString(1);
        }
    }

    private static String outcome(Connection connection, String name) throws SQLException {
        return value(connection, "SELECT tutti_outcome('" + name + "')");
    }

    private static String failure(org.junit.jupiter.api.function.Executable action) {
        return assertThrows(SQLException.class, action).getSQLState();
    }

    @ParameterizedTest
    @EnumSource
    void whatBecameOfATransactionIsKnownAtAllNodes(EngineKind kind) throws Exception {
        try (JdbcNodes nodes = new JdbcNodes(kind, directory, 2);
                Connection connection = reporting(nodes, 0);
                Connection plain = nodes.connect(0);
                Connection other = nodes.connect(1)) {
            assertNull(told(plain, "transaction"));
            String schemaChange = told(connection, "transaction");
            run(connection, "CREATE TABLE item (id int PRIMARY KEY)");
            assertEquals("committed", outcome(other, schemaChange));

            assertEquals("22023", failure(() -> outcome(other, "nonsense")));

            String byItself = told(connection, "transaction");
            assertNotEquals(schemaChange, byItself);
            run(connection, "INSERT INTO item VALUES (1)");
            assertEquals("committed", outcome(other, byItself));
            assertEquals("committed", outcome(connection, byItself));

            String failing = told(connection, "transaction");
            assertEquals("23505", failure(() -> run(connection, "INSERT INTO item VALUES (1)")));
            assertEquals("aborted", outcome(other, failing));

            connection.setAutoCommit(false);
            String rolledBack = told(connection, "transaction");
            run(connection, "INSERT INTO item VALUES (2)");
            connection.rollback();
            assertEquals("aborted", outcome(other, rolledBack));

            String block = told(connection, "transaction");
            run(connection, "INSERT INTO item VALUES (3)");
            run(connection, "INSERT INTO item VALUES (4)");
            assertEquals(block, told(connection, "transaction"));
            connection.commit();
            assertEquals("committed", outcome(other, block));

            // Asking ends an open one, and keeps one that has not begun from beginning.
            String open = told(connection, "transaction");
            run(connection, "INSERT INTO item VALUES (5)");
            assertEquals("aborted", outcome(other, open));
            assertEquals("40001", failure(connection::commit));
            connection.rollback();
            String future = told(connection, "transaction");
            assertEquals("aborted", outcome(other, future));
            assertEquals("40001", failure(() -> {
                run(connection, "INSERT INTO item VALUES (6)");
                connection.commit();
            }));
            connection.rollback();
            run(connection, "INSERT INTO item VALUES (7)");
            connection.commit();
            value(other, "SELECT tutti_wait()");
            assertEquals("1,3,4,7", value(other, kind == EngineKind.H2
                    ? "SELECT listagg(id, ',') WITHIN GROUP (ORDER BY id) FROM item"
                    : "SELECT group_concat(id ORDER BY id SEPARATOR ',') FROM item"));
        }
    }

    @ParameterizedTest
    @EnumSource
    void positionsAreToldAndWaitedFor(EngineKind kind) throws Exception {
        try (JdbcNodes nodes = new JdbcNodes(kind, directory, 2);
                Connection connection = reporting(nodes, 0);
                Connection other = nodes.connect(1)) {
            run(connection, "CREATE TABLE item (id int PRIMARY KEY)");
            for (int i = 0; i < 30; i++) {
                long before = Long.parseLong(told(connection, "position"));
                run(connection, "INSERT INTO item VALUES (" + i + ")");
                long position = Long.parseLong(told(connection, "position"));
                assertTrue(position > before, position + " after " + before);
                assertTrue(Long.parseLong(value(connection, "SELECT tutti_position()")) >= position);
                // pgjdbc goes over to named statements and binary forms after some executions.
                try (PreparedStatement wait = other.prepareStatement("SELECT tutti_wait(" + position + ")")) {
                    for (int again = 0; again < 7; again++) {
                        try (ResultSet row = wait.executeQuery()) {
                            assertTrue(row.next());
                            assertTrue(row.getLong("tutti_wait") >= position);
                        }
                    }
                }
                assertEquals(String.valueOf(i + 1), value(other, "SELECT count(*) FROM item"));
                try (PreparedStatement wait = other.prepareStatement("SELECT tutti_wait(?)");
                        PreparedStatement outcome = other.prepareStatement("SELECT tutti_outcome(?)")) {
                    wait.setLong(1, position);
                    try (ResultSet row = wait.executeQuery()) {
                        assertTrue(row.next());
                        assertTrue(row.getLong(1) >= position);
                    }
                    wait.setLong(1, -1);
                    assertEquals("22023", failure(wait::executeQuery));
                    outcome.setString(1, null);
                    try (ResultSet row = outcome.executeQuery()) {
                        assertTrue(row.next());
                        assertNull(row.getString(1));
                    }
                }
            }
            other.setAutoCommit(false);
            run(connection, "INSERT INTO item VALUES (30)");
            value(other, "SELECT tutti_wait()");
            assertEquals("31", value(other, "SELECT count(*) FROM item"), "what a block has waited for first");
            assertEquals("25001", failure(() -> value(other, "SELECT tutti_wait()")));
            other.rollback();
            value(other, "SELECT count(*) FROM item");
            assertEquals("25001", failure(() -> value(other, "SELECT tutti_position()")));
            other.rollback();
        }
    }
}
