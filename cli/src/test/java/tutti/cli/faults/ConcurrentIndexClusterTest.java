package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/** CREATE INDEX CONCURRENTLY in a cluster of three: writers of the table go on at all nodes while it is built, and then all have it. */
@Tag("long")
class ConcurrentIndexClusterTest {
    private static final String VALID = "SELECT count(*) FROM pg_index WHERE indrelid = 'item'::regclass AND indisvalid"
            + " AND pg_get_indexdef(indexrelid) = 'CREATE UNIQUE INDEX by_n ON public.item USING btree (n) INCLUDE (word)'";
    private static final String HIDDEN = "SELECT count(*) FROM tutti.built";
    private static final String CREATE = "CREATE UNIQUE INDEX CONCURRENTLY by_n ON item (n) INCLUDE (word)";
    private static final int HELD = 1;

    @TempDir
    private Path directory;
    private FaultCluster cluster;
    /** With a snapshot that is older than the index, for which its build waits. */
    private Connection old;

    @BeforeEach
    void start() throws Exception {
        cluster = FaultCluster.start(directory, 3);
        cluster.execute(0, "CREATE TABLE item (id serial PRIMARY KEY, n int, word text)",
                "INSERT INTO item (n, word) SELECT i, 'word ' || i FROM generate_series(1, 10000) i");
        cluster.awaitLevel();
        old = snapshot();
    }

    /** For which builds at that node wait that have not come so far. */
    private Connection snapshot() throws SQLException {
        Connection taken = cluster.beneath(HELD);
        taken.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        taken.setAutoCommit(false);
        taken.createStatement().execute("SELECT count(*) FROM pg_class");
        return taken;
    }

    @AfterEach
    void stop() throws SQLException {
        old.close();
        cluster.close();
    }

    /** Tells what the client has been warned of, or null. */
    private CompletableFuture<@Nullable String> create(Statement statement, String sql) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                statement.execute(sql);
                SQLWarning warning = statement.getWarnings();
                return warning == null ? null : warning.getMessage();
            } catch (SQLException failed) {
                return failed.getSQLState();
            }
        }, task -> Thread.ofVirtual().start(task));
    }

    private Connection patient() throws SQLException {
        return DriverManager.getConnection(cluster.node(0).jdbcUrl() + "&socketTimeout=120");
    }

    private long count(int node, String sql) {
        try {
            return cluster.beneathValue(node, sql);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /** It has begun everywhere, is there where nothing holds it up, and waits where something does. */
    private void awaitHeld() {
        FaultCluster.await("node " + HELD + " builds", () -> count(HELD, HIDDEN) == 1);
        cluster.ids().filter(id -> id != HELD && cluster.cluster.isRunning(id))
                .forEach(id -> FaultCluster.await("node " + id + " has built", () -> count(id,
                        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tutti index'") == 0
                        && count(id, HIDDEN) == 1));
    }

    private void writeEverywhere(int times) throws SQLException {
        for (int id : cluster.ids().filter(cluster.cluster::isRunning).toArray()) {
            try (Connection writer = cluster.connect(id); Statement statement = writer.createStatement()) {
                for (int i = 0; i < times; i++) {
                    statement
                            .execute("INSERT INTO item (n, word) VALUES (" + (100_000 * (id + 1) + i) + ", 'written')");
                    statement.execute(
                            "UPDATE item SET word = 'changed " + id + "' WHERE n = " + (100_000 * (id + 1) + i));
                }
            }
        }
    }

    @Test
    void writersOfAllNodesGoOnWhileItIsBuilt() throws Exception {
        try (Connection client = patient(); Statement statement = client.createStatement()) {
            CompletableFuture<String> created = create(statement, CREATE);
            awaitHeld();
            writeEverywhere(20);
            refusesDuplicatesInItsName();
            cluster.awaitLevel();
            assertEquals(List.of(0L, 0L, 0L), cluster.ids().mapToObj(id -> count(id, VALID)).toList());
            assertTrue(!created.isDone(), "it waits for what the build waits for");
            old.rollback();
            assertNull(created.get(60, TimeUnit.SECONDS), "no node has built it in line");
            cluster.awaitLevel();
            assertEquals(List.of(1L, 1L, 1L), cluster.ids().mapToObj(id -> count(id, VALID)).toList());
            assertEquals(List.of(0L, 0L, 0L), cluster.ids().mapToObj(id -> count(id, HIDDEN)).toList());
            assertEquals("23505", create(statement, "INSERT INTO item (n) VALUES (1)").get());
            cluster.assertSame();
        }
    }

    /** As a server does, by whatever messages the duplicate comes. */
    private void refusesDuplicatesInItsName() throws SQLException {
        for (String mode : List.of("simple", "extended")) {
            try (Connection writer = DriverManager
                    .getConnection(cluster.node(0).jdbcUrl() + "&preferQueryMode=" + mode);
                    Statement statement = writer.createStatement()) {
                for (String sql : List.of("INSERT INTO item (n) VALUES (1)",
                        "UPDATE item SET n = 1 WHERE n = 2", "BEGIN; INSERT INTO item (n) VALUES (1); COMMIT",
                        "DO $$ BEGIN INSERT INTO item (n) VALUES (1); END $$")) {
                    PSQLException refused = assertThrows(PSQLException.class, () -> statement.execute(sql), sql);
                    ServerErrorMessage said = Objects.requireNonNull(refused.getServerErrorMessage());
                    assertEquals("duplicate key value violates unique constraint \"by_n\"", said.getMessage(), sql);
                    assertEquals("by_n", said.getConstraint(), sql);
                    statement.execute("ROLLBACK");
                }
            }
        }
    }

    @Test
    void oneWithoutANameIsBuiltTooAndHasItsNameEverywhere() throws Exception {
        String named = "SELECT count(*) FROM pg_index WHERE indrelid = 'item'::regclass AND indisvalid"
                + " AND indexrelid::regclass::text IN ('item_n_lower_idx', 'item_n_lower_idx1')";
        try (Connection client = patient();
                Statement statement = client.createStatement();
                Connection second = patient();
                Statement another = second.createStatement()) {
            String create = "CREATE INDEX CONCURRENTLY ON item (n, lower(word))";
            CompletableFuture<String> created = create(statement, create);
            awaitHeld();
            writeEverywhere(5);
            CompletableFuture<String> next = create(another, create);
            // the server that is held up builds one after the other
            cluster.ids().filter(id -> id != HELD)
                    .forEach(id -> FaultCluster.await("node " + id + " builds both", () -> count(id, HIDDEN) == 2));
            try (Connection younger = snapshot()) {
                old.rollback();
                assertNull(created.get(60, TimeUnit.SECONDS), "no node has built it in line");
                cluster.awaitLevel();
                writeEverywhere(5);
                assertTrue(!next.isDone(), "it waits for what the build waits for");
                younger.rollback();
            }
            assertNull(next.get(60, TimeUnit.SECONDS), "no node has built it in line");
            assertEquals("42703", create(statement, "CREATE INDEX CONCURRENTLY ON item (nothing)").get());
            assertEquals("42601", create(statement, "CREATE INDEX CONCURRENTLY IF NOT EXISTS ON item (n)").get());
        }
        cluster.awaitLevel();
        assertEquals(List.of(2L, 2L, 2L), cluster.ids().mapToObj(id -> count(id, named)).toList());
        assertEquals(List.of(0L, 0L, 0L), cluster.ids().mapToObj(id -> count(id, HIDDEN)).toList());
        cluster.assertSame();
    }

    @Test
    void whoeverCancelsItLeavesNothing() throws Exception {
        try (Connection client = patient(); Statement statement = client.createStatement()) {
            CompletableFuture<String> created = create(statement, CREATE);
            awaitHeld();
            statement.cancel();
            assertEquals("57014", created.get(60, TimeUnit.SECONDS));
            cluster.ids().forEach(id -> FaultCluster.await("none at node " + id, () -> count(id, HIDDEN) == 0));
            old.rollback();
            assertNull(create(statement, CREATE).get(60, TimeUnit.SECONDS));
            cluster.awaitLevel();
            assertEquals(List.of(1L, 1L, 1L), cluster.ids().mapToObj(id -> count(id, VALID)).toList());
        }
    }

    @Test
    void whatCannotBeAnIndexIsRefusedAsByPostgres() throws Exception {
        old.rollback();
        cluster.execute(0, "INSERT INTO item (n) VALUES (1)", "CREATE TABLE parts (n int) PARTITION BY RANGE (n)",
                "CREATE ROLE other LOGIN PASSWORD 'secret'");
        try (Connection client = patient(); Statement statement = client.createStatement()) {
            SQLException duplicate = assertThrows(SQLException.class, () -> statement.execute(CREATE));
            assertTrue(duplicate.getMessage().contains("could not create unique index \"by_n\""),
                    duplicate::getMessage);
            assertTrue(duplicate.getMessage().contains("Key (n)=(1) is duplicated"), duplicate::getMessage);
            assertEquals("22012", create(statement, "CREATE INDEX CONCURRENTLY x ON item ((1 / (n - 7)))").get());
            assertEquals("42703", create(statement, "CREATE INDEX CONCURRENTLY x ON item (nothing)").get());
            assertEquals("42P01", create(statement, "CREATE INDEX CONCURRENTLY x ON nothing (n)").get());
            assertEquals("0A000", create(statement, "CREATE INDEX CONCURRENTLY x ON parts (n)").get());
            assertEquals("42P07", create(statement, "CREATE INDEX CONCURRENTLY item_pkey ON item (n)").get());
            assertTrue(String
                    .valueOf(create(statement, "CREATE INDEX CONCURRENTLY IF NOT EXISTS item_pkey ON item (n)").get())
                    .contains("already exists"));
            assertEquals("25001", create(statement, "BEGIN; CREATE INDEX CONCURRENTLY x ON item (n); COMMIT").get());
            statement.execute("ROLLBACK");
            assertEquals("42501", create(statement, "SET ROLE other; CREATE INDEX x ON item (n)").get());
            statement.execute("SET ROLE other");
            assertEquals("42501", create(statement, "CREATE INDEX CONCURRENTLY x ON item (n)").get());
            statement.execute("RESET ROLE");
        }
        cluster.awaitLevel();
        cluster.ids().forEach(id -> FaultCluster.await("none at node " + id, () -> count(id, HIDDEN) == 0));
        assertEquals(List.of(1L, 1L, 1L), cluster.ids()
                .mapToObj(id -> count(id, "SELECT count(*) FROM pg_index WHERE indrelid = 'item'::regclass")).toList());
        cluster.assertSame();
    }

    @Test
    void aNodeThatIsKilledMeanwhileHasItLater() throws Exception {
        try (Connection client = patient(); Statement statement = client.createStatement()) {
            CompletableFuture<String> created = create(statement, CREATE);
            awaitHeld();
            cluster.cluster.kill(2);
            writeEverywhere(5);
            old.rollback();
            assertNull(created.get(60, TimeUnit.SECONDS), "nobody waits for a node that is gone");
            cluster.cluster.startNode(2);
            cluster.awaitLevel();
            assertEquals(List.of(1L, 1L, 1L), cluster.ids().mapToObj(id -> count(id, VALID)).toList());
            assertEquals(List.of(0L, 0L, 0L), cluster.ids().mapToObj(id -> count(id, HIDDEN)).toList());
            cluster.assertSame();
        }
    }

    @Test
    void whereTheClientsNodeIsKilledNothingIsLeftInTheWay() throws Exception {
        try (Connection client = patient(); Statement statement = client.createStatement()) {
            CompletableFuture<String> created = create(statement, CREATE);
            awaitHeld();
            cluster.cluster.kill(0);
            created.get(60, TimeUnit.SECONDS);
            // another schema change of the table has all nodes without it, however long the old snapshot lasts
            cluster.execute(2, "ALTER TABLE item ADD COLUMN more int");
            cluster.cluster.startNode(0);
            cluster.awaitLevel();
            cluster.ids().forEach(id -> FaultCluster.await("none at node " + id, () -> count(id, HIDDEN) == 0));
            cluster.assertSame();
        }
    }
}
