package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Two doctors are on duty, and one must stay: each transaction locks the row of their rota, counts who is there, and if that is two takes
 * one away, at nodes of their own. Neither changes what it has locked, and they change different rows.
 */
@Tag("long")
class RowLocksClusterTest {
    private static final List<String> STRENGTHS = List.of("UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE");
    /** Which do not conflict, as in PostgreSQL. */
    private static final Set<String> TOGETHER = Set.of("NO KEY UPDATE, KEY SHARE", "KEY SHARE, NO KEY UPDATE",
            "SHARE, SHARE", "SHARE, KEY SHARE", "KEY SHARE, SHARE", "KEY SHARE, KEY SHARE");

    @TempDir
    private static Path directory;
    /** Of two nodes under {@code si}, for all tests that need no other. */
    private static FaultCluster usual;

    @BeforeAll
    static void start() throws Exception {
        usual = start("si");
    }

    @AfterAll
    static void stop() {
        if (usual != null) {
            usual.close();
        }
    }

    private static void begin(Connection session, int doctor, String query) throws SQLException {
        session.setAutoCommit(false);
        try (PreparedStatement lock = session.prepareStatement(query)) {
            lock.setInt(1, 1);
            try (ResultSet rows = lock.executeQuery()) {
                assertEquals(2, rows.getMetaData().getColumnCount(), "what is told to the node is not shown");
                assertTrue(rows.next());
                assertEquals("night", rows.getString("name"));
            }
        }
        try (Statement statement = session.createStatement();
                ResultSet present = statement.executeQuery("SELECT count(*) FROM doctor WHERE present")) {
            assertTrue(present.next());
            if (present.getInt(1) == 2) {
                statement.execute("UPDATE doctor SET present = false WHERE id = " + doctor);
            }
        }
    }

    /** The SQLSTATE with which it fails; null if it commits. */
    private static @Nullable String commit(Connection session) throws SQLException {
        try {
            session.commit();
            return null;
        } catch (SQLException refused) {
            session.rollback();
            return refused.getSQLState();
        }
    }

    private static FaultCluster start(String protocol) throws Exception {
        FaultCluster cluster = FaultCluster.start(FaultCluster.spec(directory.resolve(protocol), 2, protocol));
        cluster.execute(0, "CREATE TABLE rota (id int PRIMARY KEY, name text)",
                "CREATE TABLE doctor (id int PRIMARY KEY, present boolean)", "INSERT INTO rota VALUES (1, 'night')",
                "INSERT INTO doctor VALUES (1, true), (2, true)");
        cluster.assertSame();
        return cluster;
    }

    private static void again(FaultCluster cluster) throws Exception {
        cluster.execute(0, "UPDATE doctor SET present = true");
        assertSameRows(cluster);
    }

    /** Waits as {@link FaultCluster#assertSame} does, and compares the rows alone: definitions do not change from one pair to the next. */
    private static void assertSameRows(FaultCluster cluster) throws SQLException {
        cluster.awaitLevel();
        assertEquals(rows(cluster, 0), rows(cluster, 1));
    }

    private static String rows(FaultCluster cluster, int node) throws SQLException {
        try (Connection beneath = cluster.beneath(node);
                Statement statement = beneath.createStatement();
                ResultSet rows = statement.executeQuery("SELECT string_agg(line, ' ' ORDER BY line) FROM"
                        + " (SELECT r::text FROM rota r UNION ALL SELECT d::text FROM doctor d) AS all_rows (line)")) {
            assertTrue(rows.next());
            return rows.getString(1);
        }
    }

    private static String query(String strength) {
        return "SELECT name, id FROM rota WHERE id = ? FOR " + strength;
    }

    @Test
    void ofTwoThatLockTheSameRowAtTwoNodesOneCommitsIfTheirLocksConflict() throws Exception {
        FaultCluster cluster = usual;
        try (Connection one = cluster.connect(0); Connection other = cluster.connect(1)) {
            for (String first : STRENGTHS) {
                for (String second : STRENGTHS) {
                    for (boolean applied : List.of(false, true)) {
                        again(cluster);
                        begin(one, 1, query(first));
                        begin(other, 2, query(second));
                        assertNull(commit(one));
                        if (applied) {
                            assertSameRows(cluster);
                        }
                        String pair = first + ", " + second;
                        assertEquals(TOGETHER.contains(pair) ? null : "40001", commit(other),
                                pair + (applied ? ", applied before" : ""));
                    }
                }
            }
            cluster.assertSame();
        }
    }

    /** Who has changed the row has locked it for all others. */
    @Test
    void ofTwoOneOfWhichChangesWhatTheOtherLocksOneCommits() throws Exception {
        FaultCluster cluster = usual;
        try (Connection one = cluster.connect(0); Connection other = cluster.connect(1)) {
            String change = "UPDATE rota SET name = name WHERE id = ? RETURNING name, id";
            for (String strength : List.of("UPDATE", "NO KEY UPDATE")) {
                for (boolean changedFirst : List.of(false, true)) {
                    for (boolean applied : List.of(false, true)) {
                        again(cluster);
                        begin(one, 1, changedFirst ? change : query(strength));
                        begin(other, 2, changedFirst ? query(strength) : change);
                        assertNull(commit(one));
                        if (applied) {
                            assertSameRows(cluster);
                        }
                        assertEquals("40001", commit(other), strength + (changedFirst ? ", changed first" : "")
                                + (applied ? ", applied before" : ""));
                    }
                }
            }
            cluster.assertSame();
        }
    }

    @Test
    void advisoryLocksOfTransactionsKeepOutOtherNodesIfAsked() throws Exception {
        FaultCluster cluster = usual;
        try (Connection one = cluster.connect(0); Connection other = cluster.connect(1)) {
            List<String> exclusive = List.of("SELECT 'night' AS name, pg_advisory_xact_lock(4000000000000 + ?)",
                    "SELECT 'night' AS name, pg_try_advisory_xact_lock(4000000000000 + ?)");
            String shared = "SELECT 'night' AS name, pg_advisory_xact_lock_shared(4000000000000 + ?)";
            String two = "SELECT 'night' AS name, pg_advisory_xact_lock(?, 7)";
            cluster.execute(0, "CREATE FUNCTION hidden(n int) RETURNS void LANGUAGE plpgsql AS"
                    + " 'BEGIN PERFORM pg_advisory_xact_lock(4000000000000 + n); END'");
            cluster.assertSame();
            String hidden = "SELECT 'night' AS name, hidden(?)";
            again(cluster);
            assertNull(both(cluster, one, other, exclusive.getFirst(), exclusive.getFirst()),
                    "a node's own by default");
            for (Connection session : List.of(one, other)) {
                session.setAutoCommit(true);
                try (Statement statement = session.createStatement()) {
                    statement.execute("SET tutti.advisory_locks = cluster");
                    assertEquals("0A000", assertThrows(SQLException.class,
                            () -> statement.execute("SELECT pg_advisory_lock(1)")).getSQLState());
                }
            }
            for (String first : exclusive) {
                assertEquals("40001", both(cluster, one, other, first, shared));
                assertEquals("40001", both(cluster, one, other, shared, first));
                assertEquals("40001", both(cluster, one, other, first, hidden));
                assertNull(both(cluster, one, other, first, two));
            }
            assertEquals("40001", both(cluster, one, other, two, two));
            assertNull(both(cluster, one, other, shared, shared));
            cluster.execute(0, "GRANT ALL ON ALL TABLES IN SCHEMA public TO pg_monitor");
            cluster.assertSame();
            try (Statement statement = one.createStatement()) {
                statement.execute("SET ROLE pg_monitor");
                one.commit();
            }
            for (String outliving : List.of("pg_advisory_lock(-5)", "pg_advisory_lock_shared(6000000000)",
                    "pg_advisory_lock(-1, 7)", "pg_try_advisory_lock_shared(1, -7)")) {
                cluster.execute(0, "CREATE OR REPLACE FUNCTION outlives(n int) RETURNS void LANGUAGE plpgsql AS"
                        + " 'BEGIN PERFORM " + outliving + "; PERFORM pg_advisory_xact_lock(3); END'");
                again(cluster);
                begin(one, 1, "SELECT 'night' AS name, outlives(?)");
                assertEquals("0A000", commit(one), outliving);
                assertNull(both(cluster, one, other, exclusive.getFirst(), two), "what outlived is given up");
            }
            cluster.assertSame();
        }
    }

    private static @Nullable String both(FaultCluster cluster, Connection one, Connection other, String first,
            String second) throws Exception {
        again(cluster);
        begin(one, 1, first);
        begin(other, 2, second);
        assertNull(commit(one));
        assertSameRows(cluster);
        return commit(other);
    }

    @ParameterizedTest
    @ValueSource(strings = {"dbsm", "postgres-r", "2pc"})
    void soItIsUnderOtherProtocols(String protocol) throws Exception {
        try (FaultCluster cluster = start(protocol);
                Connection one = cluster.connect(0);
                Connection other = cluster.connect(1)) {
            for (String strength : List.of("UPDATE", "NO KEY UPDATE", "SHARE")) {
                for (boolean applied : List.of(false, true)) {
                    again(cluster);
                    begin(one, 1, query(strength));
                    begin(other, 2, query("UPDATE"));
                    assertNull(commit(one));
                    if (applied) {
                        assertSameRows(cluster);
                    }
                    assertEquals("40001", commit(other), strength + (applied ? ", applied before" : ""));
                }
            }
            cluster.assertSame();
        }
    }
}
