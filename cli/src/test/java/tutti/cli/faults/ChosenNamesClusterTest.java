package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A cluster of three where the server of one would choose other names than the others: it has a client whose transaction is open. */
@Tag("long")
class ChosenNamesClusterTest {
    @TempDir
    private Path directory;
    private FaultCluster cluster;

    @BeforeEach
    void start() {
        cluster = FaultCluster.start(directory, 3);
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private void assertEverywhere(long count, String sql) throws Exception {
        cluster.awaitLevel();
        for (int id : cluster.ids().toArray()) {
            assertEquals(count, cluster.beneathValue(id, sql), () -> sql + " at node " + id);
        }
    }

    @Test
    void nodesHaveTheSameNamesAndNothingAcknowledgedIsLost() throws Exception {
        cluster.execute(0, "CREATE TABLE t (id int PRIMARY KEY, n int)");
        cluster.awaitLevel();
        try (Connection open = cluster.connect(0); Statement statement = open.createStatement()) {
            open.setAutoCommit(false);
            statement.execute("CREATE INDEX ON t (n)");
            statement.execute("CREATE SEQUENCE x_a_seq");
            cluster.execute(1, "CREATE INDEX ON t (n) WHERE id > 5", "CREATE TABLE x (a serial PRIMARY KEY)");
            cluster.awaitLevel();
            // the node says it again: there the sequence has been made meanwhile
            SQLException refused = assertThrows(SQLException.class, open::commit);
            assertTrue(Set.of("40001", "42P07").contains(refused.getSQLState()), refused::toString);
        }
        assertEverywhere(1, "SELECT count(*) FROM pg_indexes WHERE indexname = 't_n_idx' AND indexdef LIKE '%WHERE%'");
        assertEverywhere(0, "SELECT count(*) FROM pg_class WHERE relname ~ '^(t_n_idx|x_a_seq)[0-9]'");
        try (Connection beside = cluster.connect(0); Connection open = cluster.connect(0)) {
            for (Connection each : List.of(beside, open)) {
                each.setAutoCommit(false);
                each.createStatement().execute("CREATE INDEX ON t (id, n)");
            }
            beside.rollback();
            open.commit();
        }
        assertEverywhere(1, "SELECT count(*) FROM pg_class WHERE relname = 't_id_n_idx1'");
        cluster.execute(2, "INSERT INTO x DEFAULT VALUES", "INSERT INTO t VALUES (1, 1)");
        cluster.assertSame();
    }
}
