package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** CREATE INDEX CONCURRENTLY is the same under each protocol, and in each database: every node has built the index when its statement comes to its position. */
@Tag("long")
class ConcurrentIndexProtocolsTest {
    @TempDir
    private Path directory;

    @ParameterizedTest
    @CsvSource({"si, shop", "2pc, tutti", "active, tutti", "hybrid, tutti"})
    void everyNodeHasBuiltIt(String protocol, String database) throws Exception {
        try (FaultCluster cluster = FaultCluster.start(FaultCluster.spec(directory, 3, protocol))) {
            if (!database.equals("tutti")) {
                cluster.execute(0, "CREATE DATABASE " + database);
                cluster.awaitLevel();
            }
            cluster.executeIn(1, database, "CREATE TABLE item (id int PRIMARY KEY, n int)",
                    "INSERT INTO item SELECT i, i FROM generate_series(1, 1000) i");
            try (Connection client = cluster.connectTo(1, database); Statement statement = client.createStatement()) {
                statement.execute("CREATE UNIQUE INDEX CONCURRENTLY by_n ON item (n)");
                assertNull(statement.getWarnings(), "no node has built it in line");
                statement.execute("INSERT INTO item VALUES (2000, 2000)");
            }
            cluster.awaitLevel();
            for (int id : cluster.ids().toArray()) {
                assertEquals("1 1001 0", beneath(cluster, id, database), "node " + id);
            }
        }
    }

    private static String beneath(FaultCluster cluster, int id, String database) throws SQLException {
        try (Connection beneath = DriverManager.getConnection(
                cluster.cluster.jdbcUrlBeneath(id).replace("/tutti?", "/" + database + "?") + "&socketTimeout=20");
                ResultSet result = beneath.createStatement().executeQuery("SELECT (SELECT count(*) FROM pg_index"
                        + " WHERE indexrelid = 'by_n'::regclass AND indisvalid) || ' ' || (SELECT count(*) FROM item)"
                        + " || ' ' || (SELECT count(*) FROM tutti.built)")) {
            result.next();
            return result.getString(1);
        }
    }
}
