package tutti.cli.clients;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.StringReader;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import javax.sql.XAConnection;
import javax.transaction.xa.XAResource;
import javax.transaction.xa.Xid;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.postgresql.xa.PGXADataSource;
import tutti.cli.NodeCommand;
import tutti.cluster.Cluster;
import tutti.cluster.ClusterFile;
import tutti.cluster.ClusterSpec;

/**
 * Unmodified clients work against a cluster of three nodes. Runs the programs in the directory {@code clients} at the
 * top of the project, each of which makes changes on one node and looks for them on the others.
 */
@Tag("long")
class ClientsTest {
    @TempDir
    private static Path directory;
    private static Cluster cluster;
    private static List<String> urls = List.of();

    @BeforeAll
    static void startCluster() throws Exception {
        cluster = Cluster.start(new ClusterSpec(directory.resolve("cluster"), 3, 0, "si", "tutti", "secret", Map.of(),
                NodeCommand.line()), (died, exitStatus) -> {});
        for (ClusterFile.Node each : cluster.nodes()) {
            cluster.awaitReady(each.id(), Duration.ofMinutes(2));
        }
        urls = cluster.nodes().stream().map(ClusterFile.Node::postgresUrl).toList();
    }

    @AfterAll
    static void stopCluster() {
        if (cluster != null) {
            cluster.close();
        }
    }

    @Test
    void psycopg() throws Exception {
        ClientPrograms.psycopg(directory, "client.py", urls);
    }

    @Test
    void alembicAndDjangoMigrate() throws Exception {
        ClientPrograms.psycopg(directory, "migrations.py", urls);
    }

    @Test
    void flywayAndLiquibaseMigrate() throws Exception {
        ClientPrograms.java(directory, "Migrations.java",
                cluster.nodes().stream().map(ClusterFile.Node::jdbcUrl).toList());
    }

    @Test
    void nodePostgres() throws Exception {
        ClientPrograms.nodePostgres(directory, "client.js", urls);
    }

    @Test
    void pgx() throws Exception {
        ClientPrograms.pgx(directory, "cluster", urls);
    }

    @Test
    void psql() throws Exception {
        ClientPrograms.script(directory, "psql", List.of("psql"), urls);
    }

    @Test
    void pgbench() throws Exception {
        ClientPrograms.script(directory, "pgbench", List.of("psql", "pgbench"), urls);
    }

    @Test
    void pgjdbc() throws Exception {
        try (Connection one = jdbc(0, "prepareThreshold=1"); Connection other = jdbc(1, "preferQueryMode=simple")) {
            one.setAutoCommit(false);
            try (Statement statement = one.createStatement()) {
                statement.execute("CREATE TABLE jdbc_item (id serial PRIMARY KEY, name text, n int)");
                try (PreparedStatement insert = one.prepareStatement("INSERT INTO jdbc_item (name, n) VALUES (?, ?)",
                        Statement.RETURN_GENERATED_KEYS)) {
                    for (int i = 0; i < 100; i++) {
                        insert.setString(1, "batch");
                        insert.setInt(2, i);
                        insert.addBatch();
                    }
                    int[] ones = new int[100];
                    Arrays.fill(ones, 1);
                    assertArrayEquals(ones, insert.executeBatch());
                    assertTrue(insert.getGeneratedKeys().next());
                }
                statement.execute("ALTER TABLE jdbc_item ADD COLUMN done boolean DEFAULT false");
                statement.execute("UPDATE jdbc_item SET done = true WHERE n < 10");
            }
            one.commit();
            awaitEqual(other, "SELECT count(*) || ' ' || sum(n) || ' ' || count(*) FILTER (WHERE done) FROM jdbc_item",
                    "100 4950 10");

            try (Statement statement = other.createStatement()) {
                deleteWithRetries(statement);
                statement.execute("LISTEN a");
                assertEquals("42P01", refused(statement, "SELECT * FROM no_such_table"));
            }
            one.setAutoCommit(true);
            awaitEqual(one, "SELECT count(*) FROM jdbc_item", "50");
            one.unwrap(org.postgresql.PGConnection.class).getCopyAPI()
                    .copyIn("COPY jdbc_item (name, n) FROM STDIN", new StringReader("copied\t1\ncopied\t2\n"));
            awaitEqual(other, "SELECT count(*) FROM jdbc_item WHERE name = 'copied'", "2");
            try (Statement statement = one.createStatement()) {
                statement.execute("NOTIFY a, 'copied'");
            }
            assertEquals(List.of("copied"),
                    Arrays.stream(other.unwrap(org.postgresql.PGConnection.class).getNotifications(30_000))
                            .map(org.postgresql.PGNotification::getParameter).toList());
        }
    }

    @Test
    void sequencesCountAsDeclaredAndNeverGiveTheSame() throws Exception {
        try (Connection maker = jdbc(1, "prepareThreshold=1");
                Connection other = jdbc(2, "preferQueryMode=simple");
                Statement made = maker.createStatement();
                Statement used = other.createStatement()) {
            made.execute("CREATE TABLE counted (id serial PRIMARY KEY, few int NOT NULL)");
            made.execute("CREATE SEQUENCE few MAXVALUE 4096; CREATE SEQUENCE three MAXVALUE 3");
            assertEquals("1 2 3", ask(made, "INSERT INTO counted (few) VALUES (1), (2), (3) RETURNING id"));
            awaitEqual(other, "SELECT count(*) FROM counted", "3");
            int first = Integer.parseInt(ask(used, "INSERT INTO counted (few) VALUES (4) RETURNING id"));
            assertTrue(first > 262_144 && first % 262_144 == 1, "the first of a share: " + first);
            used.execute("INSERT INTO counted (few) SELECT nextval('few') FROM generate_series(1, 1000)");
            assertEquals("1004 1004", ask(used, "SELECT count(*), count(DISTINCT few) FROM counted"));
            for (String value : List.of("1", "2", "3")) {
                assertEquals(value, ask(made, "SELECT nextval('three')"));
            }
            assertEquals("2200H", refused(made, "SELECT nextval('three')"));
            made.execute("DO $$ BEGIN PERFORM setval('counted_id_seq', 5000); END $$");
            assertEquals("5001", ask(made, "SELECT nextval('counted_id_seq')"));
            awaitEqual(other, "SELECT nextval('counted_id_seq') >= 267145", "t");
            made.execute("TRUNCATE counted RESTART IDENTITY");
            assertEquals("1", ask(made, "INSERT INTO counted (few) VALUES (1) RETURNING id"));
        }
    }

    private static PGXADataSource distributed(int node) {
        PGXADataSource source = new PGXADataSource();
        source.setUrl(cluster.nodes().get(node).jdbcUrl());
        return source;
    }

    @Test
    void whatOneNodeHasPreparedAnotherOneCommits() throws Exception {
        Xid name = new BranchId(7, new byte[]{1, 2}, new byte[]{3});
        try (Connection maker = jdbc(0, "prepareThreshold=1"); Statement made = maker.createStatement()) {
            made.execute("CREATE TABLE branch (id int PRIMARY KEY, n int NOT NULL)");
            made.execute("INSERT INTO branch VALUES (1, 10)");
        }
        XAConnection one = distributed(0).getXAConnection();
        try (Statement statement = one.getConnection().createStatement()) {
            one.getXAResource().start(name, XAResource.TMNOFLAGS);
            assertEquals("10", ask(statement, "UPDATE branch SET n = 11 WHERE id = 1 RETURNING OLD.n"));
            one.getXAResource().end(name, XAResource.TMSUCCESS);
            assertEquals(XAResource.XA_OK, one.getXAResource().prepare(name));
        } finally {
            one.close();
        }
        try (Connection connection = jdbc(2, "prepareThreshold=1");
                Statement statement = connection.createStatement()) {
            awaitEqual(connection, "SELECT count(*) FROM pg_prepared_xacts", "1");
            assertEquals("10", ask(statement, "SELECT n FROM branch"));
            assertEquals("40001", refused(statement, "UPDATE branch SET n = 12 WHERE id = 1"));
            assertEquals("55006", refused(statement, "CREATE TABLE meanwhile (a int)"));
        }
        XAConnection other = distributed(1).getXAConnection();
        try {
            Xid[] left = other.getXAResource().recover(XAResource.TMSTARTRSCAN);
            assertEquals(1, left.length);
            assertArrayEquals(name.getGlobalTransactionId(), left[0].getGlobalTransactionId());
            other.getXAResource().commit(name, false);
        } finally {
            other.close();
        }
        try (Connection connection = jdbc(2, "prepareThreshold=1");
                Statement statement = connection.createStatement()) {
            awaitEqual(connection, "SELECT n FROM branch", "11");
            assertEquals(1, statement.executeUpdate("UPDATE branch SET n = 12 WHERE id = 1"));
        }
    }

    private record BranchId(int format, byte[] global, byte[] branch) implements Xid {
        @Override
        public int getFormatId() {
            return format;
        }

        @Override
        public byte[] getGlobalTransactionId() {
            return global;
        }

        @Override
        public byte[] getBranchQualifier() {
            return branch;
        }
    }

    private static String ask(Statement statement, String sql) throws SQLException {
        List<String> values = new ArrayList<>();
        try (var rows = statement.executeQuery(sql)) {
            while (rows.next()) {
                for (int column = 1; column <= rows.getMetaData().getColumnCount(); column++) {
                    values.add(rows.getString(column));
                }
            }
        }
        return String.join(" ", values);
    }

    /** By the driver of Tutti itself, at any node. */
    private static String clusterUrl() {
        return "jdbc:tutti://" + String.join(",", cluster.nodes().stream()
                .map(node -> node.host() + ":" + node.postgresPort()).toList())
                + "/tutti?user=postgres&password=secret&loadBalance=random&readOnlyRouting=other";
    }

    @Test
    void hikari() throws Exception {
        Frameworks.hikari(clusterUrl());
    }

    @Test
    void spring() {
        Frameworks.spring(clusterUrl());
    }

    @Test
    void hibernate() {
        Frameworks.hibernate(clusterUrl());
    }

    /** A write right after another node's schema change may be taken for concurrent with it. */
    private static void deleteWithRetries(Statement statement) throws SQLException {
        for (int attempt = 0;; attempt++) {
            try {
                assertEquals(50, statement.executeUpdate("DELETE FROM jdbc_item WHERE n >= 50"));
                return;
            } catch (SQLException concurrent) {
                if (attempt == 1000 || !"40001".equals(concurrent.getSQLState())) {
                    throw concurrent;
                }
            }
        }
    }

    private static String refused(Statement statement, String sql) {
        return String.valueOf(assertThrows(SQLException.class, () -> statement.execute(sql), sql).getSQLState());
    }

    private static Connection jdbc(int node, String option) throws SQLException {
        return DriverManager.getConnection(cluster.nodes().get(node).jdbcUrl() + "&socketTimeout=60&" + option);
    }

    private static void awaitEqual(Connection connection, String sql, String expected) throws SQLException {
        long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
        String seen = null;
        try (Statement statement = connection.createStatement()) {
            while (!expected.equals(seen)) {
                assertTrue(System.nanoTime() < deadline, sql + ": " + seen + ", expected " + expected);
                statement.execute("SELECT pg_sleep(0.01)");
                try (ResultSet rows = statement.executeQuery(sql)) {
                    rows.next();
                    seen = rows.getString(1);
                } catch (SQLException missing) {
                    assertEquals("42P01", missing.getSQLState(), missing.getMessage());
                }
            }
        }
    }
}
