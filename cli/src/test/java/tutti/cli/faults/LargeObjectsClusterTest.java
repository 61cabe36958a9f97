package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.postgresql.PGConnection;
import org.postgresql.largeobject.LargeObject;
import org.postgresql.largeobject.LargeObjectManager;

/** Large objects in a cluster of three: the same at all nodes, whoever writes them at the same time. */
@Tag("long")
class LargeObjectsClusterTest {
    @TempDir
    private Path directory;

    private static LargeObjectManager manager(Connection connection) throws SQLException {
        return connection.unwrap(PGConnection.class).getLargeObjectAPI();
    }

    private static void write(Connection connection, long object, int at, byte[] bytes) throws SQLException {
        LargeObject open = manager(connection).open(object);
        open.seek(at);
        open.write(bytes);
        open.close();
    }

    private static byte[] filled(int length, int with) {
        byte[] bytes = new byte[length];
        Arrays.fill(bytes, (byte) with);
        return bytes;
    }

    @Test
    void theFirstWriterWinsAndAllNodesHaveTheSame() throws Exception {
        try (FaultCluster cluster = FaultCluster.start(directory, 3);
                Connection one = cluster.connect(0);
                Connection other = cluster.connect(1)) {
            one.setAutoCommit(false);
            other.setAutoCommit(false);
            long object = manager(one).createLO();
            write(one, object, 0, filled(10_000, 1));
            one.commit();
            cluster.assertSame();
            write(other, object, 100, filled(10, 2));
            // Before the other node applies what is committed first: the server itself would find what comes later, with XX000.
            write(other, object, 7_000, filled(10, 4));
            write(one, object, 5_000, filled(3_000, 3));
            one.commit();
            assertEquals("40001", assertThrows(SQLException.class, other::commit).getSQLState());
            other.rollback();
            try (Statement statement = other.createStatement()) {
                statement.execute("SELECT lo_put(" + object + ", 9000, 'by a query')");
                other.commit();
            }
            cluster.assertSame();
            try (Connection third = cluster.connect(2)) {
                third.setAutoCommit(false);
                byte[] expected = filled(10_000, 1);
                Arrays.fill(expected, 5_000, 8_000, (byte) 3);
                System.arraycopy("by a query".getBytes(java.nio.charset.StandardCharsets.UTF_8), 0, expected, 9_000,
                        10);
                assertArrayEquals(expected,
                        manager(third).open(object, LargeObjectManager.READ).read(20_000));
                third.commit();
            }
            cluster.cluster.kill(2);
            manager(one).unlink(object);
            long next = manager(one).createLO();
            write(one, next, 0, filled(5_000, 5));
            one.commit();
            cluster.cluster.startNode(2);
            cluster.awaitReady(2);
            cluster.assertSame();
        }
    }
}
