package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import tutti.cli.Tutti;
import tutti.command.Program;
import tutti.server.http.NodeStatus;

/** Statements and rows that some or all nodes cannot apply, at three processes with PostgreSQL: the cluster goes on. */
@Tag("long")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class PositionFaultsTest {
    @TempDir
    private static Path directory;
    private static FaultCluster cluster;

    @BeforeAll
    static void start() throws Exception {
        cluster = FaultCluster.start(
                FaultCluster.with(FaultCluster.spec(directory, 3, "si"), "copies", "{automatic: true}"));
        noAutomaticCopies();
        cluster.execute(0, "CREATE TABLE item (id int PRIMARY KEY, a int, b int)", "INSERT INTO item VALUES (0, 0, 0)",
                "CREATE FUNCTION raising(state text) RETURNS int LANGUAGE plpgsql AS $$"
                        + " BEGIN RAISE EXCEPTION USING ERRCODE = state; END $$");
    }

    /** Told to nodes that run: what they are told counts for what becomes of an excluded one. */
    private static void noAutomaticCopies() throws IOException {
        for (int node = 0; node < 3; node++) {
            Path file = Path.of(cluster.node(node).config());
            String text = Files.readString(file);
            Files.writeString(file, text.replace("automatic: true", "automatic: false"));
            assertNotEquals(text, Files.readString(file));
        }
        StringWriter out = new StringWriter();
        assertEquals(Program.OK, new CommandLine(new Tutti()).setOut(new PrintWriter(out)).execute("reload", "--data",
                directory.toString()), out::toString);
        assertTrue(out.toString().contains("copies.automatic"), out::toString);
    }

    @AfterAll
    static void stop() {
        if (cluster != null) {
            cluster.close();
        }
    }

    /** With more patience than for clients' statements: nodes try again what fails for a passing reason. */
    private static SQLException refused(int node, String sql) throws SQLException {
        try (Connection connection = DriverManager
                .getConnection(cluster.node(node).jdbcUrl() + "&connectTimeout=5&socketTimeout=60");
                Statement statement = connection.createStatement()) {
            return assertThrows(SQLException.class, () -> statement.execute(sql));
        }
    }

    private static String positions() {
        StringWriter out = new StringWriter();
        CommandLine command = new CommandLine(new Tutti()).setOut(new PrintWriter(out));
        assertEquals(Program.OK, command.execute("position", "show", "--data", directory.toString()), out::toString);
        return out.toString();
    }

    @ParameterizedTest
    @Order(1)
    @ValueSource(strings = {"CREATE FUNCTION missing() RETURNS int LANGUAGE c AS 'nosuchlib'", "DROP ROLE postgres",
            "CREATE TABLE made AS SELECT raising('53000')", "CREATE TABLE made AS SELECT raising('57014')",
            "CREATE TABLE made AS SELECT raising('08006')",
            "CREATE TABLE made AS SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(5)",
            "CREATE TABLE made AS SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(5)"})
    void aStatementThatNoNodeCanExecuteIsRefusedAndTheNodesGoOn(String sql) throws Exception {
        refused(0, sql);
        cluster.execute(1, "UPDATE item SET a = a + 1");
        cluster.assertSame();
    }

    /** As before: its client heard of success, and the node with the view was not the same from then on. */
    @Test
    @Order(2)
    void aTemporaryViewAtOneNodeKeepsThatNodeBehindUntilItsSessionIsEnded() throws Exception {
        try (Connection holder = cluster.connect(2); Statement statement = holder.createStatement()) {
            statement.execute("CREATE TEMP VIEW mine AS SELECT b FROM item");
            cluster.execute(0, "ALTER TABLE item DROP COLUMN b");
            FaultCluster.await("the node with the view begins anew", () -> !holds(statement));
        }
        cluster.awaitReady();
        cluster.execute(2, "UPDATE item SET a = a + 1");
        cluster.assertSame();
        assertTrue(positions().contains("it holds"), PositionFaultsTest::positions);
    }

    private static boolean holds(Statement session) {
        try {
            session.execute("SELECT 1");
            return true;
        } catch (SQLException ended) {
            return false;
        }
    }

    @Tag("long")
    @Test
    @Order(3)
    void anOriginWhoseRowsNobodyElseCanMakeIsExcludedAndTheOthersGoOn() throws Exception {
        cluster.execute(0,
                "CREATE FUNCTION here() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN current_setting('port')::int = "
                        + cluster.beneathValue(0, "SELECT current_setting('port')::int") + "; END $$",
                "CREATE TABLE signed (id int PRIMARY KEY, CHECK (here()))", "INSERT INTO signed VALUES (1)");
        FaultCluster.await("the origin is excluded", () -> cluster.cluster.status(0)
                .filter(status -> status.state() == NodeStatus.State.EXCLUDED).isPresent());
        cluster.execute(1, "UPDATE item SET a = a + 1");
        cluster.execute(2, "UPDATE item SET a = a + 1");
        for (int node : List.of(1, 2)) {
            assertEquals(0, cluster.beneathValue(node, "SELECT count(*) FROM signed"));
            assertEquals(cluster.beneathValue(1, "SELECT a FROM item"),
                    cluster.beneathValue(2, "SELECT a FROM item"));
        }
        assertTrue(positions().contains("left out"), PositionFaultsTest::positions);
        assertThrows(SQLException.class, () -> cluster.connect(0));
        // Otherwise its server may lose the row with the crash, and the node is like the others again.
        try (Connection server = cluster.beneath(0); Statement flush = server.createStatement()) {
            flush.execute("CHECKPOINT");
        }
        cluster.cluster.kill(0);
        cluster.cluster.startNode(0);
        FaultCluster.await("it is excluded in its next life, too", () -> cluster.cluster.status(0)
                .filter(status -> status.state() == NodeStatus.State.EXCLUDED).isPresent());
        // It takes part in the order: with the loss of another node there is still a majority.
        cluster.cluster.kill(2);
        FaultCluster.await("the last one that serves goes on", () -> {
            try {
                cluster.execute(1, "UPDATE item SET a = a + 1");
                return true;
            } catch (SQLException between) {
                return false;
            }
        });
    }
}
