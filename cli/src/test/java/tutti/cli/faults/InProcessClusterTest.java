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
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.cluster.ClusterSpec;

/** The driver {@code jdbc:tutti:} at three processes with H2 or HSQLDB, each with a secondary, which are killed and started. */
@Tag("long")
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

    private static Connection connect(FaultCluster cluster, String properties, int first) throws SQLException {
        return DriverClients.connect(cluster, properties, first);
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
        Set<Long> told;
        try (FaultCluster cluster = start(data, engine)) {
            DriverClients clients = new DriverClients(cluster, "item");
            told = clients.told();
            try (Connection connection = connect(cluster, "", 0)) {
                run(connection, "CREATE TABLE item (id bigint PRIMARY KEY, what varchar(20))");
            }
            readOnlyWorkSeesWhatWasWritten(cluster);
            connectionsMove(cluster);
            clients.whileKilling(2, 4);
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
                assertEquals(0, DriverClients.node(connection));
                run(connection, "INSERT INTO item VALUES (" + i + ", 'causal')");
                String sql = "SELECT count(*) FROM item WHERE what = 'causal'";
                assertEquals(String.valueOf(i + 1), DriverClients.value(linearizable, sql));
                connection.setReadOnly(true);
                assertEquals(String.valueOf(i + 1), DriverClients.value(connection, sql));
                assertFalse(DriverClients.node(connection) == 0);
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
            assertEquals("30", DriverClients.value(reader, "SELECT count(*) FROM item"));
            assertEquals(1, DriverClients.node(idle));
            cluster.cluster.kill(1);
            try (ResultSet results = select.executeQuery()) {
                assertTrue(results.next());
                assertEquals(42, results.getInt(1));
            }
            assertFalse(DriverClients.node(idle) == 1);
            idle.commit();
            assertEquals("40001", assertThrows(SQLException.class,
                    () -> run(writer, "INSERT INTO item VALUES (101, 'moved')")).getSQLState());
            writer.rollback();
            run(writer, "INSERT INTO item VALUES (100, 'moved')");
            writer.commit();
            assertEquals("30", DriverClients.value(reader, "SELECT count(*) FROM item WHERE what = 'causal'"));
            reader.commit();
        } finally {
            cluster.cluster.startNode(1);
            cluster.awaitReady();
        }
    }

    /** Every node has the rows that clients were told of and no others, at its primary and at its secondary. */
    private static void assertSame(FaultCluster cluster, Set<Long> told) throws SQLException {
        for (int id = 0; id < 3; id++) {
            for (boolean readOnly : new boolean[]{false, true}) {
                Set<Long> there = new TreeSet<>();
                try (Connection connection = DriverManager.getConnection(
                        DriverClients.url(cluster, "&readLevel=linearizable", IntStream.of(id)))) {
                    connection.setReadOnly(readOnly);
                    assertEquals(id, DriverClients.node(connection));
                    try (Statement statement = connection.createStatement();
                            ResultSet results = statement
                                    .executeQuery("SELECT id FROM item WHERE what = 'doubt'")) {
                        while (results.next()) {
                            there.add(results.getLong(1));
                        }
                    }
                    assertEquals("30",
                            DriverClients.value(connection, "SELECT count(*) FROM item WHERE what = 'causal'"));
                }
                assertEquals(told, there, "node " + id);
            }
        }
    }
}
