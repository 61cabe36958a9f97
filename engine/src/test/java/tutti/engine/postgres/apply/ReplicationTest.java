package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.BlockedListener;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.Outcome;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract.Result;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.CaptureException;
import tutti.engine.postgres.capture.CaptureReader;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Fields;
import tutti.pgwire.QueryResult;

/** What was captured at one replica makes another one equal to it. */
class ReplicationTest {
    @Test
    void allKindsOfValuesArriveAsTheyAre() throws Exception {
        try (Pair pair = new Pair("CREATE TYPE mood AS ENUM ('sad', 'so \"so\"', 'happy')",
                "CREATE TYPE pair AS (a int, b text)", "CREATE DOMAIN positive AS numeric CHECK (VALUE > 0)",
                """
                        CREATE TABLE "Odd ""Name" (
                          "Id" int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n numeric, t text, b bytea, a int[], ta text[],
                          m mood, ma mood[], p pair, pa pair[], d positive, j json, jb jsonb, tz timestamptz, iv interval,
                          f8 float8, f4 float4, ch char(5), bo bool, u uuid, r int4range, i inet, mo money,
                          doubled numeric GENERATED ALWAYS AS (n * 2) STORED, x xml, gone int, virt int GENERATED ALWAYS AS (1) VIRTUAL,
                          late text DEFAULT 'd')""",
                "ALTER TABLE \"Odd \"\"Name\" DROP COLUMN gone")) {
            pair.transaction("SET timezone = 'Asia/Kathmandu'",
                    """
                            INSERT INTO "Odd ""Name" (n, t, b, a, ta, m, ma, p, pa, d, j, jb, tz, iv, f8, f4, ch, bo, u, r, i, mo, x)
                            VALUES (1.500, 'quote '' " \\ back, comma (paren) {brace}' || chr(10) || chr(9) || ' ünïcödé 🎼', '\\x00ff5c22',
                              '{1,NULL,3}', ARRAY['a "b"', NULL, '', 'c\\d', '{x}'], 'so "so"', ARRAY['so "so"', 'sad']::mood[],
                              ROW(1, 'in "ner" \\ (x,y)'), ARRAY[ROW(1, 'a"b')::pair, NULL, ROW(NULL, NULL)::pair], 3.10,
                              '{"a": [1, "x\\"y"]}', '{"b": 1.50}', '2026-03-01 12:34:56.789012+02', '-1 year 3 days -04:05:06.7',
                              0.1::float8 + 0.2, 'NaN', 'ab', true, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '[1,5)', '10.0.0.0/8', 12.34,
                              '<a b="c">d</a>'),
                             (NULL, '', '', '{}', '{}', NULL, NULL, NULL, '{}', NULL, 'null', NULL, '-infinity', NULL, '-Infinity', 0, '', NULL,
                              NULL, 'empty', NULL, NULL, NULL)""");
            pair.assertEqual("\"Odd \"\"Name\"");
            pair.transaction("UPDATE \"Odd \"\"Name\" SET n = n + 1, t = t || '!', late = NULL WHERE \"Id\" = 1",
                    "DELETE FROM \"Odd \"\"Name\" WHERE t = ''");
            pair.assertEqual("\"Odd \"\"Name\"");
        }
    }

    /** The server writes such values without a schema that the session's search path has, and reads them by that of whoever applies them. */
    @Test
    void valuesThatAreNamesArriveWithTheirSchemas() throws Exception {
        try (Pair pair = new Pair("DROP SCHEMA IF EXISTS app CASCADE; CREATE SCHEMA app", "CREATE TABLE app.t (id int)",
                "CREATE TYPE app.kind AS (name text, of regclass[])", "CREATE DOMAIN app.type AS regtype",
                "CREATE TABLE n (id int PRIMARY KEY, c regclass, k app.kind, d app.type, large text)",
                "CREATE TABLE later (id int PRIMARY KEY, c text)")) {
            pair.transaction("SET LOCAL search_path = app, public",
                    "INSERT INTO n VALUES (1, 't', ('a', '{t,pg_class}'), 'kind', NULL), (2, 't', NULL, 'int', NULL)",
                    "INSERT INTO later VALUES (1, 't')");
            pair.transaction("SET LOCAL search_path = app, public",
                    "UPDATE n SET c = 'n', k = ('b', '{t}') WHERE id = 1",
                    "UPDATE n SET id = 3, large = repeat('large', 10000) WHERE id = 2",
                    "UPDATE n SET d = 'kind' WHERE id = 3",
                    "DELETE FROM n WHERE id = 1", "INSERT INTO n VALUES (4, 't', NULL, 'type', NULL)");
            pair.assertEqual("n", "later");
            assertEquals(List.of(List.of("3", "app.t", "app.kind"), List.of("4", "app.t", "app.type")),
                    Pair.rows(pair.other, "SELECT id, c, d FROM n ORDER BY id"));
            assertEquals(List.of(List.of("f"), List.of("t")), Pair.rows(pair.one,
                    "SELECT p.proname LIKE '%named' FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid"
                            + " WHERE g.tgname = 'tutti_insert' AND g.tgrelid IN ('n'::regclass, 'later'::regclass) ORDER BY 1"));
        }
    }

    /** What a function changes is told before what the statement changes that calls it, whatever was done first. */
    @Test
    void rowsThatAStatementAndAFunctionInItChangeAreRefused() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1), (2, 2)",
                """
                        CREATE FUNCTION inserts() RETURNS int LANGUAGE plpgsql AS
                            'BEGIN INSERT INTO t VALUES (1, 99); RETURN 2; END'""", """
                        CREATE FUNCTION updates() RETURNS int LANGUAGE plpgsql AS
                            'BEGIN UPDATE t SET v = 99 WHERE id = 1; RETURN 2; END'""", """
                        CREATE FUNCTION updates_two() RETURNS int LANGUAGE plpgsql AS
                            'BEGIN UPDATE t SET v = 99 WHERE id = 2; RETURN 2; END'""", """
                        CREATE FUNCTION deletes() RETURNS int LANGUAGE plpgsql AS
                            'BEGIN DELETE FROM t WHERE id = 3; RETURN 4; END'""", """
                        CREATE FUNCTION updates_other() RETURNS int LANGUAGE plpgsql AS
                            'BEGIN INSERT INTO t VALUES (7, 7); UPDATE t SET v = 8 WHERE id = 7; RETURN 2; END'""")) {
            for (String statement : List.of("DELETE FROM t WHERE id = 1 OR (id = 2 AND inserts() = 3)",
                    "UPDATE t SET v = CASE WHEN id = 1 THEN 3 ELSE updates() END",
                    "UPDATE t SET v = 3 WHERE id = 1; UPDATE t SET v = CASE WHEN id = 2 THEN 3 ELSE updates_two() END")) {
                pair.session.execute(statement);
                assertEquals("0A000", assertThrows(CaptureException.class, () -> pair.session.capture(), statement)
                        .sqlState());
                pair.session.execute("ROLLBACK");
            }
            pair.transaction(
                    "INSERT INTO t SELECT i, CASE WHEN i = 3 THEN 3 ELSE deletes() END FROM generate_series(3, 4) i");
            pair.assertEqual("t");
            pair.transaction("UPDATE t SET v = updates_other() WHERE id = 2", "UPDATE t SET v = 3",
                    "DELETE FROM t WHERE id = 1", "INSERT INTO t VALUES (1, 5)", "UPDATE t SET v = v + 1",
                    "UPDATE t SET id = 70 WHERE id = 7", "INSERT INTO t VALUES (7, 9)", "DELETE FROM t WHERE id = 70");
            pair.assertEqual("t");
        }
    }

    @Test
    void swapsOfUniqueValuesAndReusedKeysNeedNoOrder() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, u int UNIQUE, v text)",
                "CREATE UNIQUE INDEX ON t (lower(v))", "INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')")) {
            pair.transaction("UPDATE t SET u = -1 WHERE id = 1", "UPDATE t SET u = 1 WHERE id = 2",
                    "UPDATE t SET u = 2 WHERE id = 1", "UPDATE t SET id = 10 WHERE id = 3",
                    "INSERT INTO t VALUES (3, 30, 'd')", "DELETE FROM t WHERE id = 3",
                    "INSERT INTO t VALUES (3, 31, 'e')",
                    "UPDATE t SET v = 'f' WHERE id = 10", "UPDATE t SET v = 'c' WHERE id = 3");
            pair.assertEqual("t");
        }
    }

    /** The server writes xml without its declaration, and keeps that. */
    @Test
    void xmlArrivesWithItsDeclaration() throws Exception {
        String all = "(SELECT id, x::text, xs::text[], (p).x::text AS px, (p).xs::text[] AS pxs, p IS NULL AS none, d::text, counted, large FROM t)";
        String declared = "'<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a>%s</a>'";
        try (Pair pair = new Pair("CREATE TYPE part AS (a int, x xml, xs xml[])", "CREATE DOMAIN doc AS xml",
                "CREATE TABLE t (id int PRIMARY KEY, x xml, xs xml[], p part, d doc, large text,"
                        + " counted int GENERATED ALWAYS AS (length(x::text)) STORED, twice int GENERATED ALWAYS AS (id * 2) VIRTUAL)",
                "CREATE UNIQUE INDEX ON t ((x::text))", "CREATE TABLE keyless (n int, x xml)",
                "ALTER TABLE t ALTER large SET STORAGE EXTERNAL")) {
            pair.transaction("INSERT INTO t VALUES (1, " + declared.formatted(1) + ", ARRAY[" + declared.formatted(2)
                    + ", NULL, '<?xml version=\"1.0\" standalone=''yes''?><b/>']::xml[], (1, " + declared.formatted(3)
                    + ", '{<c/>}'), " + declared.formatted(4)
                    + ", repeat('x', 9000)), (2, '<a>1</a>', NULL, NULL, NULL, ''),"
                    + " (3, '<d/>', '{}', (NULL, NULL, NULL), " + declared.formatted("") + ", repeat('y', 9000))",
                    "INSERT INTO keyless VALUES (1, " + declared.formatted(1) + "), (1, '<a>1</a>'), (2, "
                            + declared.formatted(2) + ")");
            pair.assertEqual(all, "(SELECT x::text FROM keyless)");
            pair.transaction("UPDATE t SET x = " + declared.formatted(5) + " WHERE id = 3",
                    "UPDATE t SET d = x WHERE id = 1", "UPDATE t SET p.x = d WHERE id = 2",
                    "UPDATE t SET xs[2] = x WHERE id = 1", "DELETE FROM keyless WHERE x::text LIKE '<a%'",
                    "UPDATE keyless SET n = n + 1 WHERE n = 2");
            pair.assertEqual(all, "(SELECT n, x::text FROM keyless)");
            pair.transaction("UPDATE t SET x = '<a>5</a>' WHERE id = 3", "INSERT INTO t VALUES (4, "
                    + declared.formatted(5) + ")", "UPDATE t SET large = NULL, p = NULL WHERE id = 1",
                    "DELETE FROM t WHERE id = 2");
            pair.assertEqual(all);
        }
    }

    /** No update may assign it, but DEFAULT and triggers may. */
    @Test
    void whatIsDrawnAnewForAnIdentityThatNamesNothingArrives() throws Exception {
        String columns = " (id int PRIMARY KEY, rev bigint GENERATED ALWAYS AS IDENTITY, body text)";
        try (Pair pair = new Pair("CREATE TABLE t" + columns, "CREATE TABLE large" + columns,
                "CREATE TABLE fires" + columns,
                "CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES t)",
                "ALTER TABLE large ALTER body SET STORAGE EXTERNAL",
                "CREATE FUNCTION later() RETURNS trigger LANGUAGE plpgsql AS"
                        + " 'BEGIN NEW.rev := NEW.rev + 100; RETURN NEW; END'",
                "CREATE TRIGGER later BEFORE UPDATE ON fires FOR EACH ROW EXECUTE FUNCTION later()")) {
            pair.transaction("INSERT INTO t (id, body) VALUES (1, 'a'), (2, 'b'), (3, 'c')",
                    "INSERT INTO child VALUES (1, 1), (2, 2)",
                    "INSERT INTO large (id, body) SELECT i, repeat('x', 9000) FROM generate_series(1, 3) i",
                    "INSERT INTO fires (id, body) VALUES (1, 'a'), (2, 'b')");
            pair.transaction("UPDATE t SET rev = DEFAULT, body = 'd' WHERE id = 1",
                    "UPDATE large SET rev = DEFAULT WHERE id = 1", "UPDATE fires SET body = 'c' WHERE id = 1");
            pair.assertEqual("t", "large", "fires", "child");
            pair.transaction("UPDATE t SET body = 'e'", "UPDATE t SET rev = DEFAULT WHERE id = 2",
                    "UPDATE t SET body = 'f' WHERE id < 3", "UPDATE t SET id = id + 10, rev = DEFAULT WHERE id = 3",
                    "UPDATE large SET id = id", "UPDATE large SET rev = DEFAULT WHERE id = 2",
                    "UPDATE large SET body = repeat('y', 9000) WHERE id < 3",
                    "INSERT INTO t (id) VALUES (4)", "UPDATE t SET rev = DEFAULT WHERE id = 4");
            pair.assertEqual("t", "large", "child");
        }
    }

    @Test
    void keysThatOnlyTheEngineComparesAreAppliedOneByOne() throws Exception {
        try (Pair pair = new Pair("CREATE EXTENSION citext", "CREATE TABLE t (k citext PRIMARY KEY, v numeric)",
                "CREATE TABLE n (k numeric PRIMARY KEY)", "INSERT INTO n VALUES (1.0)")) {
            pair.transaction("INSERT INTO t VALUES ('Key', 1), ('other', 2)",
                    "UPDATE t SET k = 'KEY', v = 3 WHERE k = 'key'",
                    "DELETE FROM t WHERE k = 'OTHER'", "UPDATE n SET k = 1.000");
            pair.assertEqual("t", "n");
        }
    }

    @Test
    void partitionsCascadesAndTruncateArrive() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE whole (id int, v text, PRIMARY KEY (id)) PARTITION BY RANGE (id)",
                "CREATE TABLE low PARTITION OF whole FOR VALUES FROM (0) TO (10)",
                "CREATE TABLE high (v text, id int NOT NULL)",
                "ALTER TABLE whole ATTACH PARTITION high FOR VALUES FROM (10) TO (20)",
                "CREATE TABLE child (id serial PRIMARY KEY, p int REFERENCES whole ON DELETE CASCADE)",
                "CREATE FUNCTION louder() RETURNS trigger LANGUAGE plpgsql AS"
                        + " $$ BEGIN NEW.v := upper(NEW.v); RETURN NEW; END $$",
                "CREATE TRIGGER louder BEFORE INSERT OR UPDATE ON low FOR EACH ROW EXECUTE FUNCTION louder()")) {
            pair.transaction("INSERT INTO whole VALUES (1, 'a'), (2, 'b'), (11, 'c')",
                    "INSERT INTO child (p) VALUES (1), (2), (11)");
            pair.transaction("UPDATE child SET p = NULL WHERE p = 2", "UPDATE whole SET id = 12 WHERE id = 2",
                    "DELETE FROM whole WHERE id = 1");
            pair.assertEqual("whole", "child", "high");
            pair.transaction("SELECT tutti.flush()", "TRUNCATE whole, child", "INSERT INTO whole VALUES (3, 'z')");
            pair.assertEqual("whole");
        }
    }

    @Test
    void schemaChangesInsideATransactionArriveInTheirPlace() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, v int)")) {
            Statement alter = new Statement("ALTER TABLE t ADD COLUMN w text DEFAULT 'x'", TestServer.USER,
                    Map.of("search_path", "public"));
            Statement create = new Statement(1, "CREATE TABLE made (id int PRIMARY KEY)", TestServer.USER,
                    Map.of("search_path", "public"));
            TableCatalog before = LocalSession.catalog(pair.one);
            pair.session.execute("INSERT INTO t VALUES (1, 1)", allow(pair, alter), alter.sql(),
                    "INSERT INTO t VALUES (2, 2, 'y')", allow(pair, create), create.sql(),
                    "INSERT INTO made VALUES (5)");
            byte[] gathered = pair.session.gather();
            assertNotNull(gathered);
            pair.session.connection().commit();
            TableCatalog after = LocalSession.catalog(pair.one);
            pair.apply(List.of(CaptureReader.read(before, List.of(before, after, after), gathered).writes()));
            pair.assertEqual("t", "made");
            assertNotNull(pair.engine.catalog().table("public", "made"));
            pair.transaction("UPDATE t SET w = 'z'", "INSERT INTO made VALUES (6)");
            pair.assertEqual("t", "made");
        }
    }

    @Test
    void whatAQueryMakesATableOfInsideATransactionIsMadeOnce() throws Exception {
        try (Pair pair = new Pair("CREATE SCHEMA \"S\"",
                "CREATE TABLE t (id int PRIMARY KEY, c text COLLATE \"C\", n numeric(6, 2))")) {
            String query = "SELECT c, n, ARRAY[id] AS \"A'b\", random() AS t, current_setting('work_mem') AS w FROM t";
            pair.session.execute("CREATE TEMP TABLE mine AS SELECT 7 AS id", "PREPARE p AS SELECT 'p' AS x");
            TableCatalog before = LocalSession.catalog(pair.one);
            pair.session.execute("SET LOCAL work_mem = '123kB'", "INSERT INTO t VALUES (1, 'a', 1.5), (2, NULL, NULL)",
                    allow(pair, filled(0)), "CREATE TABLE \"S\".\"Q\" WITH (fillfactor = 70) AS " + query,
                    "UPDATE \"S\".\"Q\" SET n = 2 WHERE n IS NULL");
            pair.session.execute(allow(pair, filled(1)), "SELECT id INTO into_it FROM mine",
                    allow(pair, filled(2)), "CREATE TABLE prepared AS EXECUTE p",
                    allow(pair, filled(3)), "CREATE TABLE IF NOT EXISTS prepared AS SELECT 1",
                    allow(pair, filled(4)), "CREATE TABLE without AS TABLE t WITH NO DATA",
                    allow(pair, statement(5, "CREATE MATERIALIZED VIEW seen AS SELECT sum(n) FROM \"S\".\"Q\"")),
                    "CREATE MATERIALIZED VIEW seen AS SELECT sum(n) FROM \"S\".\"Q\"");
            byte[] gathered = pair.session.gather();
            assertNotNull(gathered);
            pair.session.connection().commit();
            TableCatalog after = LocalSession.catalog(pair.one);
            pair.apply(List.of(CaptureReader.read(before, List.of(before, after, after, after, after, after, after),
                    gathered).writes()));
            pair.assertEqual("t", "\"S\".\"Q\"", "into_it", "prepared", "seen");
            pair.transaction("UPDATE \"S\".\"Q\" SET c = 'z'", "INSERT INTO without VALUES (1)");
            pair.assertEqual("\"S\".\"Q\"", "without");
        }
    }

    @Test
    void aSchemaChangeThatChangesRowsIsRefusedInsideATransaction() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int PRIMARY KEY)",
                "CREATE FUNCTION adds() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (1) RETURNING id'")) {
            pair.transaction("INSERT INTO u VALUES (2)");
            Statement alter = statement(0, "ALTER TABLE u ALTER COLUMN id TYPE int USING adds()");
            SQLException refused = assertThrows(SQLException.class,
                    () -> pair.session.execute(allow(pair, alter), alter.sql()));
            assertEquals("0A000", refused.getSQLState());
        }
    }

    @Test
    void whoListensElsewhereIsTold() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY)",
                "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$"
                        + "BEGIN PERFORM pg_notify('rows', NEW.id::text); RETURN NULL; END $$",
                "CREATE TRIGGER tell AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION tell()");
                Connection listener = TestServer.jdbc(pair.other);
                java.sql.Statement listens = listener.createStatement()) {
            listener.setAutoCommit(true);
            listens.execute("LISTEN rows");
            listens.execute("LISTEN other");
            pair.transaction("INSERT INTO t VALUES (1)", "SELECT pg_notify('other', E'a:\\'\u00e9')", "SAVEPOINT s",
                    "INSERT INTO t VALUES (2)", "ROLLBACK TO s", "SELECT pg_notify('other', NULL)");
            pair.transaction("SELECT pg_notify('other', '2')");
            List<String> told = new ArrayList<>();
            while (told.size() < 4) {
                for (PGNotification one : listener.unwrap(PGConnection.class).getNotifications(20_000)) {
                    told.add(one.getName() + "=" + one.getParameter());
                }
            }
            assertEquals(Set.of("rows=1", "other=a:'\u00e9", "other="), Set.copyOf(told.subList(0, 3)));
            assertEquals("other=2", told.getLast());
            pair.assertEqual("t");
        }
    }

    private static Statement filled(int place) {
        return statement(place, "");
    }

    private static Statement statement(int place, String sql) {
        return new Statement(place, sql, TestServer.USER, Map.of("search_path", "public"));
    }

    @Test
    void rowsOfATableThatOthersChangedMeanwhileAreToBeTriedAgain() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY)")) {
            TableCatalog older = TableCatalog.EMPTY;
            pair.session.execute("INSERT INTO t VALUES (1)");
            byte[] gathered = pair.session.gather();
            assertNotNull(gathered);
            CaptureException refused = assertThrows(CaptureException.class,
                    () -> CaptureReader.read(older, List.of(older), gathered));
            assertEquals("40001", refused.sqlState());
        }
    }

    /** Rows have the same key for a while, so it does not name them. */
    @Test
    void aDeferrablePrimaryKeyMayBeShiftedAndDoubledForAWhile() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, v text)")) {
            pair.transaction("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')");
            pair.transaction("UPDATE t SET id = id + 1");
            pair.assertEqual("t");
            pair.transaction("INSERT INTO t VALUES (2, 'd')", "UPDATE t SET v = 'x' WHERE v = 'a'",
                    "DELETE FROM t WHERE v = 'x'");
            pair.assertEqual("t");
            pair.transaction("UPDATE t SET id = 6 - id");
            pair.assertEqual("t");
        }
    }

    @Test
    void anApplierThatPreparesSaysForWhomItWaits() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, v int)")) {
            pair.transaction("INSERT INTO t VALUES (1, 0), (2, 0)");
            WriteSet one = pair.session.commit("UPDATE t SET v = 1 WHERE id = 1");
            WriteSet two = pair.session.commit("UPDATE t SET v = 1 WHERE id = 2");
            BlockingQueue<String> heard = new LinkedBlockingQueue<>();
            BackendConnection between = TestServer.connect(pair.other);
            LocalTransaction middle = new Nameless();
            Applier waiter = pair.engine.openApplier();
            pair.engine.onBlocked(new BlockedListener() {
                @Override
                public void blocked(long position, LocalTransaction holder) {
                    throw new AssertionError("nothing here has a position");
                }

                @Override
                public void waits(Applier who, Set<LocalTransaction> locals, Set<Applier> appliers) {
                    if (who.equals(waiter) && locals.equals(Set.of(middle))
                            && appliers.equals(Set.of(pair.applier))) {
                        heard.add("waits");
                    }
                }
            });
            try (ExecutorServices.Registration registered = pair.engine.registerSession(between.processId(),
                    () -> middle)) {
                Result<Void> held = new Result<>();
                pair.applier.apply(0, List.of(one), held);
                held.success();
                TestServer.execute(between, "BEGIN");
                TestServer.execute(between, "UPDATE t SET v = 2 WHERE id = 2");
                CompletableFuture<QueryResult> stuck = between.query("UPDATE t SET v = 2 WHERE id = 1");
                Result<Void> prepared = new Result<>();
                waiter.apply(0, List.of(two), prepared);
                assertEquals("waits", heard.poll(30, TimeUnit.SECONDS));
                pair.applier.rollback(() -> {});
                stuck.get(30, TimeUnit.SECONDS);
                TestServer.execute(between, "ROLLBACK");
                prepared.success();
                assertNotNull(registered);
            }
            waiter.close();
            between.close();
        }
    }

    /** Somebody's transaction; nobody asks anything of it. */
    private static final class Nameless implements LocalTransaction {
        @Override
        public void commit(long position, Completion<Void> done) {
            throw new AssertionError("not to be committed");
        }

        @Override
        public void rollback(Runnable done) {
            throw new AssertionError("not to be rolled back");
        }

        @Override
        public void answer(Outcome outcome) {
            throw new AssertionError("not to be answered");
        }
    }

    @Test
    void whatAStatementRaisesIsItsResultWhateverItsCode() throws Exception {
        try (Pair pair = new Pair("CREATE FUNCTION raising(state text) RETURNS int LANGUAGE plpgsql AS $$"
                + " BEGIN RAISE EXCEPTION USING ERRCODE = state; END $$")) {
            List<String> statements = new ArrayList<>(List.of("DROP ROLE " + TestServer.USER,
                    "CREATE FUNCTION missing() RETURNS int LANGUAGE c AS 'nosuchlib'"));
            for (String state : List.of("08006", "40001", "40P01", "53000", "53100", "53200", "53300", "55006", "55P03",
                    "57014", "57P01", "57P03", "58030", "58P01", "XX001", "XX002")) {
                statements.add("CREATE TABLE made AS SELECT raising('" + state + "')");
            }
            for (String sql : statements) {
                Result<ExecuteResult> executed = new Result<>();
                pair.applier.execute(++pair.position, new Statement(sql, TestServer.USER, Map.of()).toBytes(),
                        executed);
                ExecuteResult result = executed.success();
                assertFalse(result.tookEffect(), sql);
                Result<ExecuteResult> skipped = new Result<>();
                pair.applier.skip(pair.position, Objects.requireNonNull(result.refusal()), skipped);
                assertFalse(skipped.success().tookEffect(), sql);
                Result<Set<Long>> positions = new Result<>();
                pair.engine.skippedPositions(positions);
                assertEquals(pair.position, positions.success().size());
                assertEquals(List.of(List.of(Long.toString(pair.position))),
                        Pair.rows(pair.other, "SELECT tutti.position()"), sql);
            }
        }
    }

    /** A short row is a key of some hundred bytes at each node, whatever its own bytes are. */
    @Test
    void aTransactionHasSoManyKeysAtMost() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY)")) {
            pair.session.execute("INSERT INTO t VALUES (1)");
            String row = pair.session.gathered();
            TableCatalog catalog = LocalSession.catalog(pair.one);
            // Besides the row's there are the schema's and the table's.
            int rows = WriteSet.KEYS_MAX - 2;
            assertEquals(WriteSet.KEYS_MAX,
                    CaptureReader.read(catalog, rows(row, rows))
                            .writes().keys().size());
            CaptureException tooMany = assertThrows(CaptureException.class,
                    () -> CaptureReader.read(catalog, rows(row, rows + 1)));
            assertEquals("54000", tooMany.sqlState());
        }
    }

    private static byte[] rows(String one, int count) {
        return IntStream.range(0, count).mapToObj(i -> one.replace("(1)", "(" + i + ")")).collect(Collectors.joining())
                .getBytes(StandardCharsets.UTF_8);
    }

    private static String allow(Pair pair, Statement statement) {
        return "SELECT tutti.allow_statement('" + pair.engine.secret() + "', '" + statement.toText().replace("'", "''")
                + "')";
    }

    @Test
    void randomTransactionsMakeReplicasEqual() throws Exception {
        Random random = new Random(42);
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, u int UNIQUE, v text)")) {
            TableCatalog catalog = LocalSession.catalog(pair.one);
            List<WriteSet> writes = new ArrayList<>();
            for (int i = 0; i < 60; i++) {
                List<String> statements = new ArrayList<>();
                for (int j = 0; j < 8; j++) {
                    int id = random.nextInt(12);
                    int u = random.nextInt(12);
                    statements.add(switch (random.nextInt(5)) {
                        case 0 -> "INSERT INTO t VALUES (" + id + ", " + u + ", 'i" + i + "') ON CONFLICT DO NOTHING";
                        case 1 -> "DELETE FROM t WHERE id = " + id;
                        case 2 -> "UPDATE t SET v = v || '" + j + "' WHERE id = " + id;
                        case 3 -> "UPDATE t SET u = " + u + " WHERE id = " + id
                                + " AND NOT EXISTS (SELECT FROM t WHERE u = " + u + ")";
                        default -> "UPDATE t SET id = " + u + " WHERE id = " + id
                                + " AND NOT EXISTS (SELECT FROM t WHERE id = " + u + ")";
                    });
                }
                pair.session.execute(statements.toArray(String[]::new));
                byte[] gathered = pair.session.gather();
                if (gathered != null) {
                    writes.add(CaptureReader.read(catalog, gathered).writes());
                }
                pair.session.connection().commit();
                if (writes.size() == 6) {
                    pair.apply(writes);
                    writes.clear();
                    assertEquals(Pair.rows(pair.one, "SELECT * FROM t ORDER BY id"),
                            Pair.rows(pair.other, "SELECT * FROM t ORDER BY id"));
                }
            }
        }
    }

    @Test
    void aSchemaChangeMayBeTheLastOfATransactionOrFollowedByNothing() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")) {
            TableCatalog before = LocalSession.catalog(pair.one);
            Statement alter = new Statement("COMMENT ON TABLE t IS 'x'", TestServer.USER, Map.of());
            for (List<String> rows : List.of(List.<String>of(),
                    List.of("INSERT INTO t VALUES (2)", "DELETE FROM t WHERE id = 2"))) {
                pair.session.execute(allow(pair, alter), alter.sql());
                pair.session.execute(rows.toArray(String[]::new));
                WriteSet writes = CaptureReader.read(before, List.of(before, before), pair.session.gather()).writes();
                pair.session.connection().rollback();
                Result<Void> applied = new Result<>();
                pair.applier.apply(pair.position + 1, List.of(writes), applied);
                applied.success();
                CompletableFuture<Void> undone = new CompletableFuture<>();
                pair.applier.rollback(() -> undone.complete(null));
                undone.get(20, TimeUnit.SECONDS);
            }
        }
    }

    @Test
    void equalRowsOfATableWithoutKeyAreCounted() throws Exception {
        try (Pair pair = new Pair(
                "CREATE TABLE t (n numeric, f float8, z timestamptz, x text, g numeric GENERATED ALWAYS AS (n + 1) STORED)",
                "INSERT INTO t SELECT 1.0, 0, '2026-01-01', 'x' FROM generate_series(1, 4)",
                "INSERT INTO t VALUES (1.00, 0, '2026-01-01', 'x'), (1.0, '-0', '2026-01-01', 'x'), (NULL, NULL, NULL, NULL)")) {
            pair.transaction(
                    "DELETE FROM t WHERE ctid IN (SELECT ctid FROM t WHERE n::text = '1.0' AND f::text = '0' LIMIT 2)");
            pair.assertEqual("t");
            pair.transaction(
                    "UPDATE t SET x = 'y' WHERE ctid = (SELECT min(ctid) FROM t WHERE n::text = '1.0' AND f::text = '0')");
            pair.assertEqual("t");
            pair.transaction("DELETE FROM t WHERE n::text = '1.00'", "UPDATE t SET x = x || '!'",
                    "DELETE FROM t WHERE n IS NULL",
                    "INSERT INTO t VALUES (7, 7, now(), ''), (7, 7, now(), '')", "UPDATE t SET f = 8 WHERE n = 7",
                    "INSERT INTO t VALUES (9)", "DELETE FROM t WHERE n = 9");
            pair.assertEqual("t");
            WriteSet[] sets = {pair.session.commit("SET timezone = 'Asia/Kathmandu'",
                    "INSERT INTO t (z) VALUES ('2026-03-01 12:00+00'), ('2026-03-01 12:00+00')"),
                    pair.session.commit("SET timezone = 'UTC'",
                            "DELETE FROM t WHERE ctid = (SELECT min(ctid) FROM t WHERE z = '2026-03-01 12:00+00')")};
            pair.apply(List.of(sets));
            pair.assertEqual("t");
            pair.transaction("DELETE FROM t");
            assertEquals(List.of(), Pair.rows(pair.other, "SELECT * FROM t"));
        }
    }

    @Test
    void rowsThatCannotBeToldApartHereArriveInOrder() throws Exception {
        try (Pair pair = new Pair("CREATE TYPE span AS (a timestamptz, b timestamptz)",
                "CREATE TABLE t (s span, v int, \"t\" int)",
                "INSERT INTO t SELECT ROW('2026-01-01', NULL)::span, 1 FROM generate_series(1, 3)")) {
            pair.apply(List.of(pair.session.commit("SET timezone = 'Asia/Kathmandu'",
                    "INSERT INTO t VALUES (ROW('2026-03-01 12:00+00', NULL)::span, 2)", "UPDATE t SET v = v + 1",
                    "UPDATE t SET v = v + 1"),
                    pair.session.commit("SET timezone = 'UTC'", "DELETE FROM t WHERE v = 4")));
            pair.assertEqual("t");
            pair.transaction("DELETE FROM t WHERE ctid = (SELECT max(ctid) FROM t)");
            pair.assertEqual("t");
        }
    }

    @Test
    void aRowThatIsMissingIsNoticed() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (v int)", "INSERT INTO t VALUES (1), (1)")) {
            WriteSet both = pair.session.commit("DELETE FROM t");
            pair.apply(List.of(both));
            Result<Void> applied = new Result<>();
            pair.applier.apply(2, List.of(both), applied);
            assertEquals("XX001", applied.failure().sqlState());
        }
    }

    @Test
    void rowsThatAreMissingAreNoticedBeforeTheCommit() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, v text)")) {
            pair.transaction("INSERT INTO t SELECT i, 'a' FROM generate_series(1, 4) i");
            pair.session.commit("INSERT INTO t VALUES (5, 'a'), (6, 'a')");
            for (String sql : List.of("UPDATE t SET v = 'b' WHERE id IN (4, 5)", "UPDATE t SET v = 'c' WHERE id = 5",
                    "DELETE FROM t WHERE id IN (4, 5)", "DELETE FROM t WHERE id = 6")) {
                Result<Void> applied = new Result<>();
                pair.applier.applyAndCommit(2, List.of(pair.session.commit(sql)), 2, applied);
                EngineFailure missing = applied.failure();
                assertEquals("XX001", missing.sqlState(), missing.message());
                String told = sql.substring(0, 6) + " of table public.t should have met "
                        + (sql.contains("IN") ? "2 rows, the engine says 1:" : "1 rows, the engine says 0:");
                assertTrue(missing.message().contains(told), missing.message());
                assertFalse(missing.transientFailure());
                assertEquals(1, pair.appliedPosition());
            }
            assertEquals("[[(1,a)], [(2,a)], [(3,a)], [(4,a)]]", Pair.rows(pair.other, "SELECT t FROM t").toString());
        }
    }

    /** The message that brings the changes brings the commit as well; a process that is ended before it gets there makes nothing. */
    @Test
    void whatIsEndedBeforeItsCommitLeavesNothingAndIsMadeAgain() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, v text)");
                Connection holder = TestServer.jdbc(pair.other);
                java.sql.Statement holds = holder.createStatement()) {
            pair.transaction("INSERT INTO t VALUES (1, 'a'), (2, 'a')");
            List<WriteSet> writes = List.of(pair.session.commit("UPDATE t SET v = 'b' WHERE id = 2"),
                    pair.session.commit("UPDATE t SET v = 'c' WHERE id = 1"));
            holder.setAutoCommit(false);
            holds.execute("SELECT FROM t WHERE id = 1 FOR UPDATE");
            Result<Void> applied = new Result<>();
            pair.applier.applyAndCommit(2, writes, 3, applied);
            String end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                    + " AND application_name = 'tutti applier' AND wait_event_type = 'Lock'";
            while (Pair.rows(pair.other, end).isEmpty()) {
                assertFalse(applied.isDone(), "it should wait for the row");
            }
            assertTrue(applied.failure().transientFailure());
            holder.rollback();
            assertEquals(1, pair.appliedPosition());
            pair.apply(writes).assertEqual("t");
            assertEquals(3, pair.appliedPosition());
        }
    }

    @Test
    void keysThatComeAndGoNameRowsDifferently() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (a int NOT NULL, b int)", "INSERT INTO t VALUES (1, 1), (2, 2)")) {
            pair.transaction("UPDATE t SET b = 3 WHERE a = 1");
            for (String change : List.of("CREATE UNIQUE INDEX i ON t (a)", "DROP INDEX i",
                    "ALTER TABLE t ADD PRIMARY KEY (a)",
                    "ALTER TABLE t DROP CONSTRAINT t_pkey", "CREATE UNIQUE INDEX i ON t (a)",
                    "ALTER TABLE t ALTER a DROP NOT NULL")) {
                Statement statement = new Statement(change, TestServer.USER, Map.of());
                pair.session.execute(allow(pair, statement), change).gather();
                pair.session.connection().commit();
                together(pair, change);
                pair.transaction("UPDATE t SET b = b + 1", "UPDATE t SET b = b + 1 WHERE a = 2",
                        "DELETE FROM t WHERE a = 1",
                        "INSERT INTO t VALUES (1, 1)");
                pair.assertEqual("t");
            }
        }
    }

    @Test
    void severalStatementsAreExecutedTogether() throws Exception {
        try (Pair pair = new Pair()) {
            assertEquals("C CREATE TABLE C CREATE TABLE C ALTER TABLE",
                    together(pair, "CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE b (id int REFERENCES a)",
                            "ALTER TABLE b ADD PRIMARY KEY (id)"));
            assertEquals("C DROP TABLE E 42P07", together(pair, "DROP TABLE b", "CREATE TABLE a (id int)",
                    "CREATE TABLE c (id int)"));
            assertEquals(List.of(List.of("a"), List.of("b")), Pair.rows(pair.other,
                    "SELECT table_name FROM tutti.user_tables ORDER BY 1"));
        }
    }

    /** What the statements are answered with when they are executed together: command tags and SQLSTATEs. */
    private static String together(Pair pair, String... statements) throws Exception {
        Result<ExecuteResult> executed = new Result<>();
        pair.applier.execute(++pair.position,
                new Statement(String.join(Statement.SEPARATOR, statements), TestServer.USER, Map.of()).toBytes(),
                executed);
        ByteBuf response = Unpooled.wrappedBuffer(executed.success().response());
        List<String> answers = new ArrayList<>();
        while (response.isReadable()) {
            byte type = response.readByte();
            ByteBuf body = response.readSlice(response.readInt() - Integer.BYTES);
            answers.add((char) type + " " + (type == Backend.ERROR_RESPONSE
                    ? ErrorFields.read(body).sqlState()
                    : Fields.cString(body)));
        }
        return String.join(" ", answers);
    }
}
