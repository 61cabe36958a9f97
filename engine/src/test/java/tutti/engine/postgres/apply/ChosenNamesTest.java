package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.CaptureReader;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.catalog.TableCatalog;

/** The server passes over names that other transactions have not committed; all nodes have the same ones nevertheless. */
@Timeout(60)
class ChosenNamesTest {
    private static final String NAMES = "SELECT relname, coalesce(pg_get_indexdef(oid), relkind::text) FROM pg_class"
            + " WHERE relnamespace = 'public'::regnamespace UNION ALL SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
            + " WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2";

    private static final String WAITS = "SELECT count(*) FROM pg_locks WHERE relation = 'tutti.naming'::regclass AND NOT granted";

    private static Statement statement(int place, String sql) {
        return new Statement(place, sql, TestServer.USER, Map.of("search_path", "public"));
    }

    private static String allow(Statement statement) {
        return "SELECT tutti.allow_statement('\\x"
                + HexFormat.of().formatHex(TestServer.CLUSTER_SECRET.getBytes(StandardCharsets.UTF_8))
                + "', '" + statement.toText().replace("'", "''") + "')";
    }

    private static void change(LocalSession session, String... statements) throws SQLException {
        int place = 0;
        for (String sql : statements) {
            session.execute(allow(statement(place++, sql)), sql);
        }
    }

    /** Commits schema changes at one node, and makes them at the other. */
    private static void commit(Pair pair, LocalSession session, TableCatalog before, int changes) throws Exception {
        byte[] gathered = session.gather();
        assertNotNull(gathered);
        session.connection().commit();
        TableCatalog[] inside = new TableCatalog[changes + 1];
        Arrays.fill(inside, LocalSession.catalog(pair.one));
        List<@Nullable TableCatalog> catalogs = new ArrayList<>(Arrays.asList(inside));
        WriteSet writes = CaptureReader.read(before, catalogs, gathered).writes();
        pair.apply(List.of(writes));
    }

    private static void assertSame(Pair pair) throws Exception {
        assertEquals(Pair.rows(pair.one, NAMES), Pair.rows(pair.other, NAMES));
    }

    @Test
    void aNameChosenBesideATransactionThatIsRolledBackIsToldToOthers() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, n int, m int)", "CREATE TABLE u (b int UNIQUE)",
                "CREATE INDEX t_m_idx1 ON t (m)"); LocalSession beside = new LocalSession(pair.one)) {
            TableCatalog before = LocalSession.catalog(pair.one);
            change(beside, "CREATE INDEX ON t (n)", "CREATE SEQUENCE x_a_seq", "CREATE INDEX x_b_key ON u (b)");
            String[] mine = {"CREATE INDEX ON t (n) WHERE id > 5", "CREATE INDEX ON t (n)", "CREATE INDEX ON t (m)",
                    "CREATE TABLE x (a serial PRIMARY KEY, b int UNIQUE, c int GENERATED ALWAYS AS IDENTITY)",
                    "CREATE INDEX \"explicit_idx7\" ON t (m)"};
            change(pair.session, mine);
            beside.connection().rollback();
            commit(pair, pair.session, before, mine.length);
            assertEquals("[[t_n_idx1], [t_n_idx2], [x_a_seq1], [x_b_key1]]",
                    Pair.rows(pair.other, "SELECT relname FROM pg_class WHERE relname ~ '^(t_n|x_a|x_b)_' ORDER BY 1")
                            .toString());
            assertSame(pair);
            pair.transaction("INSERT INTO x (b) VALUES (1), (2)", "INSERT INTO t VALUES (1, 1)");
            pair.assertEqual("x", "t");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void atAPositionNamesAreChosenAsIfNobodyElseWereThere(boolean ordered) throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, n int)");
                LocalSession local = new LocalSession(pair.other)) {
            TableCatalog before = LocalSession.catalog(pair.one);
            change(local, "CREATE INDEX ON t (n)", "CREATE SEQUENCE x_a_seq");
            // which a node would have give way
            CompletableFuture<Void> ends = CompletableFuture.runAsync(() -> {
                try {
                    while (Pair.rows(pair.other, WAITS).equals(List.of(List.of("0")))) {
                        Thread.onSpinWait();
                    }
                    local.connection().rollback();
                } catch (Exception failed) {
                    throw new AssertionError(failed);
                }
            }, task -> Thread.ofVirtual().start(task));
            String[] made = {"CREATE INDEX ON t (n) WHERE id > 5", "CREATE TABLE x (a serial)"};
            if (ordered) {
                assertEquals("CREATE INDEX", pair.execute(statement(0, made[0])));
                assertEquals("CREATE TABLE", pair.execute(statement(0, made[1])));
            } else {
                change(pair.session, made);
                commit(pair, pair.session, before, made.length);
                assertSame(pair);
            }
            ends.get();
            assertEquals("[[t_n_idx], [x_a_seq]]",
                    Pair.rows(pair.other, "SELECT relname FROM pg_class WHERE relname ~ '^(t_n|x_a)_' ORDER BY 1")
                            .toString());
        }
    }

    @Test
    void clientsThatChooseNoSuchNameGoOnBesideASchemaChange() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, n int)", "CREATE INDEX ON t (n)");
                LocalSession local = new LocalSession(pair.other)) {
            change(local, "CREATE TABLE mine (id int)");
            assertEquals("CREATE INDEX", pair.execute(statement(0, "CREATE INDEX ON t (n)")));
            assertEquals("CREATE TABLE", pair.execute(statement(0, "CREATE TABLE x (a serial PRIMARY KEY)")));
            local.execute("SELECT 1 FROM mine");
            assertEquals("[[0]]", Pair.rows(pair.other, WAITS).toString());
        }
    }
}
