package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import tutti.cli.cluster.ClusterSpec;

/** The driver {@code jdbc:tutti:} at three processes with H2 or HSQLDB, each with a secondary, which are killed and started. */
class InProcessClusterTest {
    @TempDir
    private Path directory;

    private static FaultCluster start(Path directory, String engine) {
        ClusterSpec spec = FaultCluster.spec(directory, 3, "si");
        Map<String, String> settings = new HashMap<>(spec.settings());
        settings.put(ClusterSpec.ENGINE, engine);
        settings.put(ClusterSpec.SECONDARIES, "1");
        return FaultCluster.start(new ClusterSpec(spec.directory(), 3, spec.basePort(), "si", spec.database(),
                spec.password(), settings, spec.nodeCommand()));
    }

    /** To a node, or to another one if that cannot be reached, or could not lately. */
    private static Connection connect(FaultCluster cluster, String properties, int first) throws SQLException {
        return connect(cluster, properties, IntStream.range(first, first + 3).map(id -> id % 3));
    }

    private static Connection connect(FaultCluster cluster, String properties, IntStream ids) throws SQLException {
        String hosts = ids.mapToObj(cluster::node)
                .map(node -> node.host() + ":" + node.postgresPort()).collect(Collectors.joining(","));
        return DriverManager.getConnection(
                "jdbc:tutti://" + hosts + "/tutti?user=postgres&password=secret&socketTimeout=20" + properties);
    }

    private static int node(Connection connection) throws SQLException {
        return Integer.parseInt(connection.unwrap(PGConnection.class).getParameterStatus("tutti.transaction")
                .split(":", 2)[0]);
    }

    private static String value(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet results = statement.executeQuery(sql)) {
            return results.next() ? results.getString(1) : "nothing";
        }
    }

    private static void run(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "hsqldb"})
    @Timeout(240)
    void theDriverGoesElsewhereAndTheClusterStartsAgain(String engine) throws Exception {
        Path data = directory.resolve(engine);
        Set<Long> told = new ConcurrentSkipListSet<>();
        try (FaultCluster cluster = start(data, engine)) {
            try (Connection connection = connect(cluster, "", 0)) {
                run(connection, "CREATE TABLE item (id bigint PRIMARY KEY, what varchar(20))");
            }
            readOnlyWorkSeesWhatWasWritten(cluster);
            connectionsMove(cluster);
            everyCommitIsResolved(cluster, told);
            assertSame(cluster, told);
            cluster.killAll();
            cluster.startAll();
            assertSame(cluster, told);
        }
        // Stopped in order, and started again from what is in the directory.
        try (FaultCluster cluster = start(data, engine); Connection connection = connect(cluster, "", 1)) {
            assertSame(cluster, told);
            run(connection, "INSERT INTO item VALUES (1000000, 'doubt')");
            told.add(1_000_000L);
            run(connection, "CREATE TABLE another (id int PRIMARY KEY)");
            assertSame(cluster, told);
        }
    }

    private static void readOnlyWorkSeesWhatWasWritten(FaultCluster cluster) throws SQLException {
        try (Connection connection = connect(cluster, "&readOnlyRouting=other", 0);
                Connection linearizable = connect(cluster, "&readLevel=linearizable", 2)) {
            linearizable.setReadOnly(true);
            for (int i = 0; i < 30; i++) {
                connection.setReadOnly(false);
                assertEquals(0, node(connection));
                run(connection, "INSERT INTO item VALUES (" + i + ", 'causal')");
                String sql = "SELECT count(*) FROM item WHERE what = 'causal'";
                assertEquals(String.valueOf(i + 1), value(linearizable, sql));
                connection.setReadOnly(true);
                assertEquals(String.valueOf(i + 1), value(connection, sql));
                assertFalse(node(connection) == 0);
            }
        }
    }

    private static void connectionsMove(FaultCluster cluster) throws Exception {
        try (Connection idle = connect(cluster, "", 1);
                Connection writer = connect(cluster, "", 1);
                Connection reader = connect(cluster, "", 1);
                PreparedStatement select = idle.prepareStatement("SELECT count(*) + ? FROM item")) {
            idle.setAutoCommit(false);
            select.setInt(1, 12);
            writer.setAutoCommit(false);
            run(writer, "INSERT INTO item VALUES (100, 'moved')");
            reader.setReadOnly(true);
            reader.setAutoCommit(false);
            assertEquals("30", value(reader, "SELECT count(*) FROM item"));
            assertEquals(1, node(idle));
            cluster.cluster.kill(1);
            try (ResultSet results = select.executeQuery()) {
                assertTrue(results.next());
                assertEquals(42, results.getInt(1));
            }
            assertFalse(node(idle) == 1);
            idle.commit();
            assertEquals("40001", assertThrows(SQLException.class,
                    () -> run(writer, "INSERT INTO item VALUES (101, 'moved')")).getSQLState());
            writer.rollback();
            run(writer, "INSERT INTO item VALUES (100, 'moved')");
            writer.commit();
            assertEquals("30", value(reader, "SELECT count(*) FROM item WHERE what = 'causal'"));
            reader.commit();
        } finally {
            cluster.cluster.startNode(1);
            cluster.awaitReady();
        }
    }

    /** Clients commit without a pause while their node is killed; each of them must know what has become of its rows. */
    private static void everyCommitIsResolved(FaultCluster cluster, Set<Long> told) throws Exception {
        int clients = 4;
        int victim = 2;
        AtomicLong ids = new AtomicLong(100_000);
        Set<String> doubts = new ConcurrentSkipListSet<>();
        CountDownLatch warm = new CountDownLatch(clients * 20);
        CountDownLatch moved = new CountDownLatch(clients);
        AtomicBoolean stop = new AtomicBoolean();
        List<Thread> threads = IntStream.range(0, clients).mapToObj(client -> Thread.ofPlatform().start(() -> {
            boolean byItself = client % 2 == 0;
            try (Connection connection = connect(cluster, "", victim);
                    PreparedStatement insert = connection.prepareStatement("INSERT INTO item VALUES (?, 'doubt')")) {
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
                        if (failed.getMessage().contains("only its result is lost")) {
                            told.add(id);
                        } else if (!"40001".equals(failed.getSQLState())) {
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
        assertEquals(Set.of(), Set.copyOf(doubts));
    }

    /** Every node has the rows that clients were told of and no others, at its primary and at its secondary. */
    private static void assertSame(FaultCluster cluster, Set<Long> told) throws SQLException {
        for (int id = 0; id < 3; id++) {
            for (boolean readOnly : new boolean[]{false, true}) {
                Set<Long> there = new TreeSet<>();
                try (Connection connection = connect(cluster, "&readLevel=linearizable",
                        IntStream.of(id))) {
                    connection.setReadOnly(readOnly);
                    assertEquals(id, node(connection));
                    try (Statement statement = connection.createStatement();
                            ResultSet results = statement
                                    .executeQuery("SELECT id FROM item WHERE what = 'doubt'")) {
                        while (results.next()) {
                            there.add(results.getLong(1));
                        }
                    }
                    assertEquals("30", value(connection, "SELECT count(*) FROM item WHERE what = 'causal'"));
                }
                assertEquals(told, there, "node " + id);
            }
        }
    }
}
