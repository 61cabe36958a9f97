package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.postgresql.PGConnection;

/**
 * Connections of the driver {@code jdbc:tutti:} to a cluster, and clients that commit through them without a pause while
 * their node is killed: each must know of every row whether it is there.
 *
 * <p>
 * Threads: one thread calls; {@link #told} may be read at any time.
 */
final class DriverClients {
    private static final int WARM_EACH = 20;
    private static final int SECONDS = 60;

    private final FaultCluster cluster;
    /** The table has an id, and another column that says {@code doubt}. */
    private final String table;
    private final AtomicLong ids = new AtomicLong(100_000);
    private final Set<Long> told = new ConcurrentSkipListSet<>();
    private final Set<Long> refused = new ConcurrentSkipListSet<>();
    private final Set<String> doubts = new ConcurrentSkipListSet<>();

    DriverClients(FaultCluster cluster, String table) {
        this.cluster = cluster;
        this.table = table;
    }

    /** Ids of the rows that are there, as clients were told. */
    Set<Long> told() {
        return told;
    }

    /** The driver's URL with nodes in this order. */
    static String url(FaultCluster cluster, String properties, IntStream ids) {
        return "jdbc:tutti://"
                + ids.mapToObj(cluster::node).map(node -> node.host() + ":" + node.postgresPort())
                        .collect(Collectors.joining(","))
                + "/tutti?user=postgres&password=secret&socketTimeout=20" + properties;
    }

    /** A connection to a node, and to the others if that is lost, or was lately. */
    static Connection connect(FaultCluster cluster, String properties, int first) throws SQLException {
        return DriverManager.getConnection(url(cluster, properties,
                IntStream.range(first, first + cluster.size()).map(id -> id % cluster.size())));
    }

    /** Where a connection is at the moment. */
    static int node(Connection connection) throws SQLException {
        return Integer.parseInt(connection.unwrap(PGConnection.class).getParameterStatus("tutti.transaction")
                .split(":", 2)[0]);
    }

    /** First column of the first row, null if there is no row. */
    static String value(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet results = statement.executeQuery(sql)) {
            return results.next() ? results.getString(1) : null;
        }
    }

    /** Kills a node under clients of it, waits until all of them have gone on elsewhere, and starts it again. */
    void whileKilling(int victim, int clients) throws InterruptedException {
        whileAway(victim, clients, () -> cluster.cluster.kill(victim));
    }

    /** Has a node end under clients of it, waits until all of them have gone on elsewhere, and starts it again. */
    void whileAway(int victim, int clients, Runnable end) throws InterruptedException {
        CountDownLatch warm = new CountDownLatch(clients * WARM_EACH);
        CountDownLatch moved = new CountDownLatch(clients);
        AtomicBoolean stop = new AtomicBoolean();
        List<Thread> threads = IntStream.range(0, clients).mapToObj(client -> Thread.ofPlatform()
                .start(() -> commit(victim, client % 2 == 0, stop, warm, moved))).toList();
        boolean warmed = warm.await(SECONDS, TimeUnit.SECONDS);
        end.run();
        boolean all = warmed && moved.await(SECONDS, TimeUnit.SECONDS);
        stop.set(true);
        for (Thread thread : threads) {
            thread.join();
        }
        cluster.cluster.startNode(victim);
        cluster.awaitReady();
        assertTrue(warmed, () -> "clients have not begun; in doubt: " + doubts);
        assertTrue(all, () -> "some clients did not move; in doubt: " + doubts);
        assertEquals(Set.of(), Set.copyOf(doubts));
    }

    /** Checks that the rows found somewhere are those that clients were told of. */
    void assertAre(Set<Long> there, String where) {
        assertEquals(told, there, () -> where + "; refused: " + refused);
    }

    private void commit(int home, boolean autoCommit, AtomicBoolean stop, CountDownLatch warm, CountDownLatch moved) {
        try (Connection connection = connect(cluster, "", home);
                PreparedStatement insert = connection
                        .prepareStatement("INSERT INTO " + table + " VALUES (?, 'doubt')")) {
            connection.setAutoCommit(autoCommit);
            boolean away = false;
            while (!stop.get()) {
                insert(connection, insert, ids.incrementAndGet());
                warm.countDown();
                if (!away && node(connection) != home) {
                    away = true;
                    moved.countDown();
                }
            }
        } catch (SQLException ended) {
            doubts.add(ended.toString());
        }
    }

    private void insert(Connection connection, PreparedStatement insert, long id) throws SQLException {
        try {
            insert.setLong(1, id);
            insert.executeUpdate();
            if (!connection.getAutoCommit()) {
                connection.commit();
            }
            told.add(id);
        } catch (SQLException failed) {
            if (failed.getMessage().contains("only its result is lost")) {
                told.add(id);
            } else if ("40001".equals(failed.getSQLState())) {
                refused.add(id);
            } else {
                doubts.add(failed.getSQLState() + " " + failed.getMessage());
            }
            if (!connection.getAutoCommit()) {
                connection.rollback();
            }
        }
    }
}
