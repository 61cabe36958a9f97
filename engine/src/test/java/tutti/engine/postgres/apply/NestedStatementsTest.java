package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.CapturedWriteSet;
import tutti.engine.postgres.capture.CaptureReader;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.BackendConnection;

/** What functions and DO blocks do besides changing rows arrives at another replica in its place, or is refused. */
@Timeout(120)
class NestedStatementsTest {
    /** Commits a transaction that changes the schema in functions only. */
    private static void commit(Pair pair, String... statements) throws Exception {
        TableCatalog before = LocalSession.catalog(pair.one);
        byte[] gathered = pair.session.execute(statements).gather();
        assertNotNull(gathered);
        assertThrows(CaptureReader.UnknownTable.class, () -> CaptureReader.read(before, gathered));
        pair.session.connection().commit();
        CapturedWriteSet read = CaptureReader.read(before, new ArrayList<>(List.of(LocalSession.catalog(pair.one))),
                gathered);
        assertEquals(true, read.schemaChanged());
        pair.apply(List.of(read.writes()));
    }

    @Test
    void schemaChangesStandAmongRows() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, v text)")) {
            commit(pair, """
                    DO $do$
                    DECLARE n text := 'quo"ted';
                    BEGIN
                        INSERT INTO t VALUES (1, 'one');
                        CREATE TABLE child (id serial PRIMARY KEY, t int REFERENCES t, note text DEFAULT 'x''y');
                        INSERT INTO child (t) VALUES (1);
                        ALTER TABLE t ADD COLUMN w int DEFAULT 5;
                        INSERT INTO t VALUES (2, 'two', 7);
                        UPDATE t SET w = w + 1;
                        EXECUTE format('CREATE TABLE %I (a int PRIMARY KEY, b text); -- ünïcödé 🎼', n);
                        EXECUTE format('INSERT INTO %I VALUES (1, $1)', n) USING 'gone';
                        ALTER TABLE "quo""ted" DROP COLUMN b;
                        INSERT INTO "quo""ted" VALUES (2);
                        BEGIN
                            ALTER TABLE t ADD COLUMN undone int;
                            INSERT INTO t VALUES (3, 'x', 3, 3);
                            RAISE EXCEPTION 'no';
                        EXCEPTION WHEN raise_exception THEN NULL;
                        END;
                        CREATE TABLE from_query AS SELECT id, random() AS r, n AS name FROM t;
                        CREATE TABLE passing (a int);
                        INSERT INTO passing VALUES (1);
                        DROP TABLE passing;
                        EXECUTE $f$ CREATE FUNCTION twice(i int) RETURNS int LANGUAGE sql
                            BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN i * 2 END; END $f$;
                        DROP TABLE IF EXISTS missing;
                    END $do$""");
            pair.assertEqual("t", "child", "\"quo\"\"ted\"", "from_query");
            assertEquals(List.of(List.of("4")), Pair.rows(pair.other, "SELECT twice(2)"));
        }
    }

    @Test
    void rowsAreUnderstoodAsTheyWereBeforeTheSchemaChange() throws Exception {
        List<String> all = List.of("INSERT INTO t VALUES (5, 'five')", "UPDATE t SET v = 'changed'",
                "UPDATE t SET id = id + 10", "UPDATE t SET v = 'once'; UPDATE t SET v = 'twice'",
                "DELETE FROM t WHERE id = 1", "UPDATE t SET v = 'gone'; DELETE FROM t", "TRUNCATE t",
                "UPDATE keyless SET v = 'changed'", "UPDATE narrow SET v = v + 1");
        String[] tables = IntStream.range(0, all.size()).mapToObj(i -> "CREATE SCHEMA s" + i
                + " CREATE TABLE t (id int PRIMARY KEY, v text) CREATE TABLE keyless (v text)"
                + " CREATE TABLE narrow (id int PRIMARY KEY, v int)").toArray(String[]::new);
        try (Pair pair = new Pair(tables)) {
            for (int i = 0; i < all.size(); i++) {
                String here = "SET LOCAL search_path = s" + i;
                pair.transaction(here, "INSERT INTO t VALUES (1, 'one'), (2, repeat('long ', 20000))",
                        "INSERT INTO keyless VALUES ('old')", "INSERT INTO narrow VALUES (1, 1)");
                commit(pair, here, "DO $do$ BEGIN " + all.get(i) + "; ALTER TABLE t ADD COLUMN w int DEFAULT 5;"
                        + " ALTER TABLE keyless ADD COLUMN w int DEFAULT 5; ALTER TABLE narrow ADD COLUMN w int DEFAULT 5; "
                        + "INSERT INTO t VALUES (9, 'nine', 9); UPDATE t SET w = w + 1; END $do$");
                pair.assertEqual("s" + i + ".t", "s" + i + ".keyless", "s" + i + ".narrow");
            }
        }
    }

    /** Whatever they are declared as: functions in bounds, in USING, and of casts that no text names. */
    @Test
    void whatIsComputedAtEachNodeIsLookedInto() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, v text)",
                "CREATE TABLE whole (id text) PARTITION BY LIST (id)",
                "CREATE FUNCTION told() RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT current_setting(''port'')'",
                "CREATE FUNCTION deeper(text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN length(told() || $1); END'",
                "CREATE FUNCTION reads(text) RETURNS int STABLE LANGUAGE sql AS 'SELECT count(*)::int FROM t'",
                "CREATE FUNCTION plain(text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN length($1); END'",
                "CREATE TYPE pair AS (a int, b int)")) {
            for (String refused : List.of("CREATE TABLE p1 PARTITION OF whole FOR VALUES IN (told())",
                    "CREATE TABLE p1 PARTITION OF whole FOR VALUES IN (current_setting(''TimeZone''))",
                    "ALTER TABLE t ALTER v TYPE int USING deeper(v)", "ALTER TABLE t ALTER v TYPE int USING reads(v)",
                    "ALTER TABLE t ALTER v TYPE text USING current_setting(''TimeZone'')")) {
                assertEquals("0A000", assertThrows(SQLException.class,
                        () -> pair.session.execute("DO $$ BEGIN EXECUTE '" + refused + "'; END $$"), refused)
                        .getSQLState(), refused);
                pair.session.connection().rollback();
            }
            commit(pair, "DO $$ BEGIN CREATE TABLE p2 PARTITION OF whole FOR VALUES IN ('a', 'b');"
                    + " ALTER TABLE t ALTER v TYPE int USING plain(v); INSERT INTO t VALUES (1, 1); END $$");
            commit(pair, "DO $$ BEGIN CREATE FUNCTION made(int) RETURNS pair IMMUTABLE LANGUAGE sql AS"
                    + " $f$ SELECT ROW($1, current_setting('port')::int)::pair $f$;"
                    + " CREATE CAST (int AS pair) WITH FUNCTION made(int) AS ASSIGNMENT; END $$");
            assertEquals("0A000", assertThrows(SQLException.class,
                    () -> pair.session.execute("DO $$ BEGIN ALTER TABLE t ALTER v TYPE pair; END $$")).getSQLState());
            pair.session.connection().rollback();
            // nothing is called where there are strings only, and a function whose words name itself has no more words
            commit(pair, "DO $$ BEGIN CREATE TABLE p3 PARTITION OF whole FOR VALUES IN ('c', NULL);"
                    + " CREATE TABLE hashed (id int) PARTITION BY HASH (id);"
                    + " CREATE TABLE h0 PARTITION OF hashed FOR VALUES WITH (MODULUS 1, REMAINDER 0); DROP CAST (int AS pair);"
                    + " CREATE FUNCTION a(p pair) RETURNS int IMMUTABLE LANGUAGE sql AS $f$ SELECT p.a $f$;"
                    + " CREATE CAST (pair AS int) WITH FUNCTION a(pair) AS ASSIGNMENT;"
                    + " ALTER TABLE t ALTER v TYPE bigint; END $$");
        }
    }

    /** The server executes it, and fires no event trigger for what it makes. */
    @Test
    void explainMakesNothing() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY)")) {
            for (String made : List.of("TABLE made", "UNLOGGED TABLE made")) {
                pair.session.execute("INSERT INTO t VALUES (1)",
                        "DO $$ BEGIN EXECUTE 'EXPLAIN (ANALYZE on) CREATE " + made + " AS SELECT 1 AS id'; END $$");
                assertEquals("0A000",
                        assertThrows(SQLException.class, () -> pair.session.gather(), made).getSQLState());
                pair.session.connection().rollback();
            }
            pair.transaction("INSERT INTO t VALUES (1)",
                    "DO $$ BEGIN EXECUTE 'EXPLAIN ANALYZE CREATE TEMP TABLE own AS SELECT 1 AS id'; END $$")
                    .assertEqual("t");
            commit(pair,
                    "DO $$ BEGIN CREATE MATERIALIZED VIEW seen AS SELECT id FROM t; CREATE TABLE u (id int PRIMARY KEY); "
                            + "INSERT INTO u VALUES (2); END $$");
            pair.assertEqual("seen", "u");
        }
    }

    @Test
    void whatConcernsTemporaryObjectsConcernsNobodyElse() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY)")) {
            pair.transaction("""
                    DO $$ BEGIN
                        INSERT INTO t VALUES (1);
                        CREATE TEMP TABLE mine AS SELECT 1 AS a;
                        ALTER TABLE mine ADD b int;
                        CREATE INDEX ON mine (b);
                        INSERT INTO mine VALUES (2, 3);
                        DROP TABLE mine;
                        DROP TABLE IF EXISTS mine;
                    END $$""");
            pair.assertEqual("t");
            SQLException mixed = assertThrows(SQLException.class, () -> pair.session.execute(
                    "DO $$ BEGIN CREATE TEMP TABLE mine (a int); DROP TABLE mine, t; END $$"));
            assertEquals("0A000", mixed.getSQLState());
            pair.session.connection().rollback();
        }
    }

    @Test
    void theirRoleAndSearchPathAreThoseOfTheFunction() throws Exception {
        try (Pair pair = new Pair("DROP SCHEMA IF EXISTS s; CREATE SCHEMA s",
                "DO $$ BEGIN CREATE ROLE nested; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
                "GRANT CREATE, USAGE ON SCHEMA s TO nested",
                """
                        CREATE FUNCTION makes() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = s, pg_temp
                            AS 'BEGIN CREATE TABLE made (id int PRIMARY KEY); END'""",
                "ALTER FUNCTION makes() OWNER TO nested")) {
            commit(pair, "SELECT makes()", "INSERT INTO s.made VALUES (1)");
            pair.assertEqual("s.made");
            assertEquals(List.of(List.of("nested")),
                    Pair.rows(pair.other, "SELECT relowner::regrole FROM pg_class WHERE oid = 's.made'::regclass"));
        }
    }

    /** Each node would compute the rows anew. */
    @Test
    void aColumnIsNotMadeAnewByWhatVaries() throws Exception {
        try (Pair pair = new Pair("DROP SCHEMA IF EXISTS s CASCADE; CREATE SCHEMA s",
                "CREATE TABLE s.t (id int PRIMARY KEY, v int)",
                "CREATE FUNCTION s.hidden(int) RETURNS text LANGUAGE sql AS 'SELECT gen_random_uuid()::text'",
                "CREATE FUNCTION s.hid(s.t) RETURNS text LANGUAGE sql AS 'SELECT gen_random_uuid()::text'",
                "CREATE OPERATOR s.@#@ (FUNCTION = s.hidden, RIGHTARG = int)")) {
            pair.transaction("INSERT INTO s.t VALUES (1, 1)");
            for (String expression : List.of("random()", "(SELECT_ + random())::int", "clock_timestamp()::text",
                    "v::text || current_timestamp", "'now'::timestamptz",
                    "hidden(v)", "@#@ v", "t.hid", "\"hidden\" /* x */ (v)", "CASE WHEN v > 0 THEN now()::text END")) {
                isRefused(pair, expression.replace("SELECT_", "v"));
            }
        }
    }

    private static void isRefused(Pair pair, String using) throws SQLException {
        for (String table : List.of("t", "IF EXISTS ONLY s . \"t\"", "U&\"t\"")) {
            for (String sql : List.of("ALTER TABLE " + table + " ALTER COLUMN v TYPE text USING " + using,
                    "/* x */ ALTER TABLE " + table + " ADD w int, ALTER v SET DATA TYPE text COLLATE \"C\" USING ("
                            + using + ")::text, ADD x int;")) {
                for (String body : List.of("EXECUTE $q$" + sql + "$q$", sql.replace(";", ""))) {
                    String block = "SET LOCAL search_path = s; DO $$ BEGIN " + body + "; END $$";
                    SQLException refused = assertThrows(SQLException.class, () -> pair.session.execute(block), block);
                    assertEquals("0A000", refused.getSQLState(), refused.toString());
                    pair.session.connection().rollback();
                }
            }
        }
    }

    private static Pair withCheckedType(String... more) throws Exception {
        List<String> schema = new ArrayList<>(List.of("DROP SCHEMA IF EXISTS s CASCADE; CREATE SCHEMA s",
                "DO $$ BEGIN CREATE ROLE nested; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
                "CREATE SEQUENCE s.calls", "GRANT USAGE, CREATE ON SCHEMA s TO nested", """
                        CREATE FUNCTION s.check(int) RETURNS boolean LANGUAGE plpgsql AS $$
                        BEGIN
                            PERFORM CASE WHEN current_user <> 'nested' THEN nextval('s.calls') END;
                            RETURN true;
                        END $$""",
                "CREATE DOMAIN s.checked AS int CHECK (s.check(VALUE))", "CREATE TYPE s.whole AS (part s.checked)"));
        schema.addAll(List.of(more));
        return new Pair(schema.toArray(String[]::new));
    }

    private static void assertNotCalledWithTheRightsOfTheNode(Pair pair) throws Exception {
        assertEquals(List.of(List.of("f")), Pair.rows(pair.one, "SELECT is_called FROM s.calls"));
    }

    @Test
    void aDefaultIsNotParsedAgainWithTheRightsOfTheNode() throws Exception {
        try (Pair pair = withCheckedType()) {
            pair.session.execute("SET LOCAL ROLE nested");
            pair.session.execute("DO $do$ BEGIN CREATE FUNCTION s.notifies(a s.whole DEFAULT '(1)') RETURNS void"
                    + " LANGUAGE plpgsql AS 'BEGIN NOTIFY x; END'; END $do$");
            pair.session.connection().rollback();
            assertNotCalledWithTheRightsOfTheNode(pair);
        }
    }

    /** Such a literal calls the domain's function where it is parsed; and a string that goes on in the next line has escapes, as its first part. */
    @Test
    void nothingOfSuchAColumnIsCalledWithTheRightsOfTheNode() throws Exception {
        try (Pair pair = withCheckedType("CREATE TABLE s.t (id int PRIMARY KEY, v text)",
                "ALTER TABLE s.t OWNER TO nested")) {
            for (String change : List.of("ALTER v TYPE int USING ('(1)'::s.whole).part",
                    "ALTER v TYPE int USING ('{1}'::s.checked[])[1]",
                    "ALTER v SET DEFAULT E'a'\n'\\' TYPE USING 1) AS value FROM s.t; SELECT nextval($$s.calls$$); SELECT 1 AS x --'")) {
                pair.session.execute("SET LOCAL ROLE nested");
                try {
                    pair.session.execute("DO $do$ BEGIN EXECUTE $q$ALTER TABLE s.t " + change + "$q$; END $do$");
                } catch (SQLException refused) {
                    assertEquals("0A000", refused.getSQLState(), refused.toString());
                }
                pair.session.connection().rollback();
                assertNotCalledWithTheRightsOfTheNode(pair);
            }
        }
    }

    /** The server computes what is constant in an index's expression when it plans a query on the table. */
    @Test
    void anIndexIsNotComputedWithTheRightsOfTheNode() throws Exception {
        try (Pair pair = withCheckedType("CREATE TABLE s.t (id int PRIMARY KEY)", "ALTER TABLE s.t OWNER TO nested",
                "CREATE FUNCTION s.fixed(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN s.check($1); END'",
                "SET ROLE nested; CREATE INDEX ON s.t ((s.fixed(1)))")) {
            pair.session.execute("SET LOCAL ROLE nested");
            pair.session.execute("DO $do$ BEGIN ALTER TABLE s.t ADD COLUMN at timestamptz DEFAULT now(); END $do$");
            pair.session.connection().rollback();
            assertNotCalledWithTheRightsOfTheNode(pair);
            pair.transaction("INSERT INTO s.t VALUES (1)");
            assertEquals("0A000", assertThrows(SQLException.class, () -> pair.session.execute(
                    "DO $do$ BEGIN ALTER TABLE s.t ADD COLUMN at timestamptz DEFAULT now(); END $do$")).getSQLState());
        }
    }

    /** A type's owner may say how its values are cast to text. */
    @Test
    void aKeyIsNotCastWithTheRightsOfTheNode() throws Exception {
        try (Pair pair = withCheckedType("CREATE TYPE s.key AS (a int, b text); ALTER TYPE s.key OWNER TO nested",
                "CREATE FUNCTION s.shown(s.key) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN s.check(1); END'",
                "SET ROLE nested; CREATE CAST (s.key AS text) WITH FUNCTION s.shown(s.key)",
                "CREATE TABLE s.t (k s.key PRIMARY KEY, v int, n s.key UNIQUE)",
                "ALTER TABLE s.t OWNER TO nested")) {
            pair.transaction("INSERT INTO s.t VALUES (ROW(1, 'a'), 1, NULL)").transaction("UPDATE s.t SET v = 2")
                    .transaction("UPDATE s.t SET k = ROW(2, 'b')").transaction("UPDATE s.t SET n = ROW(NULL, NULL)");
            pair.assertEqual("s.t");
            assertNotCalledWithTheRightsOfTheNode(pair);
        }
    }

    /** All tables that a statement writes anew are looked at, not the last one. */
    @ParameterizedTest
    @ValueSource(strings = {"CREATE TABLE first PARTITION OF t FOR VALUES FROM (0) TO (9);"
            + " CREATE TABLE second PARTITION OF t FOR VALUES FROM (9) TO (19)", "CREATE TABLE first () INHERITS (t)"})
    void noPartIsFilledDifferentlyAtEachNode(String parts) throws Exception {
        try (Pair pair = new Pair(
                "CREATE TABLE t (id int) " + (parts.contains("PARTITION") ? "PARTITION BY RANGE (id)" : ""),
                parts, "INSERT INTO t VALUES (1)")) {
            assertEquals("0A000", assertThrows(SQLException.class, () -> pair.session.execute(
                    "DO $$ BEGIN ALTER TABLE t ADD COLUMN c float8 DEFAULT random(); END $$")).getSQLState());
        }
    }

    /** Each node fills the rows by itself, and is then told what they are where the statement was executed. */
    @Test
    void aColumnIsFilledAsAtTheOrigin() throws Exception {
        List<String> columns = List.of("float8 DEFAULT random()", "timestamptz NOT NULL DEFAULT now()",
                "timestamptz DEFAULT clock_timestamp() + interval '1 day'", "uuid NOT NULL DEFAULT gen_random_uuid()",
                "time DEFAULT LOCALTIME", "text DEFAULT md5(random()::text)",
                "varchar DEFAULT to_char(now() AT TIME ZONE 'UTC', 'US')",
                "letter DEFAULT 'b', ADD COLUMN letters letter[] DEFAULT ARRAY['a'::letter], ADD COLUMN named regclass DEFAULT 'low'",
                "text DEFAULT 'low'::regclass, ADD COLUMN dull dull, ADD COLUMN doubled int DEFAULT doubled(2)",
                "float8 DEFAULT random(), ADD COLUMN other float8 DEFAULT random(), ADD COLUMN plain int DEFAULT 7");
        try (Pair pair = new Pair(
                "CREATE TABLE t (id int PRIMARY KEY, v text, twice int GENERATED ALWAYS AS (id * 2) STORED)",
                "ALTER TABLE t ADD COLUMN virtual int GENERATED ALWAYS AS (id * 3) VIRTUAL",
                "CREATE TABLE parted (id int PRIMARY KEY, v text) PARTITION BY RANGE (id)",
                "CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (9)",
                "CREATE TABLE high PARTITION OF parted FOR VALUES FROM (9) TO (99)",
                "ALTER TABLE t DROP COLUMN virtual",
                "ALTER TABLE t ADD COLUMN virtual int GENERATED ALWAYS AS (id * 3) VIRTUAL",
                "CREATE TYPE letter AS ENUM ('a', 'b')", "CREATE DOMAIN dull AS regclass DEFAULT 'low'",
                "CREATE FUNCTION doubled(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 2'")) {
            pair.transaction("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, NULL)",
                    "INSERT INTO parted SELECT i, 'p' || i FROM generate_series(1, 20) i");
            for (int i = 0; i < columns.size(); i++) {
                String added = " ADD COLUMN c" + i + " " + columns.get(i);
                commit(pair, "UPDATE t SET v = v || ' before' WHERE id < 3",
                        "DO $$ BEGIN ALTER TABLE t" + added + "; END $$",
                        "UPDATE t SET v = v || ' behind' WHERE id > 1", "DELETE FROM t WHERE id = " + (10 + i),
                        "INSERT INTO t (id, v) VALUES (" + (11 + i) + ", 'new')",
                        "DO $$ BEGIN ALTER TABLE parted" + added + "; END $$");
                pair.assertEqual("t", "parted");
            }
            commit(pair,
                    "DO $$ BEGIN ALTER TABLE t ADD COLUMN late float8 DEFAULT random(); ALTER TABLE t DROP COLUMN v;"
                            + " ALTER TABLE t RENAME TO u; UPDATE u SET plain = 8 WHERE id = 1; ALTER TABLE u ADD UNIQUE (late); END $$");
            pair.assertEqual("u");
            pair.transaction("UPDATE u SET late = 5 WHERE id = 1");
            pair.assertEqual("u");
        }
    }

    /**
     * A column draws from its own sequence: each node gives as many values, to rows in an order of its own, and then gets the origin's rows. The origin's are in another order, since
     * it has room where others were.
     */
    @ParameterizedTest
    @ValueSource(strings = {"serial", "bigserial PRIMARY KEY",
            "smallserial UNIQUE, ADD COLUMN r float8 DEFAULT random()",
            "int GENERATED ALWAYS AS IDENTITY (START WITH 7 INCREMENT BY 3)",
            "bigint GENERATED BY DEFAULT AS IDENTITY UNIQUE", "int NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY"})
    void whatAColumnDrawsIsAsAtTheOrigin(String column) throws Exception {
        boolean keys = column.contains("PRIMARY");
        try (Pair pair = new Pair("CREATE TABLE t (a text NOT NULL" + (keys ? "" : " PRIMARY KEY") + ", v text)",
                "CREATE TABLE parent (a text PRIMARY KEY)", "CREATE TABLE child (a text REFERENCES parent)")) {
            pair.transaction("INSERT INTO t VALUES ('one'), ('two'), ('three')",
                    "INSERT INTO parent VALUES ('one'), ('two')");
            pair.transaction("UPDATE t SET v = 'x' WHERE a = 'one'");
            pair.transaction("UPDATE t SET v = 'y' WHERE a = 'one'", "UPDATE t SET v = 'y' WHERE a = 'two'");
            BackendConnection admin = TestServer.connect(pair.one);
            TestServer.execute(admin, "VACUUM t");
            admin.close();
            commit(pair, "INSERT INTO t VALUES ('four')",
                    "DO $$ BEGIN ALTER TABLE t ADD COLUMN k " + column + "; END $$",
                    "UPDATE t SET v = 'z' WHERE a = 'three'", "INSERT INTO t (a) VALUES ('five')");
            pair.assertEqual("t");
            pair.transaction("INSERT INTO t (a) VALUES ('six')");
            pair.assertEqual("t");
            if (column.equals("serial")) {
                commit(pair, "DO $$ BEGIN ALTER TABLE parent ADD COLUMN k serial; END $$");
                pair.assertEqual("parent");
            }
        }
    }

    /** Where another node could fail with values of its own, or would not find the row. */
    @ParameterizedTest
    @ValueSource(strings = {"u uuid UNIQUE DEFAULT gen_random_uuid()", "f float8 DEFAULT random() CHECK (f <= 1)",
            "k bigserial CHECK (k < 100)", "k int GENERATED BY DEFAULT AS IDENTITY (MAXVALUE 5 CYCLE)",
            "k int DEFAULT nextval('counted')", "k serial REFERENCES t", "n int DEFAULT (random() * 10)::int",
            "h float8 DEFAULT random(), ADD COLUMN g float8 GENERATED ALWAYS AS (h * 2) STORED",
            "d chance DEFAULT random()",
            "w float8 DEFAULT drawn()", "s text DEFAULT random()::text::varchar(9)", "m stamp", "m later",
            "p text DEFAULT told()", "h int DEFAULT hashenum('b'::letter)", "n int DEFAULT +!! 1",
            "h int DEFAULT hash_array(ARRAY['a'::letter])", "o oid DEFAULT 't'::regclass",
            "n int DEFAULT length('t'::regclass::oid::text)"})
    void aColumnIsNotFilledWhereOthersCouldNotFollow(String column) throws Exception {
        try (Pair pair = new Pair("CREATE DOMAIN chance AS float8", "CREATE DOMAIN stamp AS timestamptz DEFAULT now()",
                "CREATE DOMAIN later AS stamp", "CREATE TYPE letter AS ENUM ('a', 'b')",
                "CREATE FUNCTION told() RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT current_setting(''port'')'",
                "CREATE FUNCTION shifted(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN length(told()) + $1; END'",
                "CREATE OPERATOR +!! (FUNCTION = shifted, RIGHTARG = int)",
                "CREATE FUNCTION drawn() RETURNS float8 LANGUAGE sql AS 'SELECT random()'",
                "CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE keyless (id int)", "CREATE SEQUENCE counted")) {
            pair.transaction("INSERT INTO t VALUES (1)", "INSERT INTO keyless VALUES (1)");
            for (String table : List.of("t", "keyless")) {
                SQLException refused = assertThrows(SQLException.class,
                        () -> pair.session
                                .execute("DO $$ BEGIN ALTER TABLE " + table + " ADD COLUMN " + column + "; END $$"));
                assertEquals("0A000", refused.getSQLState(), refused.toString());
                pair.session.connection().rollback();
            }
            assertEquals("0A000", assertThrows(SQLException.class, () -> pair.session.execute(
                    "DO $$ BEGIN ALTER TABLE keyless ADD COLUMN at timestamptz DEFAULT now(); END $$")).getSQLState());
        }
    }

    /** A type's tables are filled, too. */
    @Test
    void noTableOfATypeIsFilledDifferentlyAtEachNode() throws Exception {
        try (Pair pair = new Pair("CREATE DOMAIN stamp AS timestamptz DEFAULT now()", "CREATE TYPE kind AS (id int)",
                "CREATE TABLE t OF kind (PRIMARY KEY (id))")) {
            commit(pair,
                    "DO $$ BEGIN ALTER TYPE kind ADD ATTRIBUTE v text CASCADE; INSERT INTO t VALUES (1, 'x'); END $$");
            pair.assertEqual("t");
            assertEquals("0A000", assertThrows(SQLException.class, () -> pair.session.execute(
                    "DO $$ BEGIN ALTER TYPE kind ADD ATTRIBUTE made stamp CASCADE; END $$")).getSQLState());
        }
    }

    private static void assertRefused(Pair pair, String state, String sql) throws SQLException {
        SQLException refused = assertThrows(SQLException.class,
                () -> pair.session.execute("DO $do$ BEGIN " + sql + "; END $do$"), sql);
        assertEquals(state, refused.getSQLState(), refused.toString());
        pair.session.connection().rollback();
    }

    /** Rows of another node's are put into the partition that they have there. */
    @Test
    void noPartitionIsChosenByNumbersOfTheNode() throws Exception {
        try (Pair pair = new Pair("CREATE TYPE mood AS ENUM ('fine', 'so so')", "CREATE DOMAIN humour AS mood",
                "CREATE TYPE kind AS (a int, of regtype)", "CREATE TYPE plain AS (a int, b text)",
                "CREATE TYPE moods AS RANGE (SUBTYPE = mood)")) {
            for (String type : List.of("mood", "humour", "mood[]", "kind", "moods", "regrole")) {
                assertRefused(pair, "0A000", "CREATE TABLE parted (n int, m " + type + ") PARTITION BY HASH (n, m)");
            }
            for (String key : List.of("(CASE WHEN v = 1 THEN 'fine'::mood END)",
                    "(ARRAY[CASE WHEN v = 1 THEN 'fine'::mood END])",
                    "((v::oid)::regclass)")) {
                assertRefused(pair, "0A000", "CREATE TABLE parted (v int) PARTITION BY HASH (" + key + ")");
            }
            commit(pair,
                    "DO $$ BEGIN CREATE TABLE parted (m mood, v plain, w text) PARTITION BY HASH (v, w, (m = 'fine'));"
                            + " CREATE TABLE part PARTITION OF parted FOR VALUES WITH (MODULUS 1, REMAINDER 0);"
                            + " CREATE TABLE listed (m mood) PARTITION BY LIST (m);"
                            + " CREATE TABLE fine PARTITION OF listed FOR VALUES IN ('fine');"
                            + " INSERT INTO parted VALUES ('fine', (1, 'x'), 'y'); INSERT INTO listed VALUES ('fine'); END $$");
            pair.assertEqual("parted", "listed");
        }
    }

    @Test
    void xmlIsToldWithItsDeclarationOrNotAtAll() throws Exception {
        String declared = "'<?xml version=\"1.0\" encoding=\"UTF-8\"?><a/>'";
        try (Pair pair = new Pair("CREATE TYPE part AS (a int, x xml)", "CREATE DOMAIN doc AS xml",
                "CREATE TABLE t (id int PRIMARY KEY, x xml)")) {
            pair.transaction("INSERT INTO t VALUES (1, " + declared + "), (2, NULL)");
            commit(pair, "DO $$ BEGIN CREATE TABLE made AS SELECT id AS t, x, (id, x)::part AS p, random() AS r FROM t;"
                    + " ALTER TABLE t ADD COLUMN at timestamptz DEFAULT now(); END $$");
            pair.assertEqual("(SELECT m.t, m.x::text, (m.p).x::text AS px, r FROM made m)",
                    "(SELECT id, x::text, at FROM t)");
            for (String refused : List.of("CREATE TABLE more (p part[])", "CREATE TABLE more (d doc[])",
                    "ALTER TABLE t ADD COLUMN p part[]", "CREATE TABLE more AS SELECT ARRAY[(1, NULL)::part] AS p")) {
                assertRefused(pair, "0A000", refused);
            }
        }
    }

    @Test
    void noConstraintHasTheNameOfAnIndexThatIsBuilt() throws Exception {
        String name = "tutti_building_0123456789abcdef";
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, k int CONSTRAINT plain UNIQUE)")) {
            for (String sql : List.of("CREATE TABLE u (id int PRIMARY KEY, k int CONSTRAINT " + name + " UNIQUE)",
                    "ALTER TABLE t ADD CONSTRAINT " + name + " UNIQUE (k)",
                    "ALTER TABLE t RENAME CONSTRAINT plain TO " + name, "ALTER INDEX plain RENAME TO " + name,
                    "CREATE TABLE u (k int, CONSTRAINT " + name + " EXCLUDE USING btree (k WITH =))")) {
                assertRefused(pair, "55006", sql);
            }
        }
    }

    @Test
    void whatIsNamedLikeATemporaryObjectConcernsAll() throws Exception {
        try (Pair pair = new Pair("CREATE FOREIGN DATA WRAPPER w", "CREATE SERVER pg_temp_s FOREIGN DATA WRAPPER w",
                "CREATE SERVER other FOREIGN DATA WRAPPER w")) {
            commit(pair, "DO $$ BEGIN DROP SERVER pg_temp_s; END $$");
            pair.assertEqual("(SELECT srvname FROM pg_foreign_server)");
            assertEquals("0A000", assertThrows(SQLException.class, () -> pair.session.execute(
                    "SELECT tutti.execute_shared('CREATE USER MAPPING FOR CURRENT_USER SERVER other')")).getSQLState());
        }
    }

    @Test
    void aColumnIsMadeAnewByWhatIsTheSameEverywhere() throws Exception {
        try (Pair pair = new Pair(
                "CREATE TABLE t (id int PRIMARY KEY, v text, w text, \"using\" int, EXCLUDE USING btree (id WITH =))")) {
            pair.transaction("INSERT INTO t VALUES (1, '20240102', '{1,2}', 3)");
            commit(pair,
                    "DO $$ BEGIN ALTER TABLE t ALTER v TYPE date USING to_date(v, 'YYYYMMDD'), ALTER w TYPE int[] USING w::int[],"
                            + " ADD UNIQUE USING INDEX t_id_excl1; EXCEPTION WHEN undefined_object THEN"
                            + " ALTER TABLE t ALTER v TYPE date USING to_date(v, 'YYYYMMDD'), ALTER w TYPE int[] USING (w::int[])[1:1],"
                            + " ADD EXCLUDE USING btree (v WITH =); END $$");
            pair.assertEqual("t");
        }
    }

    @Test
    void whatCannotBeToldIsRefused() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY)",
                "CREATE FUNCTION plain() RETURNS void LANGUAGE sql AS 'CREATE TABLE made (a int)'")) {
            for (String sql : List.of("SELECT plain()",
                    "DO $$ BEGIN EXECUTE 'CREATE TABLE a (a int); CREATE TABLE b (a int)'; END $$",
                    "DO $$ BEGIN EXECUTE 'CREATE TABLE a (a int); INSERT INTO t VALUES (1)'; END $$",
                    "DO $$ BEGIN CREATE SUBSCRIPTION s CONNECTION '' PUBLICATION p WITH (connect = false); END $$")) {
                assertEquals("0A000", assertThrows(SQLException.class, () -> pair.session.execute(sql), sql)
                        .getSQLState(), sql);
                pair.session.connection().rollback();
            }
            for (String sql : List.of("CREATE ROLE untold", "ALTER ROLE postgres SET work_mem = 64",
                    "ALTER DATABASE postgres CONNECTION LIMIT 7")) {
                pair.session.execute("DO $$ BEGIN EXECUTE '" + sql + "'; END $$");
                assertEquals("0A000",
                        assertThrows(SQLException.class, pair.session::gather, sql).getSQLState(), sql);
                pair.session.connection().rollback();
            }
            pair.transaction("INSERT INTO t VALUES (1)");
        }
    }

    /** Wherever it stands in a long text: tokens are looked for in pieces of it. */
    @Test
    void aTextHasTheSameTokensWhereverItsPiecesEnd() throws Exception {
        List<String> tokens = List.of("a1_$b", " ", "'it''s'", ",", "e'\\'x'''", " ", "\"Quo\"\"ted\"", "--line -- /*",
                "\n",
                "/* /* nested */ ' */", "$", "1", "$$do $x$ not$$", " \t", "$tag$ $tag $$ $tag$", "-", "/", "ünïcödé",
                " ",
                "E'first'  -- '\n  'second'", ";");
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY)")) {
            for (int place = 800; place <= 1010; place++) {
                assertEquals(List.of(List.of("t")),
                        Pair.rows(pair.one, "SELECT tutti.tokens(concat(repeat('y', " + place + "), ';', "
                                + literal(String.join("", tokens)) + ")) = ARRAY[repeat('y', " + place + "), ';', "
                                + tokens.stream().map(NestedStatementsTest::literal).collect(Collectors.joining(", "))
                                + "]"),
                        "at " + place);
            }
            String statements = "SELECT 1; ".repeat(500);
            for (String open : List.of("'no end", "\"no end", "/* /* no end */", "e'no end\\'", "$a$ no end $b$")) {
                assertEquals(List.of(List.of("t")),
                        Pair.rows(pair.one,
                                "SELECT tokens[cardinality(tokens)] IS NULL AND array_to_string(tokens, '') = "
                                        + literal(statements) + " FROM tutti.tokens(" + literal(statements + open)
                                        + ") tokens"),
                        open);
            }
        }
    }

    private static String literal(String text) {
        return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'";
    }

    @Test
    void notifyInCodeIsACallThatIsTold() throws Exception {
        try (Pair pair = new Pair()) {
            String code = """
                    BEGIN -- NOTIFY commented;
                        NOTIFY Plain; IF true THEN NOTIFY "Quo""ted", 'it''s'; END IF; NOTIFY e, E'it\\'s;';
                        RAISE NOTICE 'x; NOTIFY text;'; PERFORM CASE WHEN true THEN 1 END;
                    END""";
            commit(pair, "DO $do$ BEGIN EXECUTE $f$ CREATE FUNCTION tells() RETURNS void LANGUAGE plpgsql AS $$" + code
                    + "$$ $f$; END $do$");
            for (String database : List.of(pair.one, pair.other)) {
                assertEquals(List.of(List.of(code
                        .replace("NOTIFY Plain;", "PERFORM pg_catalog.pg_notify('plain', '');")
                        .replace("NOTIFY \"Quo\"\"ted\", 'it''s';",
                                "PERFORM pg_catalog.pg_notify('Quo\"ted', 'it''s');")
                        .replace("NOTIFY e, E'it\\'s;';", "PERFORM pg_catalog.pg_notify('e', E'it\\'s;');"))),
                        Pair.rows(database, "SELECT prosrc FROM pg_proc WHERE proname = 'tells'"));
            }
            assertThrows(SQLException.class, () -> pair.session.execute("DO $do$ BEGIN CREATE FUNCTION f() RETURNS void"
                    + " LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('NOTIFY %I', 'x'); END $$; END $do$"));
        }
    }
}
