package tutti.engine.postgres.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract.Result;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.TestServer;
import tutti.pgwire.BackendConnection;

/** Nodes draw from shares of a sequence that never meet, and show it as it was declared. */
class SequenceSharesTest {
    /** Databases that get the same positions. */
    private static final class Nodes implements AutoCloseable {
        private final List<String> databases = new ArrayList<>();
        private final List<PostgresEngine> engines = new ArrayList<>();
        private final List<Applier> appliers = new ArrayList<>();
        private final List<LocalSession> sessions = new ArrayList<>();
        private long position;

        Nodes(int count, String... schema) throws Exception {
            for (int node = 0; node < count; node++) {
                databases.add(TestServer.database(schema));
                start(node);
            }
        }

        private void start(int node) throws Exception {
            PostgresEngine engine = PostgresEngine.open(TestServer.loops(), TestServer.reach(databases.get(node)),
                    TestServer.settings(node));
            engines.add(node, engine);
            appliers.add(node, engine.openApplier());
            sessions.add(node, new LocalSession(databases.get(node)));
        }

        private void stop(int node) throws SQLException {
            sessions.remove(node).close();
            appliers.remove(node).close();
            engines.remove(node).close();
        }

        /** The node begins another life. */
        void restart(int node) throws Exception {
            stop(node);
            start(node);
        }

        /** As after a crash of its server, which empties tables that are not logged. */
        void crash(int node) throws Exception {
            execute(node, "TRUNCATE tutti.shares");
            restart(node);
        }

        void execute(int node, String sql) throws Exception {
            BackendConnection admin = TestServer.connect(databases.get(node));
            TestServer.execute(admin, sql);
            admin.close();
        }

        /** All execute a schema change that this node's client has sent. */
        void schema(int node, String sql) throws Exception {
            Map<String, String> settings = new TreeMap<>(Map.of("search_path", "public"));
            settings.put(CaptureInstaller.Functions.ORIGIN, engines.get(node).functions().life());
            everywhere(new Statement(sql, TestServer.USER, settings));
        }

        private void everywhere(Statement statement) throws Exception {
            position++;
            for (Applier applier : appliers) {
                Result<ExecuteResult> done = new Result<>();
                applier.execute(position, statement.toBytes(), done);
                ExecuteResult result = done.success();
                assertTrue(result.tookEffect(), () -> String.valueOf(result.refusal()));
            }
        }

        /** Gets what this node wants because of an error, or ahead of time. */
        List<SequenceName> supply(int node, @Nullable String error) throws Exception {
            List<SequenceName> wanted = engines.get(node).wantedSequences(error).get(20, TimeUnit.SECONDS);
            if (!wanted.isEmpty()) {
                everywhere(Statement.grant(wanted, engines.get(node).functions().life()));
            }
            return wanted;
        }

        /** Commits at this node, and applies it at the others. */
        void commit(int node, String... statements) throws Exception {
            WriteSet writes = sessions.get(node).commit(statements);
            position++;
            for (int other = 0; other < appliers.size(); other++) {
                if (other != node) {
                    Result<Void> applied = new Result<>();
                    appliers.get(other).apply(position, List.of(writes), applied);
                    applied.success();
                    Result<Void> committed = new Result<>();
                    appliers.get(other).commit(position, committed);
                    committed.success();
                }
            }
        }

        /** Draws, and gets more if there is nothing left, as a session does. */
        long draw(int node, String sequence) throws Exception {
            while (true) {
                try {
                    long value = Long.parseLong(ask(node, "SELECT nextval('" + sequence + "')"));
                    sessions.get(node).connection().commit();
                    return value;
                } catch (SQLException spent) {
                    assertEquals("2200H", spent.getSQLState());
                    sessions.get(node).connection().rollback();
                    List<SequenceName> wanted = supply(node, String.valueOf(spent.getMessage()));
                    if (wanted.isEmpty()) {
                        throw spent;
                    }
                }
            }
        }

        String ask(int node, String sql) throws SQLException {
            var connection = sessions.get(node).connection();
            try (var statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
                StringBuilder all = new StringBuilder();
                while (rows.next()) {
                    for (int column = 1; column <= rows.getMetaData().getColumnCount(); column++) {
                        all.append(all.isEmpty() ? "" : " ").append(rows.getString(column));
                    }
                }
                return all.toString();
            }
        }

        @Override
        public void close() throws SQLException {
            while (!engines.isEmpty()) {
                stop(0);
            }
        }
    }

    private static final long SHARE = 262_144;

    @Test
    @Tag("long")
    void valuesAreDenseWhereOneNodeDrawsAndNeverTheSame() throws Exception {
        try (Nodes nodes = new Nodes(3, "CREATE SEQUENCE before")) {
            nodes.schema(1, "CREATE TABLE t (id serial PRIMARY KEY, i int GENERATED ALWAYS AS IDENTITY)");
            for (long value = 1; value <= 40; value++) {
                assertEquals(value, nodes.draw(1, "t_id_seq"), "the one that has made it begins at 1");
            }
            assertEquals(SHARE + 1, nodes.draw(0, "t_id_seq"));
            assertEquals(SHARE + 1, nodes.draw(2, "t_i_seq"), "of another sequence");
            assertEquals(SHARE + 2, nodes.draw(0, "t_id_seq"));
            assertEquals(41, nodes.draw(1, "t_id_seq"));
            assertEquals(1, nodes.draw(0, "before"));
            assertEquals("1 " + Integer.MAX_VALUE + " 1 NO " + Integer.MAX_VALUE,
                    nodes.ask(1, "SELECT q.seqmin, q.seqmax,"
                            + " s.increment, s.cycle_option, p.max_value FROM pg_sequence q, information_schema.sequences s, pg_sequences p"
                            + " WHERE seqrelid = 't_id_seq'::regclass AND s.sequence_name = 't_id_seq' AND p.sequencename = 't_id_seq'"));
            assertEquals(List.of(), nodes.supply(1, null), "it would leave a gap");
            assertEquals(List.of(), nodes.supply(0, null), "most of its share is left");
            nodes.ask(0, "SELECT count(nextval('t_id_seq')) FROM generate_series(1, " + SHARE / 4 + ")");
            nodes.sessions.get(0).connection().commit();
            assertTrue(nodes.supply(0, null).contains(new SequenceName("public", "t_id_seq", 1)));
            assertEquals(SHARE + SHARE / 4 + 3, nodes.draw(0, "t_id_seq"));
            nodes.ask(1, "SELECT count(nextval('t_id_seq')) FROM generate_series(1, " + (SHARE - 41) + ")");
            nodes.sessions.get(1).connection().commit();
            assertEquals(3 * SHARE + 1, nodes.draw(1, "t_id_seq"), "the next share");
        }
    }

    @Test
    void whatALostLifeHasDrawnIsNotDrawnAgain() throws Exception {
        try (Nodes nodes = new Nodes(2)) {
            nodes.schema(0, "CREATE SEQUENCE s AS bigint INCREMENT BY -3 MAXVALUE -1");
            TreeSet<Long> all = new TreeSet<>();
            for (int round = 0; round < 4; round++) {
                assertTrue(all.add(nodes.draw(0, "s")), "of node 0 in round " + round);
                assertTrue(all.add(nodes.draw(1, "s")), "of node 1 in round " + round);
                if (round == 1) {
                    nodes.restart(0);
                    assertEquals(-7, nodes.draw(0, "s"), "nothing is lost if nothing has crashed");
                    nodes.crash(0);
                }
            }
            assertTrue(all.stream().allMatch(value -> (value + 1) % 3 == 0), all.toString());
        }
    }

    @Test
    void aGrantThatACrashHasLostIsRepeatedForNobody() throws Exception {
        try (Nodes nodes = new Nodes(1)) {
            nodes.schema(0, "CREATE SEQUENCE s MAXVALUE 2048");
            nodes.ask(0, "SELECT set_config('restrict_nonsystem_relation_kind', 'view, foreign-table', false)");
            assertEquals("2048", nodes.ask(0, "SELECT seqmax FROM pg_sequence WHERE seqrelid = 's'::regclass"),
                    "as pg_dump asks");
            nodes.ask(0, "SELECT count(nextval('s')) FROM generate_series(1, 32)");
            Statement granted = Statement.grant(List.of(new SequenceName("public", "s", 1)),
                    nodes.engines.getFirst().functions().life());
            nodes.everywhere(granted);
            assertEquals(33, nodes.draw(0, "s"));
            nodes.execute(0, "UPDATE tutti.sequences SET free = 33, own = 32; SELECT setval_here('s', 32);"
                    + " UPDATE pg_sequence_here SET seqmax = 32 WHERE seqrelid = 's'::regclass");
            nodes.crash(0);
            nodes.everywhere(granted);
            assertEquals(65, nodes.draw(0, "s"));
        }
    }

    @Test
    @Tag("long")
    void smallSequencesAreUsedUpAndCycle() throws Exception {
        try (Nodes nodes = new Nodes(1)) {
            nodes.schema(0, "CREATE SEQUENCE three MAXVALUE 3");
            nodes.schema(0, "CREATE SEQUENCE round MINVALUE 2 MAXVALUE 3 START 3 CYCLE");
            for (int value = 1; value <= 3; value++) {
                assertEquals(value, nodes.draw(0, "three"));
            }
            assertThrows(SQLException.class, () -> nodes.draw(0, "three"));
            nodes.sessions.getFirst().connection().rollback();
            for (int value : new int[]{3, 2, 3, 2}) {
                assertEquals(value, nodes.draw(0, "round"));
            }
        }
    }

    private static void rollBack(LocalSession session) {
        try {
            session.connection().rollback();
        } catch (SQLException lost) {
            throw new IllegalStateException(lost);
        }
    }

    @Test
    void setvalTruncateAndAlterHoldEverywhere() throws Exception {
        try (Nodes nodes = new Nodes(2)) {
            nodes.schema(0, "CREATE TABLE t (id serial PRIMARY KEY)");
            nodes.commit(0, "INSERT INTO t VALUES (DEFAULT), (DEFAULT)");
            assertEquals(SHARE + 1, nodes.draw(1, "t_id_seq"));
            LocalSession session = nodes.sessions.get(1);
            session.execute("SELECT setval('t_id_seq', 500)");
            assertEquals("501 501", nodes.ask(1, "SELECT nextval('t_id_seq'), currval('t_id_seq')"));
            session.connection().rollback();
            assertEquals(SHARE + 2, nodes.draw(1, "t_id_seq"), "undone");
            nodes.commit(1, "DO $$ BEGIN PERFORM setval('t_id_seq', (SELECT max(id) FROM t)); END $$");
            assertEquals(3, nodes.draw(1, "t_id_seq"));
            assertEquals(SHARE + 3, nodes.draw(0, "t_id_seq"), "what it had is void");
            nodes.commit(0, "TRUNCATE t RESTART IDENTITY");
            String dumped = "SELECT last_value, is_called FROM pg_get_sequence_data('t_id_seq')";
            assertEquals("1 f", nodes.ask(0, dumped));
            assertEquals(SHARE + " t", nodes.ask(1, dumped), "beyond what others may have drawn");
            nodes.sessions.forEach(SequenceSharesTest::rollBack);
            assertEquals(1, nodes.draw(0, "t_id_seq"));
            assertEquals(SHARE + 1, nodes.draw(1, "t_id_seq"));
            nodes.schema(1, "ALTER SEQUENCE t_id_seq RESTART WITH 70");
            assertEquals(70, nodes.draw(1, "t_id_seq"));
            nodes.schema(0, "ALTER SEQUENCE t_id_seq INCREMENT BY 10 OWNED BY NONE");
            assertEquals(80, nodes.draw(1, "t_id_seq"));
            nodes.schema(0, "CREATE SEQUENCE idle");
            nodes.schema(1, "ALTER SEQUENCE idle MAXVALUE 100");
            nodes.schema(1, "ALTER SEQUENCE idle RENAME TO other");
            assertEquals(1, nodes.draw(0, "other"), "nothing had been drawn");
            nodes.schema(1, "ALTER SEQUENCE other INCREMENT BY -1 MINVALUE -100 MAXVALUE 200");
            assertTrue(nodes.draw(1, "other") != nodes.draw(0, "other"));
        }
    }

    @Test
    void aSequenceThatIsAlteredTakesNothingFromAnotherOfItsTable() throws Exception {
        try (Nodes nodes = new Nodes(1)) {
            nodes.schema(0, "CREATE TABLE two (a serial, b serial, \"c-\" serial)");
            assertEquals("1 1 1",
                    nodes.ask(0, "SELECT nextval('two_a_seq'), nextval('two_b_seq'), nextval('\"two_c-_seq\"')"));
            nodes.sessions.get(0).connection().commit();
            nodes.schema(0, "ALTER SEQUENCE two_a_seq RESTART");
            nodes.schema(0, "ALTER SEQUENCE \"two_c-_seq\" RESTART WITH 7");
            nodes.schema(0, "ALTER SEQUENCE two_b_seq RESTART WITH 5");
            assertEquals("1 5 7",
                    nodes.ask(0, "SELECT nextval('two_a_seq'), nextval('two_b_seq'), nextval('\"two_c-_seq\"')"));
        }
    }

    @Test
    void theTypeOfAnotherColumnLeavesItsFirstValue() throws Exception {
        try (Nodes nodes = new Nodes(1)) {
            nodes.schema(0,
                    "CREATE TABLE t (id serial, \"An id\" int GENERATED ALWAYS AS IDENTITY, other int GENERATED ALWAYS AS IDENTITY, n int)");
            nodes.schema(0, "ALTER TABLE t ALTER n TYPE numeric");
            nodes.schema(0, "ALTER TABLE t ALTER \"An id\" TYPE bigint, ALTER id SET DATA TYPE bigint");
            assertEquals("bigint integer",
                    nodes.ask(0, "SELECT (SELECT seqtypid::regtype FROM pg_sequence WHERE seqrelid"
                            + " = '\"t_An id_seq\"'::regclass), (SELECT seqtypid::regtype FROM pg_sequence WHERE seqrelid = 't_id_seq'::regclass)"));
            assertEquals("1 1 1",
                    nodes.ask(0, "SELECT nextval('t_id_seq'), nextval('\"t_An id_seq\"'), nextval('t_other_seq')"));
            nodes.sessions.get(0).connection().commit();
            nodes.schema(0, "ALTER TABLE t ALTER \"An id\" TYPE smallint");
            assertEquals(2, nodes.draw(0, "\"t_An id_seq\""));
        }
    }

    @Test
    @Tag("long")
    void whoMayNotChangeASequenceCannotSetIt() throws Exception {
        try (Nodes nodes = new Nodes(1, "CREATE SEQUENCE s",
                "DO $$ BEGIN CREATE ROLE nobody_special; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
                "GRANT USAGE ON SEQUENCE s TO nobody_special")) {
            LocalSession session = nodes.sessions.getFirst();
            for (String attempt : List.of("SELECT setval('s', 9)",
                    "INSERT INTO tutti.restarts VALUES ('s'::regclass, 9, true, 'postgres')",
                    "INSERT INTO tutti.restarts (sequence, last, called) VALUES ('s'::regclass, 9, true)")) {
                session.execute("SET ROLE nobody_special");
                assertEquals("42501", assertThrows(SQLException.class, () -> session.execute(attempt)).getSQLState(),
                        attempt);
                session.connection().rollback();
            }
            assertEquals("22003",
                    assertThrows(SQLException.class, () -> session.execute("SELECT setval('s', 0)")).getSQLState());
            session.connection().rollback();
            assertEquals(1, nodes.draw(0, "s"));
        }
    }
}
