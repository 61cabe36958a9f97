package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;
import org.postgresql.largeobject.LargeObject;
import org.postgresql.largeobject.LargeObjectManager;

/** Tables are loaded, by more than is said again, while other connections of the same node change the schema, as {@code pg_restore -j} does. */
@Tag("long")
class LoadsClusterTest {
    private static final byte[] LINE = ("x".repeat(1000) + '\n').getBytes(StandardCharsets.UTF_8);
    private static final int LINES = 400;

    @TempDir
    private Path directory;
    private FaultCluster cluster;

    @BeforeEach
    void start() throws Exception {
        cluster = FaultCluster.start(directory, 2);
        cluster.execute(0, "CREATE TABLE one (line text)", "CREATE TABLE other (line text)");
        cluster.awaitLevel();
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private Connection connect() throws SQLException {
        return DriverManager.getConnection(cluster.node(0).jdbcUrl() + "&socketTimeout=120");
    }

    private CompletableFuture<Void> execute(Connection by, String sql) {
        return CompletableFuture.runAsync(() -> {
            try {
                by.createStatement().execute(sql);
            } catch (SQLException failed) {
                throw new IllegalStateException(failed);
            }
        }, task -> Thread.ofVirtual().start(task));
    }

    /** Empties a table and begins to copy into it, in a transaction. */
    private static CopyIn begin(Connection by, String table) throws SQLException {
        by.setAutoCommit(false);
        by.createStatement().execute("TRUNCATE TABLE ONLY " + table);
        return by.unwrap(PGConnection.class).getCopyAPI().copyIn("COPY " + table + " FROM STDIN");
    }

    private static void write(CopyIn to, int lines) throws SQLException {
        for (int i = 0; i < lines; i++) {
            to.writeToCopy(LINE, 0, LINE.length);
        }
        to.flushCopy();
    }

    private static void assertWaits(CompletableFuture<?> statement, CopyIn meanwhile) throws SQLException {
        for (int i = 0; i < 3; i++) {
            assertWaits(statement);
            write(meanwhile, 1);
        }
    }

    private static void assertWaits(CompletableFuture<?> statement) {
        assertThrows(TimeoutException.class, () -> statement.get(300, TimeUnit.MILLISECONDS));
    }

    private static void write(LargeObject to, int lines) throws SQLException {
        for (int i = 0; i < lines; i++) {
            to.write(LINE);
        }
    }

    @Test
    void schemaChangesAndLoadsComeOneAfterTheOther() throws Exception {
        try (Connection first = connect(); Connection change = connect(); Connection second = connect()) {
            CopyIn copy = begin(first, "one");
            write(copy, LINES);
            CompletableFuture<Void> index = execute(change, "CREATE INDEX ON other (line)");
            assertWaits(index, copy);
            CompletableFuture<CopyIn> next = new CompletableFuture<>();
            Thread.ofVirtual().start(() -> {
                try {
                    next.complete(begin(second, "other"));
                } catch (SQLException failed) {
                    next.completeExceptionally(failed);
                }
            });
            assertWaits(index, copy);
            copy.endCopy();
            first.commit();
            index.get(60, TimeUnit.SECONDS);
            CopyIn behind = next.get(60, TimeUnit.SECONDS);
            write(behind, LINES);
            behind.endCopy();
            second.commit();
        }
        cluster.awaitLevel();
        assertEquals(LINES + 6L, cluster.beneathValue(1, "SELECT count(*) FROM one"));
        assertEquals((long) LINES, cluster.beneathValue(1, "SELECT count(*) FROM other"));
    }

    /** Which libraries write by calls of functions, more than is said again; and which looked for these functions before, by what may have been a write for all that the node knows. */
    @Test
    void largeObjectsAreLoaded() throws Exception {
        try (Connection first = connect(); Connection change = connect(); Connection second = connect()) {
            first.setAutoCommit(false);
            second.setAutoCommit(false);
            LargeObjectManager objects = first.unwrap(PGConnection.class).getLargeObjectAPI();
            long one = objects.createLO();
            long other = objects.createLO();
            first.commit();
            LargeObject written = objects.open(one, LargeObjectManager.WRITE);
            CompletableFuture<Void> index = execute(change, "CREATE INDEX ON other (line)");
            for (int i = 0; i < 3; i++) {
                assertWaits(index);
                write(written, 1);
            }
            second.createStatement().execute("INSERT INTO one VALUES ('second')");
            CompletableFuture<Void> next = CompletableFuture.runAsync(() -> {
                try {
                    LargeObject waits = second.unwrap(PGConnection.class).getLargeObjectAPI().open(other,
                            LargeObjectManager.WRITE);
                    write(waits, LINES);
                    waits.close();
                    second.commit();
                } catch (SQLException failed) {
                    throw new IllegalStateException(failed);
                }
            }, task -> Thread.ofVirtual().start(task));
            for (int i = 0; i < 3; i++) {
                assertWaits(next);
                write(written, LINES);
            }
            assertFalse(index.isDone());
            written.close();
            first.commit();
            index.get(60, TimeUnit.SECONDS);
            next.get(60, TimeUnit.SECONDS);
        }
        cluster.awaitLevel();
        assertEquals((4L * LINES + 3) * LINE.length, cluster.beneathValue(1,
                "SELECT sum(length(lo_get(oid)))::bigint FROM pg_largeobject_metadata"));
        assertEquals(1L, cluster.beneathValue(1, "SELECT count(*) FROM one"));
    }

    @Test
    void aLoadThatWaitsCanBeCancelled() throws Exception {
        try (Connection first = connect(); Connection change = connect(); Connection second = connect()) {
            CopyIn copy = begin(first, "one");
            write(copy, LINES);
            CompletableFuture<Void> index = execute(change, "CREATE INDEX ON other (line)");
            assertWaits(index, copy);
            PGConnection waiting = second.unwrap(PGConnection.class);
            CompletableFuture<String> refused = new CompletableFuture<>();
            Thread.ofVirtual().start(() -> refused.complete(assertThrows(SQLException.class,
                    () -> waiting.getCopyAPI().copyIn("COPY other FROM STDIN")).getSQLState()));
            assertWaits(index, copy);
            waiting.cancelQuery();
            assertEquals("57014", refused.get(20, TimeUnit.SECONDS));
            assertWaits(index, copy);
            copy.endCopy();
            first.commit();
            index.get(20, TimeUnit.SECONDS);
            CopyIn again = waiting.getCopyAPI().copyIn("COPY other FROM STDIN");
            write(again, LINES);
            again.endCopy();
        }
        assertEquals((long) LINES, cluster.beneathValue(0, "SELECT count(*) FROM other"));
    }

    /** As before: what is not heard of is not waited for. */
    @Test
    void aLoadThatSaysNothingLoses() throws Exception {
        try (Connection load = connect(); Connection change = connect()) {
            CopyIn copy = begin(load, "one");
            write(copy, LINES);
            execute(change, "CREATE TABLE third (id int PRIMARY KEY)").get(30, TimeUnit.SECONDS);
            assertEquals("40001", assertThrows(SQLException.class, () -> {
                copy.endCopy();
                load.commit();
            }).getSQLState());
        }
    }

    /** A transaction that holds a table for itself, which the node has to look at after a schema change, gives way. */
    @Test
    void whoKeepsATableHoldsNoSchemaChangeUp() throws Exception {
        for (String change : List.of("CREATE TABLE third (id int PRIMARY KEY)",
                "BEGIN; CREATE TABLE fourth (id int PRIMARY KEY); COMMIT")) {
            for (int node = 0; node < 2; node++) {
                try (Connection keeper = connect()) {
                    keeper.setAutoCommit(false);
                    keeper.createStatement().execute("TRUNCATE one");
                    cluster.execute(node, change.replace(" (id", node + " (id"), "INSERT INTO other VALUES ('x')");
                    cluster.awaitLevel();
                }
            }
        }
        assertEquals(4,
                cluster.beneathValue(0, "SELECT count(*) FROM pg_class WHERE relname ~ '^(third|fourth)[01]$'"));
    }
}
