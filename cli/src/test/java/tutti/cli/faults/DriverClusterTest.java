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
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.postgresql.PGConnection;

/** The driver {@code jdbc:tutti:} against three real nodes that are killed, stopped and started again beneath it. */
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
        String hosts = IntStream.of(ids).mapToObj(id -> cluster.node(id).host() + ":" + cluster.node(id).postgresPort())
                .collect(Collectors.joining(","));
        return "jdbc:tutti://" + hosts + "/tutti?user=postgres&password=secret&socketTimeout=20" + properties;
    }

    /** A connection to a node, and to the others if that is lost. */
    private static Connection connect(int id) throws SQLException {
        return DriverManager.getConnection(url("", id, (id + 1) % 3, (id + 2) % 3));
    }

    private static int node(Connection connection) throws SQLException {
        return Integer.parseInt(connection.unwrap(PGConnection.class).getParameterStatus("tutti.transaction")
                .split(":", 2)[0]);
    }

    private static String value(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet results = statement.executeQuery(sql)) {
            return results.next() ? results.getString(1) : null;
        }
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
            assertEquals("11", value(connection, "SELECT count(*) FROM counted"));
            try (Statement statement = connection.createStatement()) {
                statement.execute("DELETE FROM counted");
                statement.addBatch("INSERT INTO item VALUES (-1, 'a')");
                statement.addBatch("INSERT INTO item VALUES (-1, 'b')");
                assertEquals("23505", assertThrows(BatchUpdateException.class, statement::executeBatch).getSQLState());
                assertEquals("25P02", failure(() -> statement.execute("SELECT 1")));
            }
            connection.rollback();
            assertEquals("11", value(connection, "SELECT count(*) FROM counted"));
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
            assertEquals(2, node(connection));
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
            return new TreeSet<>(List.of(node(one), node(two), node(three)));
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
                assertEquals(0, node(connection));
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
                assertFalse(node(connection) == 0);
                if (i % 2 != 0) {
                    connection.commit();
                }
            }
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
                assertEquals("1", value(reader, "SELECT count(*) FROM item WHERE id = " + i));
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
            assertEquals(1, node(connection));
            cluster.cluster.kill(1);
            try (ResultSet results = select.executeQuery()) {
                assertTrue(results.next());
                assertEquals(42, results.getInt(1));
            }
            assertEquals("pg_catalog, public", value(connection, "SHOW search_path"));
            assertEquals("read committed", value(connection, "SHOW transaction_isolation"));
            assertFalse(node(connection) == 1);
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
                Connection streaming = connect(2);
                PreparedStatement insert = writer.prepareStatement("INSERT INTO item VALUES (?, ?)");
                PreparedStatement stream = streaming.prepareStatement("SELECT ?::bytea")) {
            writer.setAutoCommit(false);
            insert.setInt(1, 3000);
            insert.setString(2, "moved");
            insert.executeUpdate();
            reader.setReadOnly(true);
            reader.setAutoCommit(false);
            assertEquals("0", value(reader, "SELECT count(*) FROM item WHERE id = 3000"));
            try (Statement temporary = pinned.createStatement()) {
                temporary.execute("CREATE TEMP TABLE here (id int)");
            }
            stream.setBinaryStream(1, new ByteArrayInputStream(new byte[10]));
            cluster.cluster.kill(2);

            assertEquals("40001", failure(insert::executeUpdate));
            assertEquals("40001", failure(() -> value(writer, "SELECT 1")));
            writer.rollback();
            insert.executeUpdate();
            writer.commit();
            assertEquals("0", value(reader, "SELECT count(*) FROM item WHERE id = 3001"));
            reader.commit();
            assertEquals("1", value(writer, "SELECT count(*) FROM item WHERE id = 3000"));
            writer.commit();

            assertEquals("08006", failure(() -> value(pinned, "SELECT 1")));
            assertFalse(pinned.isValid(5));
            assertTrue(pinned.isClosed());
            assertEquals("40001", failure(stream::executeQuery));
        } finally {
            cluster.cluster.startNode(2);
            cluster.awaitReady();
        }
    }

    /** Clients commit without a pause while their node is killed; each of them must know what has become of its rows. */
    @Test
    void everyCommitIsResolved() throws Exception {
        int clients = 6;
        AtomicLong ids = new AtomicLong(100_000);
        Set<Long> told = new ConcurrentSkipListSet<>();
        Set<Long> refused = new ConcurrentSkipListSet<>();
        Set<String> doubts = new ConcurrentSkipListSet<>();
        for (int round = 0; round < 2; round++) {
            int victim = round % 2 == 0 ? cluster.leader() : (cluster.leader() + 1) % 3;
            CountDownLatch warm = new CountDownLatch(clients * 20);
            AtomicBoolean stop = new AtomicBoolean();
            CountDownLatch moved = new CountDownLatch(clients);
            List<Thread> threads = IntStream.range(0, clients).mapToObj(client -> Thread.ofPlatform().start(() -> {
                boolean byItself = client % 2 == 0;
                try (Connection connection = connect(victim);
                        PreparedStatement insert = connection
                                .prepareStatement("INSERT INTO item VALUES (?, 'doubt')")) {
                    connection.setAutoCommit(byItself);
                    boolean away = false;
                    while (!stop.get()) {
                        long id = ids.incrementAndGet();
                        try {
                            insert.setLong(1, id);
                            insert.executeUpdate();
                            if (!byItself) {
                                connection.commit();
                            }
                            told.add(id);
                        } catch (SQLException failed) {
                            if (failed.getSQLState().equals("40001")) {
                                refused.add(id);
                            } else if (failed.getMessage().contains("only its result is lost")) {
                                told.add(id);
                            } else {
                                doubts.add(failed.getSQLState() + " " + failed.getMessage());
                            }
                            if (!byItself) {
                                connection.rollback();
                            }
                        }
                        warm.countDown();
                        if (!away && node(connection) != victim) {
                            away = true;
                            moved.countDown();
                        }
                    }
                } catch (SQLException ended) {
                    doubts.add(ended.toString());
                }
            })).toList();
            assertTrue(warm.await(60, TimeUnit.SECONDS));
            cluster.cluster.kill(victim);
            boolean all = moved.await(60, TimeUnit.SECONDS);
            stop.set(true);
            for (Thread thread : threads) {
                thread.join();
            }
            cluster.cluster.startNode(victim);
            cluster.awaitReady();
            assertTrue(all, () -> "some clients did not move; in doubt: " + doubts);
        }
        Set<Long> there = new TreeSet<>();
        try (Connection connection = DriverManager.getConnection(url("&readLevel=linearizable", 0, 1, 2));
                Statement statement = connection.createStatement();
                ResultSet results = statement.executeQuery("SELECT id FROM item WHERE text = 'doubt'")) {
            while (results.next()) {
                there.add(results.getLong(1));
            }
        }
        assertEquals(Set.of(), Set.copyOf(doubts));
        assertEquals(told, there, () -> "refused: " + refused);
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
                    outcome[0] = value(other, "SELECT tutti_outcome('" + first + "')");
                } catch (SQLException notYet) {
                    return false;
                }
                return !"in progress".equals(outcome[0]);
            });
            assertEquals("aborted", outcome[0]);
            FaultCluster.signal("CONT", process);
            assertThrows(SQLException.class, stuck::commit);
        }
        cluster.awaitReady();
        try (Connection connection = DriverManager.getConnection(url("&readLevel=linearizable", 0))) {
            assertEquals("0", value(connection, "SELECT count(*) FROM item WHERE id = 4000"));
        }
    }
}
