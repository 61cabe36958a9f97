package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.engine.postgres.catalog.InBandTables;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;
import tutti.pgwire.PostgresException;
import tutti.wire.InBandFixture.Way;

/** A role tries to have rows replicated that no statement has changed, or to hide rows that one has. */
@Timeout(120)
class InBandForgedTest {
    private static InBandFixture fixture;
    private static String forged = "";
    private BackendConnection alice;

    @BeforeAll
    static void start() throws Exception {
        fixture = new InBandFixture("""
                CREATE TABLE victim (id int PRIMARY KEY, word text);
                CREATE TABLE mine (id int PRIMARY KEY, word text);
                CREATE TABLE hidden (id int PRIMARY KEY);
                CREATE TABLE watched (id int PRIMARY KEY);
                REVOKE INSERT, UPDATE, DELETE ON victim FROM PUBLIC; GRANT CREATE ON SCHEMA public TO alice;
                ALTER TABLE mine OWNER TO alice;
                CREATE FUNCTION hide() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN INSERT INTO hidden VALUES (NEW.id); RETURN NULL; END';
                CREATE TRIGGER hide AFTER INSERT ON watched FOR EACH ROW EXECUTE FUNCTION hide();
                CREATE TABLE orders (id int PRIMARY KEY, what text);
                CREATE FUNCTION obey() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN EXECUTE NEW.what; RETURN NULL; END';
                CREATE CONSTRAINT TRIGGER obey AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW EXECUTE FUNCTION obey();
                CREATE FUNCTION run(what text) RETURNS int LANGUAGE plpgsql AS 'BEGIN EXECUTE what; RETURN 1; END';
                """);
        forged = fixture.forgedVictim();
    }

    @AfterAll
    static void stop() throws Exception {
        fixture.close();
    }

    @BeforeEach
    void rows() throws Exception {
        fixture.node.reset();
        fixture.past(
                "DELETE FROM victim; DELETE FROM mine; DELETE FROM hidden; DELETE FROM watched; DELETE FROM orders;"
                        + " INSERT INTO victim VALUES (1, 'true'); INSERT INTO mine VALUES (1, 'a'), (2, 'b')");
        fixture.committed();
        fixture.node.forget();
        alice = fixture.client(Way.EITHER);
    }

    private String say(String sql) throws Exception {
        return Conversation.simple(alice, sql);
    }

    /** A schema change, which the scripted node knows in transactions only. */
    private void schema(String sql) throws Exception {
        say("begin");
        String answer = say(sql);
        assertFalse(answer.contains("E("), answer);
        say("commit");
        fixture.engine.refreshCatalog().get(20, java.util.concurrent.TimeUnit.SECONDS);
        fixture.committed();
    }

    private String prepare(String name, String sql) throws Exception {
        return Conversation.get(Conversation.send(alice, out -> {
            Frontend.parse(out, name, sql);
            Frontend.sync(out);
        }));
    }

    private String execute(String name) throws Exception {
        return Conversation.get(Conversation.send(alice, out -> {
            Frontend.bind(out, "", name);
            Frontend.execute(out, "", 0);
            Frontend.sync(out);
        }));
    }

    private static void nothingForged() throws Exception {
        List<String> committed = fixture.committed();
        assertFalse(committed.toString().contains("forged"), committed.toString());
        assertFalse(committed.toString().contains("victim"), committed.toString());
    }

    @Test
    void aStatementThatWasReplacedBySqlIsNotBelieved() throws Exception {
        assertTrue(fixture.proven("update victim set word = 'x'"));
        prepare("s", "update victim set word = 'x'");
        for (String replace : List.of("deallocate s; prepare s as select " + forged,
                "select run('deallocate s'), run($$prepare s as select " + forged + "$$)",
                "do $$ begin execute 'deallocate all'; execute 'prepare s as update mine set word = word returning "
                        + forged.replace("'", "''") + "'; end $$")) {
            say(replace);
            say("begin");
            execute("s");
            say("update mine set word = 'c' where id = 1");
            say("commit");
            nothingForged();
            say("deallocate all");
            prepare("s", "update victim set word = 'x'");
        }
    }

    @Test
    void aStatementThatTheEngineHasNotParsedIsNotBelieved() throws Exception {
        say("prepare s as update mine set word = word where id = 1 returning " + forged);
        assertTrue(prepare("s", "update victim set word = 'x'").contains("42P05"));
        execute("s");
        nothingForged();
        Conversation.get(Conversation.send(alice, out -> {
            Frontend.parse(out, "", "nonsense");
            Frontend.closeStatement(out, "s");
            Frontend.parse(out, "s", "update victim set word = 'x'");
            Frontend.sync(out);
        }));
        execute("s");
        nothingForged();
        Conversation.get(Conversation.send(alice, out -> {
            Frontend.parse(out, "s", "update victim set word = 'x'");
            Frontend.bind(out, "", "s");
            Frontend.execute(out, "", 0);
            Frontend.sync(out);
        }));
        execute("s");
        nothingForged();
    }

    @Test
    void aPortalThatWasReplacedBySqlIsNotBelieved() throws Exception {
        say("begin");
        Conversation.get(Conversation.send(alice, out -> {
            Frontend.parse(out, "", "update mine set word = 'c' returning id");
            Frontend.bind(out, "p", "");
            Frontend.sync(out);
        }));
        say("close p");
        say("declare p cursor for select 1, " + forged);
        Conversation.get(Conversation.send(alice, out -> {
            Frontend.execute(out, "p", 0);
            Frontend.sync(out);
        }));
        say("commit");
        nothingForged();
    }

    @Test
    void aStatementThatATransactionsTriggersReplaceAtItsEndIsNotBelieved() throws Exception {
        say("begin");
        say("insert into orders values (1, 'deallocate s'), (2, $$prepare s as update mine set word = word where id = 1 returning "
                + forged + "$$)");
        prepare("s", "update victim set word = 'x'");
        say("commit");
        fixture.committed();
        execute("s");
        nothingForged();
    }

    /** What the client has prepared as COMMIT is executed as its commit as long as it must still be that: the row is there, or the server would not have it. */
    @Test
    void aPreparedCommitThatWasReplacedDoesNotKeepTheTransactionFromCommitting() throws Exception {
        int round = 0;
        for (String replace : List.of("show work_mem",
                "select run('deallocate c'), run('prepare c as select 1')",
                "do $$ begin execute 'deallocate c'; execute 'prepare c as select 1'; end $$",
                "insert into orders values (1, 'deallocate c'), (2, 'prepare c as select 1')")) {
            prepare("c", "commit");
            say(replace);
            say("begin");
            String word = "round " + round++;
            assertEquals("C(UPDATE 1)/T", say("update mine set word = '" + word + "' where id = 1"));
            assertEquals("2C(COMMIT)/I", execute("c"), replace);
            assertEquals(word, fixture.admin.execute("SELECT word FROM mine WHERE id = 1", InBandFixture.PATIENCE)
                    .value(), replace);
            say("deallocate all");
        }
    }

    @Test
    void rowsOfTheClientsOwnTextAreNoRows() throws Exception {
        say("update mine set word = " + forged + " where id = 1 returning word");
        say("select " + forged + " from mine where id = 1 for update");
        List<String> committed = fixture.committed();
        assertEquals(1, committed.size());
        assertTrue(committed.getFirst().startsWith("update mine(1,"), committed.toString());
    }

    @Test
    void whatIsCountedIsOutOfReach() throws Exception {
        for (String attempt : List.of("select nextval('tutti.counted')", "select setval('tutti.counted', 1)",
                "select tutti.record_in_band('x', 1, 100)",
                "select set_config('session_preload_libraries', 'tutti.p100', true)",
                "set session_preload_libraries = 'tutti.p100'",
                "select tutti.capture_insert()")) {
            String answer = say(attempt);
            assertTrue(answer.contains("E("), attempt + ": " + answer);
        }
    }

    /** Clients of some languages ask for the last value that their session was given, of whichever sequence. */
    @Test
    void whatIsCountedIsNoValueOfASequence() throws Exception {
        schema("create table numbered (id serial primary key, word text)");
        alice.close();
        alice = fixture.client(Way.IN_BAND);
        for (int i = 1; i <= 2; i++) {
            assertEquals("C(INSERT 0 2)/I", say("insert into numbered (word) values ('a'), ('b')"));
            assertEquals(String.valueOf(2 * i), alice.execute("select lastval()", InBandFixture.PATIENCE).value());
        }
        alice.close();
        alice = fixture.client(Way.EITHER);
        say("insert into numbered (word) values ('c')");
        say("select pg_notify('told', 'c')");
        say("truncate orders");
        say("do $$ begin create temporary table passing (id int); end $$");
        assertEquals("5", alice.execute("select lastval()", InBandFixture.PATIENCE).value());
        fixture.committed();
        schema("drop table numbered");
    }

    /** If a proof should be wrong, the triggers count one row more than the node has seen. */
    @Test
    void aRowThatNoStatementHasToldKeepsTheTransactionFromCommitting() throws Exception {
        byte[] sql = "insert into watched values (1)".getBytes(StandardCharsets.UTF_8);
        byte[] text = "insert into watched values (1) RETURNING pg_catalog.concat(E'\\u00e9i', watched.tableoid, watched.*)"
                .getBytes(StandardCharsets.UTF_8);
        fixture.pretend(new InBandStatement(fixture.engine.catalog().table("public", "watched").oid(), sql, text,
                sql.length, false,
                1 << 20, false, fixture.schemaVersion()));
        BackendConnection client = fixture.client(Way.IN_BAND);
        client.execute("insert into watched values (1)", InBandFixture.PATIENCE);
        client.close();
        fixture.pretend(null);
        assertEquals("55000", ScriptedNode.take(fixture.node.failures));
        assertEquals("0", fixture.admin.execute("SELECT count(*) FROM hidden", InBandFixture.PATIENCE).value());
    }

    @Test
    void aChangedSchemaEndsWhatWasProven() throws Exception {
        prepare("u", "update mine set word = 'e' where id = 1");
        assertEquals("2C(UPDATE 1)/I", execute("u"));
        assertEquals(1, fixture.committed().size());
        schema("alter table mine add column at timestamptz default '2026-01-01'");
        schema("create trigger hide after update on mine for each row execute function hide()");
        assertEquals("2C(UPDATE 1)/I", execute("u"));
        assertTrue(fixture.committed().getFirst().contains("insert hidden(1)"));
        schema("drop trigger hide on mine");
        assertEquals("2C(UPDATE 1)/I", execute("u"));
        assertTrue(fixture.committed().getFirst().contains("update mine(1,e,\"2026-01-01"));
        schema("alter table mine drop column at");
        assertEquals("2C(UPDATE 1)/I", execute("u"));
        assertTrue(fixture.committed().getFirst().contains("update mine(1,e)"));
    }

    /** Drivers read rows as they were described: PostgreSQL refuses to execute what would have others now, and so does a node that prepares it again. */
    @ParameterizedTest
    @ValueSource(strings = {"with x as (update mine set word = 'f' where id = 1 returning *) select * from x",
            "update mine set word = 'f' where id = 1 returning *", "select * from mine where id = 1 for update"})
    void aPreparedStatementIsRefusedWhoseColumnsHaveChanged(String sql) throws Exception {
        prepare("columns", sql);
        prepare("id", sql.replace("*", "id"));
        String columns = execute("columns");
        String id = execute("id");
        assertTrue(columns.matches("2DC.*/I"), columns);
        schema("alter table mine add column more int");
        assertEquals("E(0A000)/I", execute("columns"));
        assertEquals("E(0A000)/I", execute("columns"));
        assertEquals(id, execute("id"));
        schema("alter table mine drop column more");
        assertEquals(columns, execute("columns"));
        say("begin");
        say("alter table mine add column more int");
        assertEquals("E(0A000)/E", execute("columns"));
        say("rollback");
        assertEquals(columns, execute("columns"));
        assertEquals(id, execute("id"));
        fixture.committed();
    }

    @Test
    void nothingIsKnownOfTablesWhileSomethingMayBeCalledUnnamed() throws Exception {
        assertTrue(fixture.proven("delete from mine"));
        schema("create function same(a text, b text) returns boolean language plpgsql immutable as 'begin return true; end'");
        schema("create operator public.= (leftarg = text, rightarg = text, function = same)");
        assertEquals(InBandTables.NONE.tables(), fixture.engine.inBandTables().tables());
        schema("drop operator public.= (text, text)");
        assertTrue(fixture.proven("delete from mine"));
        schema("drop function same(text, text)");
    }

    @Test
    void nothingIsToldWhileAFunctionOfAUsersPassesForARead() throws Exception {
        assertTrue(fixture.tells("delete from mine"));
        schema("create function lower(a int) returns text language plpgsql as 'begin return a; end'");
        assertFalse(fixture.tells("delete from mine"));
        schema("drop function lower(int)");
        assertTrue(fixture.tells("delete from mine"));
    }

    /** A view may have a column with the name of what tells a table's rows apart from another's. */
    @Test
    void aViewThatPassesForATableIsNotBelieved() throws Exception {
        String view = " as select id, " + fixture.engine.catalog().table("public", "victim").oid()
                + "::oid as tableoid from scratch";
        say("create temporary table scratch (id int)");
        say("insert into scratch values (1)");
        say("create temporary view victim" + view);
        assertEquals("C(UPDATE 1)/I", say("update victim set id = 2"));
        prepare("s", "update victim set id = 3");
        assertEquals("2C(UPDATE 1)/I", execute("s"));
        assertEquals("C(INSERT 0 1)/I", say("insert into victim (id) values (4)"));
        assertEquals("C(DELETE 2)/I", say("delete from victim"));
        nothingForged();
    }

    /** A table that is called with its schema keeps its name where something temporary stands beside it under the same one. */
    @Test
    void aTemporaryTableMayStandBesideTheOneOfItsName() throws Exception {
        say("create temporary table mine (id int, word text)");
        say("insert into mine values (1, 'temporary')");
        assertEquals("C(UPDATE 2)/I", say("update public.mine set word = 'both' from mine"));
        assertTrue(fixture.committed().toString().contains("both"));
        assertEquals("C(DELETE 2)/I", say("delete from public.mine using mine"));
        assertEquals("C(INSERT 0 1)/I", say("insert into public.mine values (9, 'x')"));
        assertEquals(2, fixture.committed().size());
    }

    /**
     * Temporary tables and types come before the server's own of their names wherever a search path does not say that they come last; and the server computes what
     * is constant in an index's expression when it plans a query, as whoever asks.
     */
    @Test
    void temporaryObjectsThatShadowTheServersOwnAreNotUsed() throws Exception {
        schema("create function fixed() returns boolean immutable language plpgsql as $$ begin"
                + " if current_user <> 'alice' then raise exception 'alice is %', current_user; end if; return true; end $$");
        schema("create sequence counts");
        for (String catalog : List.of("pg_class", "pg_namespace", "pg_constraint", "pg_trigger", "pg_proc",
                "pg_attribute", "pg_locks", "pg_roles", "pg_type", "pg_index", "pg_depend", "pg_inherits", "pg_attrdef",
                "pg_statistic_ext", "pg_sequence_here", "pg_largeobject_metadata", "pg_language", "pg_authid",
                "pg_auth_members", "pg_database", "pg_shdepend", "pg_stat_xact_all_tables", "pg_cursors")) {
            said("create temporary table " + catalog + " (oid oid)");
            said("create index on pg_temp." + catalog + " ((fixed()))");
        }
        for (String type : List.of("oid", "name", "bytea", "regclass", "xid8", "pg_lsn", "record", "text")) {
            said("create domain pg_temp." + type + " as pg_catalog.int4 check (value is null)");
        }
        for (String statement : List.of("begin", "insert into mine values (7, 'x')", "update mine set word = 'y'",
                "select setval('counts', 5)", "select pg_notify('a', 'b')", "truncate orders",
                "select lo_unlink(lo_create(77))",
                "do $$ begin create table nested (id int primary key); alter table nested add n int default 3;"
                        + " drop table nested; end $$",
                "create table shadowed (id int primary key, n serial)", "alter table shadowed add w pg_catalog.text",
                "drop table shadowed", "set constraints all immediate")) {
            said(statement);
        }
        assertEquals("C(COMMIT)/I", say("commit"));
        assertEquals(1, fixture.committed().size());
        alice.close();
        alice = fixture.client(Way.EITHER);
        schema("drop function fixed()");
        schema("drop sequence counts");
    }

    private void said(String sql) throws Exception {
        String answer = say(sql);
        assertFalse(answer.contains("E("), sql + ": " + answer);
    }

    /** What tells such a view from a table costs no session its rows in band, but those of the transaction in which it is found out. */
    @Test
    void aSessionWithTemporaryTablesTellsItsRows() throws Exception {
        schema("create table big (id int primary key, n int, m int, body text)");
        fixture.past("INSERT INTO big SELECT 1, 0, 0, string_agg(md5(i::text), '') FROM generate_series(1, 1000) i");
        fixture.engine.refreshCatalog().get(20, java.util.concurrent.TimeUnit.SECONDS);
        String told = "columns 03 big(1,";
        say("update big set n = 1");
        assertTrue(fixture.committed().getLast().startsWith(told), "in band, only what is assigned is told");
        assertEquals("C(CREATE TABLE)/I", say("create temporary table scratch (id int)"));
        say("update big set n = 2");
        assertTrue(fixture.committed().getLast().startsWith("columns 07 big(1,2,0,"), "by triggers");
        say("update big set n = 3");
        assertTrue(fixture.committed().getLast().startsWith(told));
        prepare("s", "update public.big as m set n = 4 where id = 1 returning m.*");
        assertTrue(execute("s").endsWith("C(UPDATE 1)/I"));
        assertTrue(fixture.committed().getLast().startsWith(told));
        say("drop table scratch");
    }

    /** As long as it is not known, that there is nothing temporary is asked, which the server can say sooner than what a row is. */
    @Test
    void temporaryTablesThatAFunctionHasMadeAreSeen() throws Exception {
        String text = "select position('pg_typeof' in statement) > 0 from pg_prepared_statements where name = 's'";
        prepare("s", "update mine set word = word || 'c' where id = 1");
        assertEquals("2C(UPDATE 1)/I", execute("s"));
        assertEquals("f", alice.execute(text, InBandFixture.PATIENCE).value());
        say("select run('create temporary table scratch (id int)')");
        for (int i = 0; i < 3; i++) {
            assertEquals("2C(UPDATE 1)/I", execute("s"));
        }
        assertEquals("t", alice.execute(text, InBandFixture.PATIENCE).value());
        assertTrue(fixture.committed().getLast().startsWith("update mine(1,acccc)"));
    }

    @Test
    void aTableWithADotInItsNameIsNotTakenForAnotherOne() throws Exception {
        fixture.admin.execute("BEGIN; SET LOCAL session_replication_role = replica; SET LOCAL event_triggers = off;"
                + " CREATE SCHEMA app; CREATE SCHEMA \"app.v1\"; CREATE TABLE app.\"v1.users\" (id int PRIMARY KEY);"
                + " GRANT SELECT ON app.\"v1.users\" TO alice; COMMIT", InBandFixture.PATIENCE);
        fixture.engine.refreshCatalog().get(20, java.util.concurrent.TimeUnit.SECONDS);
        assertTrue(fixture.proven("delete from app.\"v1.users\""));
        assertTrue(fixture.tellsLocks("select id from app.\"v1.users\" for update", "alice"));
        assertFalse(fixture.proven("delete from \"app.v1\".users"));
        assertFalse(fixture.tellsLocks("select id from \"app.v1\".users for update", "alice"));
    }

    /** The server cuts names behind 63 bytes. */
    @Test
    void aKeyWhoseNameIsCutIsTold() throws Exception {
        String name = "k".repeat(63);
        schema("create table cut (" + name + " int primary key)");
        say("insert into cut values (1)");
        fixture.committed();
        say("update cut set " + name + "k = 2");
        String told = fixture.committed().toString();
        assertTrue(told.contains("rekey cut(1)(2)"), told);
        schema("drop table cut");
    }

    /** The server plans a statement when it is bound, and calls for that what says of itself that it never changes anything. */
    @Test
    void whatIsBoundOnlyMayReplaceStatements() throws Exception {
        replacing("create function replaces() returns int language plpgsql as", "1");
        schema("create function fixed() returns int language plpgsql immutable as 'begin return replaces(); end'");
        for (String begin : List.of("", "begin")) {
            prepare("s", "update victim set word = 'x'");
            say(begin);
            Conversation.get(Conversation.send(alice, out -> {
                Frontend.parse(out, "f", "select fixed()");
                Frontend.bind(out, "f", "f");
                Frontend.sync(out);
            }));
            execute("s");
            say("commit");
            nothingForged();
            say("deallocate all");
        }
        schema("drop function fixed()");
    }

    /** Functions of the server's execute the text that they are given: what calls them need not name it. */
    @ParameterizedTest
    @ValueSource(strings = {
            "create view hides as select query_to_xml('select replaces()', true, true, '')|select * from hides|drop view hides",
            "create view hides as select ts_rewrite('a', $$select 'a'::tsquery, 'b' where replaces() = 1$$)|select * from hides|drop view hides",
            "create operator ~~~> (function = ts_rewrite, leftarg = tsquery, rightarg = text)"
                    + "|select 'a'::tsquery ~~~> $$select 'a'::tsquery, 'b' where replaces() = 1$$|drop operator ~~~> (tsquery, text)",
            "create aggregate sum(text) (sfunc = ts_rewrite, stype = tsquery, initcond = 'a')"
                    + "|select sum($$select 'a'::tsquery, 'b' where replaces() = 1$$::text)|drop aggregate sum(text)",
            "create domain hides as text check (query_to_xml(value, true, true, '') is not null)"
                    + "|select 'select replaces()'::hides|drop domain hides"})
    void whatExecutesATextIsSeenWhereNoStatementNamesIt(String attack) throws Exception {
        String[] parts = attack.split("\\|", -1);
        replacing("create function replaces() returns int language plpgsql as", "1");
        schema(parts[0]);
        prepare("s", "select 'not yet'");
        assertTrue(say(parts[1]).endsWith("/I"));
        assertFalse(execute("s").contains("not yet"), "the attack does nothing");
        say("deallocate all");
        fixture.committed();
        prepare("s", "update victim set word = 'x'");
        say(parts[1]);
        execute("s");
        nothingForged();
        schema(parts[2]);
    }

    /** Makes a function that puts another statement in the place of the one that is prepared as {@code s}. */
    private void replacing(String head, String returns) throws Exception {
        schema(head.replace("create", "create or replace")
                + " $$ begin execute 'deallocate s'; execute $r$prepare s as update mine set word = word where id = 1"
                + " returning " + forged + "$r$; return " + returns + "; end $$");
    }

    @Test
    void aRoleWithoutRightsIsToldTheSame() throws Exception {
        assertThrows(PostgresException.class,
                () -> alice.execute("update victim set word = 'x'", InBandFixture.PATIENCE));
        assertEquals(List.of(), fixture.committed());
    }
}
