package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A bank under load: writers at all nodes move money between accounts and note every transfer by a number of its own. In
 * the end each transfer's outcome as its client saw it is compared with what is there, and each account's balance with
 * the transfers, so that a transfer lost, or made twice, shows.
 */
final class Ledger implements AutoCloseable {
    private static final int ACCOUNTS = 200;
    private static final long INITIAL = 1000;
    /** Transfers begun at different nodes never have the same number, and none is used twice. */
    private static final AtomicLong NUMBERS = new AtomicLong();

    private final FaultCluster cluster;
    private final Set<Long> acknowledged = ConcurrentHashMap.newKeySet();
    private final Set<Long> refused = ConcurrentHashMap.newKeySet();
    private final Map<String, AtomicLong> errors = new ConcurrentHashMap<>();
    private final CountDownLatch stopping = new CountDownLatch(1);
    private final List<Thread> writers = new ArrayList<>();
    private final AtomicLong[] perNode;
    private final AtomicLong lastNanos = new AtomicLong(System.nanoTime());
    private final AtomicLong longestGapNanos = new AtomicLong();

    private Ledger(FaultCluster cluster) {
        this.cluster = cluster;
        perNode = cluster.ids().mapToObj(_ -> new AtomicLong()).toArray(AtomicLong[]::new);
    }

    /** Makes the tables, at any node. */
    static void create(FaultCluster cluster) throws SQLException {
        try (Connection connection = cluster.connect(0); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL)");
            statement.execute("CREATE TABLE transfer (number bigint PRIMARY KEY, giver int NOT NULL REFERENCES account,"
                    + " taker int NOT NULL REFERENCES account, amount bigint NOT NULL)");
            statement.execute("INSERT INTO account SELECT i, " + INITIAL + " FROM generate_series(0, " + (ACCOUNTS - 1)
                    + ") i");
        }
    }

    /** Starts writers at every node. */
    static Ledger run(FaultCluster cluster, int writersPerNode, long seed) {
        Ledger ledger = new Ledger(cluster);
        Random seeds = new Random(seed);
        cluster.ids().forEach(node -> {
            for (int i = 0; i < writersPerNode; i++) {
                long own = seeds.nextLong();
                ledger.writers.add(Thread.ofPlatform().daemon().name("writer-" + node + "-" + i)
                        .start(() -> ledger.write(node, new Random(own))));
            }
        });
        return ledger;
    }

    private void write(int node, Random random) {
        while (stopping.getCount() > 0) {
            try (Connection connection = cluster.connect(node)) {
                connection.setAutoCommit(false);
                while (stopping.getCount() > 0) {
                    transfer(node, connection, random);
                    if (cluster.isAwaited()) {
                        pause();
                    }
                }
            } catch (SQLException lost) {
                failed(lost);
            }
            pause();
        }
    }

    /** Before another connection is tried, and where processors are left to others. */
    private void pause() {
        try {
            boolean _ = stopping.await(50, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            stopping.countDown();
        }
    }

    private void failed(SQLException cause) {
        String text = cause.getSQLState() + " " + String.valueOf(cause.getMessage()).lines().findFirst().orElse("")
                .replaceAll("[0-9]+", "#");
        errors.computeIfAbsent(text, _ -> new AtomicLong()).incrementAndGet();
    }

    /** One transfer; throws if its connection cannot be used any more. */
    private void transfer(int node, Connection connection, Random random) throws SQLException {
        long number = NUMBERS.incrementAndGet();
        int giver = random.nextInt(ACCOUNTS);
        int taker = (giver + 1 + random.nextInt(ACCOUNTS - 1)) % ACCOUNTS;
        int amount = 1 + random.nextInt(10);
        boolean committing = false;
        try {
            update(connection, "UPDATE account SET balance = balance - ? WHERE id = ?", amount, giver);
            update(connection, "UPDATE account SET balance = balance + ? WHERE id = ?", amount, taker);
            update(connection, "INSERT INTO transfer VALUES (?, ?, ?, ?)", number, giver, taker, amount);
            committing = true;
            connection.commit();
            acknowledged(node, number);
        } catch (SQLException e) {
            failed(e);
            String state = String.valueOf(e.getSQLState());
            boolean connectionGone = state.startsWith("08") || state.startsWith("57P") || state.equals("null");
            if (!committing || !connectionGone) {
                refused.add(number);
            }
            if (connectionGone) {
                throw e;
            }
            connection.rollback();
        }
    }

    private static void update(Connection connection, String sql, long... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                statement.setLong(i + 1, values[i]);
            }
            statement.executeUpdate();
        }
    }

    private void acknowledged(int node, long number) {
        long now = System.nanoTime();
        long gap = now - lastNanos.getAndSet(now);
        longestGapNanos.accumulateAndGet(gap, Math::max);
        acknowledged.add(number);
        perNode[node].incrementAndGet();
    }

    /** Waits until so many more transfers have been acknowledged by a node. */
    void awaitMore(int node, int more) {
        long target = perNode[node].get() + more;
        FaultCluster.await(more + " more transfers at node " + node + "; " + this, () -> perNode[node].get() >= target);
    }

    /** Waits until so many more transfers have been acknowledged by all together. */
    void awaitMore(int more) {
        long target = acknowledged.size() + (long) more;
        FaultCluster.await(more + " more transfers; " + this, () -> acknowledged.size() >= target);
    }

    /** How many transfers a node has acknowledged. */
    long acknowledged(int node) {
        return perNode[node].get();
    }

    /** Longest time in which no transfer was acknowledged, since this was last asked, in milliseconds. */
    long longestGapMillis() {
        return longestGapNanos.getAndSet(0) / 1_000_000;
    }

    /** Stops the writers, whatever has become of the test. */
    @Override
    public void close() {
        finish();
    }

    /** Stops the writers, and waits until they have. */
    void finish() {
        stopping.countDown();
        for (Thread writer : writers) {
            try {
                writer.join(FaultCluster.PATIENCE.toMillis());
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                return;
            }
            assertTrue(!writer.isAlive(), () -> writer + " hangs");
        }
    }

    /** Stops, and checks that the nodes are the same and hold what their clients were told. */
    void verify() throws SQLException, InterruptedException {
        close();
        cluster.assertSame();
        verify(0);
    }

    /** Checks what one node holds, behind {@link #finish}. */
    void verify(int node) throws SQLException {
        Set<Long> present = new HashSet<>();
        long[] balances = new long[ACCOUNTS];
        java.util.Arrays.fill(balances, INITIAL);
        try (Connection connection = cluster.beneath(node); Statement statement = connection.createStatement()) {
            try (ResultSet rows = statement.executeQuery("SELECT number, giver, taker, amount FROM transfer")) {
                while (rows.next()) {
                    assertTrue(present.add(rows.getLong(1)));
                    balances[rows.getInt(2)] -= rows.getLong(4);
                    balances[rows.getInt(3)] += rows.getLong(4);
                }
            }
            Map<Integer, String> wrong = new TreeMap<>();
            try (ResultSet rows = statement.executeQuery("SELECT id, balance FROM account")) {
                while (rows.next()) {
                    if (rows.getLong(2) != balances[rows.getInt(1)]) {
                        wrong.put(rows.getInt(1), rows.getLong(2) + " instead of " + balances[rows.getInt(1)]);
                    }
                }
            }
            assertEquals(Map.of(), wrong, "balances that do not follow from the transfers");
        }
        Set<Long> lost = new HashSet<>(acknowledged);
        lost.removeAll(present);
        assertEquals(Set.of(), lost, "acknowledged transfers that are not there; " + this);
        Set<Long> surprising = new HashSet<>(refused);
        surprising.retainAll(present);
        assertEquals(Set.of(), surprising, "refused transfers that are there; " + this);
    }

    /** What its clients have seen. */
    @Override
    public String toString() {
        return acknowledged.size() + " acknowledged, " + refused.size() + " refused, errors " + errors;
    }

    /** An error that clients have seen and that contains this, or null. */
    @Nullable
    String errorWith(String text) {
        return errors.keySet().stream().filter(error -> error.contains(text)).findFirst().orElse(null);
    }
}
