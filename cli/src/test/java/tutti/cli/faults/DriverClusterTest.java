package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.nio.file.Path;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.postgresql.PGConnection;

/** The driver {@code jdbc:tutti:} against three real nodes that are killed, stopped and started again beneath it. */
@Tag("long")
class DriverClusterTest {
    @TempDir
    private static Path directory;
    private static FaultCluster cluster;

    @BeforeAll
    static void startCluster() throws SQLException {
        cluster = FaultCluster.start(directory.resolve("cluster"), 3);
        try (Connection connection = connect(0); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE item (id bigint PRIMARY KEY, text text)");
            statement.execute("CREATE TABLE counted (id serial PRIMARY KEY, n int)");
        }
    }

    @AfterAll
    static void stopCluster() {
        if (cluster != null) {
            cluster.close();
        }
    }

    /** Nodes in this order. */
    private static String url(String properties, int... ids) {
        return DriverClients.url(cluster, properties, IntStream.of(ids));
    }

    /** A connection to a node, and to the others if that is lost. */
    private static Connection connect(int id) throws SQLException {
        return DriverClients.connect(cluster, "", id);
    }

    private static String failure(org.junit.jupiter.api.function.Executable action) {
        return assertThrows(SQLException.class, action).getSQLState();
    }

    @Test
    void ordinaryWork() throws SQLException {
        try (Connection connection = connect(0)) {
            assertEquals("Tutti JDBC Driver", connection.getMetaData().getDriverName());
            assertEquals("PostgreSQL", connection.getMetaData().getDatabaseProductName());
            assertEquals(connection, connection.getMetaData().getConnection());
            try (ResultSet tables = connection.getMetaData().getTables(null, "public", "item", null)) {
                assertTrue(tables.next());
            }
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO counted (n) VALUES (?)",
                    Statement.RETURN_GENERATED_KEYS)) {
                assertEquals(connection, insert.getConnection());
                for (int i = 0; i < 10; i++) {
                    insert.setInt(1, i);
                    insert.addBatch();
                }
                assertEquals(10, insert.executeBatch().length);
                insert.setInt(1, 10);
                assertEquals(1, insert.executeUpdate());
                try (ResultSet keys = insert.getGeneratedKeys()) {
                    assertTrue(keys.next());
                    assertEquals(insert, keys.getStatement());
                }
            }
            connection.setAutoCommit(false);
            assertEquals("11", DriverClients.value(connection, "SELECT count(*) FROM counted"));
            try (Statement statement = connection.createStatement()) {
                statement.execute("DELETE FROM counted");
                statement.addBatch("INSERT INTO item VALUES (-1, 'a')");
                statement.addBatch("INSERT INTO item VALUES (-1, 'b')");
                assertEquals("23505", assertThrows(BatchUpdateException.class, statement::executeBatch).getSQLState());
                assertEquals("25P02", failure(() -> statement.execute("SELECT 1")));
            }
            connection.rollback();
            assertEquals("11", DriverClients.value(connection, "SELECT count(*) FROM counted"));
            connection.commit();
        }
    }

    @Test
    void anOpenedConnectionGoesWhereItCan() throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", "postgres");
        properties.setProperty("password", "secret");
        String hosts = "127.0.0.1:1," + cluster.node(2).host() + ":" + cluster.node(2).postgresPort();
        try (Connection connection = DriverManager.getConnection("jdbc:tutti://" + hosts + "/tutti", properties)) {
            assertEquals(2, DriverClients.node(connection));
        }
        assertEquals("08001", failure(() -> DriverManager.getConnection("jdbc:tutti://127.0.0.1:1/tutti", properties)));
        properties.setProperty("password", "wrong");
        assertEquals("28P01",
                failure(() -> DriverManager.getConnection("jdbc:tutti://" + hosts + "/tutti", properties)));
    }

    @Test
    void connectionsAreBalanced() {
        for (String how : List.of("round-robin", "least-connections")) {
            // a node that another test has stopped comes last for a few seconds
            FaultCluster.await(how, () -> nodesOfThreeConnections(how).equals(Set.of(0, 1, 2)));
        }
    }

    private static Set<Integer> nodesOfThreeConnections(String how) {
        try (Connection one = DriverManager.getConnection(url("&loadBalance=" + how, 0, 1, 2));
                Connection two = DriverManager.getConnection(url("&loadBalance=" + how, 0, 1, 2));
                Connection three = DriverManager.getConnection(url("&loadBalance=" + how, 0, 1, 2))) {
            return new TreeSet<>(List.of(DriverClients.node(one), DriverClients.node(two), DriverClients.node(three)));
        } catch (SQLException lost) {
            throw new AssertionError(how, lost);
        }
    }

    @Test
    void readOnlyTransactionsGoElsewhereAndSeeWhatWasWritten() throws SQLException {
        try (Connection connection = DriverManager.getConnection(url("&readOnlyRouting=other", 0, 1, 2));
                PreparedStatement insert = connection.prepareStatement("INSERT INTO item VALUES (?, 'causal')");
                PreparedStatement select = connection.prepareStatement("SELECT count(*) FROM item WHERE id = ?")) {
            for (int i = 1000; i < 1050; i++) {
                connection.setReadOnly(false);
                connection.setAutoCommit(i % 2 == 0);
                assertEquals(0, DriverClients.node(connection));
                insert.setInt(1, i);
                insert.executeUpdate();
                if (i % 2 != 0) {
                    connection.commit();
                }
                connection.setReadOnly(true);
                select.setInt(1, i);
                try (ResultSet results = select.executeQuery()) {
                    assertTrue(results.next());
                    assertEquals(1, results.getInt(1));
                }
                assertFalse(DriverClients.node(connection) == 0);
                if (i % 2 != 0) {
                    connection.commit();
                }
            }
        }
    }

    /** As a pool's connections: what one wrote or saw, whichever of them is next sees. */
    @Test
    void connectionsAtDifferentNodesSeeWhatOneOfThemWrote() throws SQLException {
        try (Connection writer = connect(0); Connection first = connect(1); Connection second = connect(2)) {
            List<Connection> readers = List.of(first, second, writer);
            for (int i = 6000; i < 6050; i++) {
                Connection reader = readers.get(i % 3);
                reader.setAutoCommit(i % 2 == 0);
                try (Statement insert = readers.get((i + 1) % 3).createStatement()) {
                    insert.execute("INSERT INTO item VALUES (" + i + ", 'pooled')");
                }
                assertEquals("1", DriverClients.value(reader, "SELECT count(*) FROM item WHERE id = " + i));
                reader.setAutoCommit(true);
            }
            assertEquals(3,
                    Set.copyOf(
                            List.of(DriverClients.node(writer), DriverClients.node(first), DriverClients.node(second)))
                            .size());
        }
    }

    @Test
    void linearizableReadsSeeWhatOthersWereToldOf() throws SQLException {
        try (Connection writer = connect(0);
                Connection reader = DriverManager.getConnection(url("&readLevel=linearizable", 1, 2))) {
            reader.setAutoCommit(false);
            for (int i = 2000; i < 2030; i++) {
                try (Statement insert = writer.createStatement()) {
                    insert.execute("INSERT INTO item VALUES (" + i + ", 'linearizable')");
                }
                assertEquals("1", DriverClients.value(reader, "SELECT count(*) FROM item WHERE id = " + i));
                reader.commit();
            }
        }
    }

    @Test
    void anIdleConnectionMovesWithItsSession() throws Exception {
        try (Connection connection = connect(1);
                PreparedStatement select = connection
                        .prepareStatement("SELECT ?::int + current_setting('extra_float_digits')::int")) {
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            try (Statement statement = connection.createStatement()) {
                statement.execute("SET extra_float_digits = 2");
                statement.execute("SET search_path = pg_catalog, public");
            }
            connection.setAutoCommit(false);
            select.setInt(1, 40);
            assertEquals(1, DriverClients.node(connection));
            cluster.cluster.kill(1);
            try (ResultSet results = select.executeQuery()) {
                assertTrue(results.next());
                assertEquals(42, results.getInt(1));
            }
            assertEquals("pg_catalog, public", DriverClients.value(connection, "SHOW search_path"));
            assertEquals("read committed", DriverClients.value(connection, "SHOW transaction_isolation"));
            assertFalse(DriverClients.node(connection) == 1);
            connection.commit();
            assertTrue(connection.isValid(5));
        } finally {
            cluster.cluster.startNode(1);
            cluster.awaitReady();
        }
    }

    @Test
    void whatWasBegunHasToBeRepeated() throws Exception {
        try (Connection writer = connect(2);
                Connection reader = connect(2);
                Connection pinned = connect(2);
                Connection streaming = DriverManager.getConnection(url("&readLevel=local", 2, 0, 1));
                PreparedStatement insert = writer.prepareStatement("INSERT INTO item VALUES (?, ?)");
                PreparedStatement stream = streaming.prepareStatement("SELECT ?::bytea")) {
            writer.setAutoCommit(false);
            insert.setInt(1, 3000);
            insert.setString(2, "moved");
            insert.executeUpdate();
            reader.setReadOnly(true);
            reader.setAutoCommit(false);
            assertEquals("0", DriverClients.value(reader, "SELECT count(*) FROM item WHERE id = 3000"));
            try (Statement temporary = pinned.createStatement()) {
                temporary.execute("CREATE TEMP TABLE here (id int)");
            }
            stream.setBinaryStream(1, new ByteArrayInputStream(new byte[10]));
            cluster.cluster.kill(2);

            assertEquals("40001", failure(insert::executeUpdate));
            assertEquals("40001", failure(() -> DriverClients.value(writer, "SELECT 1")));
            writer.rollback();
            insert.executeUpdate();
            writer.commit();
            assertEquals("0", DriverClients.value(reader, "SELECT count(*) FROM item WHERE id = 3001"));
            reader.commit();
            assertEquals("1", DriverClients.value(writer, "SELECT count(*) FROM item WHERE id = 3000"));
            writer.commit();

            assertEquals("08006", failure(() -> DriverClients.value(pinned, "SELECT 1")));
            assertFalse(pinned.isValid(5));
            assertTrue(pinned.isClosed());
            assertEquals("40001", failure(stream::executeQuery));
        } finally {
            cluster.cluster.startNode(2);
            cluster.awaitReady();
        }
    }

    @Test
    void everyCommitIsResolved() throws Exception {
        DriverClients clients = new DriverClients(cluster, "item");
        clients.whileKilling(cluster.leader(), 6);
        clients.whileKilling((cluster.leader() + 1) % 3, 6);
        Set<Long> there = new TreeSet<>();
        try (Connection connection = DriverManager.getConnection(url("&readLevel=linearizable", 0, 1, 2));
                Statement statement = connection.createStatement();
                ResultSet results = statement.executeQuery("SELECT id FROM item WHERE text = 'doubt'")) {
            while (results.next()) {
                there.add(results.getLong(1));
            }
        }
        clients.assertAre(there, "at any node");
        cluster.assertSame();
    }

    /** The node that holds a transaction stands still; others decide that it has not committed, and it abides by that. */
    @Test
    void aNodeThatStandsStillIsFenced() throws Exception {
        long process = cluster.cluster.nodes().get(0).pid();
        try (Connection stuck = DriverManager.getConnection(cluster.node(0).jdbcUrl()
                + "&options=-c%20tutti.report=on&socketTimeout=60"); Connection other = connect(1)) {
            stuck.setAutoCommit(false);
            String first = stuck.unwrap(PGConnection.class).getParameterStatus("tutti.transaction");
            try (Statement statement = stuck.createStatement()) {
                statement.execute("INSERT INTO item VALUES (4000, 'fenced')");
            }
            FaultCluster.signal("STOP", process);
            String[] outcome = {null};
            FaultCluster.await("the outcome is known", () -> {
                try {
                    outcome[0] = DriverClients.value(other, "SELECT tutti_outcome('" + first + "')");
                } catch (SQLException notYet) {
                    return false;
                }
                return !"in progress".equals(outcome[0]);
            });
            assertEquals("aborted", outcome[0]);
            FaultCluster.signal("CONT", process);
            assertThrows(SQLException.class, stuck::commit);
        }
        // It begins a new life, and for a moment between two lives nobody listens.
        String[] there = {null};
        FaultCluster.await("the node takes connections again", () -> {
            try (Connection connection = DriverManager.getConnection(url("&readLevel=linearizable", 0))) {
                there[0] = DriverClients.value(connection, "SELECT count(*) FROM item WHERE id = 4000");
                return true;
            } catch (SQLException notYet) {
                return false;
            }
        });
        assertEquals("0", there[0]);
    }
}
