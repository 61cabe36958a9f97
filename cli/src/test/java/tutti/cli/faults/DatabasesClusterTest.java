package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Several databases in a cluster of three: made, written, compared and dropped through any node, with nodes that are killed meanwhile. */
@Tag("long")
class DatabasesClusterTest {
    @TempDir
    private Path directory;

    private static String value(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet result = statement.executeQuery(sql)) {
            result.next();
            return String.valueOf(result.getString(1));
        }
    }

    private static String value(FaultCluster cluster, int node, String database, String sql) throws SQLException {
        try (Connection connection = cluster.connectTo(node, database)) {
            value(connection, "SELECT tutti_wait()");
            return value(connection, sql);
        }
    }

    private static void assertEverywhere(FaultCluster cluster, String expected, String database, String sql)
            throws SQLException {
        for (int node = 0; node < cluster.size(); node++) {
            assertEquals(expected, value(cluster, node, database, sql), "at node " + node);
        }
    }

    private static void update(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Test
    void databasesAreMadeWrittenAndDroppedThroughAnyNode() throws Exception {
        try (FaultCluster cluster = FaultCluster.start(directory, 3)) {
            cluster.executeIn(0, "postgres", "CREATE DATABASE shop");
            cluster.executeIn(1, "shop", "CREATE TABLE item (id int PRIMARY KEY, left_over int)",
                    "INSERT INTO item VALUES (1, 10), (2, 20)");
            cluster.executeIn(1, "tutti", "CREATE TABLE item (id int PRIMARY KEY, left_over int)",
                    "INSERT INTO item VALUES (1, 7)");
            assertEverywhere(cluster, "30", "shop", "SELECT sum(left_over) FROM item");
            assertEverywhere(cluster, "7", "tutti", "SELECT sum(left_over) FROM item");
            assertEquals("42P04", assertThrows(SQLException.class,
                    () -> cluster.executeIn(2, "tutti", "CREATE DATABASE shop")).getSQLState());
            theFirstToCommitWins(cluster);

            cluster.cluster.kill(2);
            cluster.executeIn(0, "shop", "INSERT INTO item VALUES (3, 100)");
            cluster.executeIn(0, "tutti", "CREATE DATABASE \"Second one\"");
            cluster.executeIn(1, "Second%20one", "CREATE TABLE t (id serial PRIMARY KEY)",
                    "INSERT INTO t DEFAULT VALUES");
            cluster.executeIn(1, "tutti", "INSERT INTO item VALUES (2, 1)");
            cluster.cluster.startNode(2);
            cluster.awaitReady(2);
            assertEverywhere(cluster, "131", "shop", "SELECT sum(left_over) FROM item");
            assertEverywhere(cluster, "1", "Second%20one", "SELECT count(*) FROM t");

            cluster.killAll();
            cluster.startAll();
            cluster.executeIn(2, "Second%20one", "INSERT INTO t DEFAULT VALUES");
            assertEverywhere(cluster, "2", "Second%20one", "SELECT count(*) FROM t");
            assertEverywhere(cluster, "131", "shop", "SELECT sum(left_over) FROM item");
            assertEverywhere(cluster, "8", "tutti", "SELECT sum(left_over) FROM item");

            altered(cluster);
            dropped(cluster);
            cluster.assertSame();
        }
    }

    private static void theFirstToCommitWins(FaultCluster cluster) throws SQLException {
        try (Connection one = cluster.connectTo(0, "shop");
                Connection other = cluster.connectTo(1, "shop");
                Connection elsewhere = cluster.connectTo(2, "tutti")) {
            for (Connection each : new Connection[]{one, other, elsewhere}) {
                each.setAutoCommit(false);
                // what it has seen would be something else if it were run again
                value(each, "SELECT left_over FROM item WHERE id = 1");
                update(each, "UPDATE item SET left_over = left_over + 1 WHERE id = 1");
            }
            one.commit();
            assertEquals("40001", assertThrows(SQLException.class, other::commit).getSQLState());
            elsewhere.rollback();
        }
    }

    private static void altered(FaultCluster cluster) throws SQLException {
        cluster.executeIn(0, "postgres", "ALTER DATABASE \"Second one\" SET work_mem = '7MB'");
        cluster.executeIn(1, "tutti", "ALTER DATABASE \"Second one\" RENAME TO second");
        cluster.executeIn(2, "second", "INSERT INTO t DEFAULT VALUES");
        assertEverywhere(cluster, "3 7MB", "second", "SELECT count(*) || ' ' || current_setting('work_mem') FROM t");
        assertEquals("3D000", assertThrows(SQLException.class,
                () -> cluster.executeIn(0, "Second%20one", "SELECT 1")).getSQLState());
    }

    private static void dropped(FaultCluster cluster) throws SQLException {
        try (Connection connected = cluster.connectTo(0, "shop")) {
            assertEquals("55006", assertThrows(SQLException.class,
                    () -> cluster.executeIn(0, "tutti", "DROP DATABASE shop")).getSQLState());
            cluster.executeIn(0, "tutti", "DROP DATABASE shop WITH (FORCE)");
            assertThrows(SQLException.class, () -> update(connected, "SELECT 1"));
        }
        assertEquals("3D000", assertThrows(SQLException.class,
                () -> cluster.executeIn(1, "tutti", "DROP DATABASE shop")).getSQLState());
        cluster.executeIn(1, "tutti", "DROP DATABASE IF EXISTS shop", "CREATE DATABASE shop");
        assertEverywhere(cluster, "0", "shop", "SELECT count(*) FROM pg_tables WHERE tablename = 'item'");
    }
}
