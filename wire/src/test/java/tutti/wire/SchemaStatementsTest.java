package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.Conversation.extended;
import static tutti.wire.Conversation.simple;
import static tutti.wire.FrontEndFixture.PATIENCE;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.PostgresException;
import tutti.pgwire.QueryResult;
import tutti.pgwire.Scram;

/** Statements that every node executes, and scripts of several, message by message. */
@Timeout(60)
class SchemaStatementsTest extends OnFrontEnd {
    @Test
    void schemaChangesAreExecutedByAllReplicas() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("C(CREATE TABLE)/I", simple(client, "create table made_simple (a int)"));
        assertEquals("12C(CREATE TABLE)12DC(SELECT 1)/I",
                extended(client, "create table made_extended (a int)", "select 1"));
        assertEquals("E(42P07)/I", simple(client, "create table made_simple (a int)"));
        assertEquals("12E(42P07)/I", extended(client, "create table made_simple (a int)", "select 1"));
        assertEquals("alice: create table made_simple (a int)", ScriptedNode.take(fixture.node.barriers));
        simple(client, "begin");
        assertEquals("C(CREATE TABLE)/T", simple(client, "create table made_inside (a int)"));
        assertEquals("12C(ALTER TABLE)/T", extended(client, "alter table made_inside add b int"));
        assertEquals("C(COMMIT)/I", simple(client, "commit"));
        assertEquals("S alice: create table made_inside (a int);S alice: alter table made_inside add b int;",
                ScriptedNode.take(fixture.node.committed));
        client.close();
    }

    @Test
    void passwordsOfRolesAreHashedBeforeTheyAreOrdered() throws Exception {
        BackendConnection client = fixture.client();
        try {
            assertEquals("C(CREATE ROLE)/I", simple(client, "create role keeper login password 'open sesame'"));
            assertHashed("alice: create role keeper login password '", ScriptedNode.take(fixture.node.barriers));
            String stored = fixture.admin.execute(
                    "select rolpassword from pg_authid where rolname = 'keeper'", Duration.ofSeconds(20)).value();
            assertEquals(Scram.Verifier.of("open sesame", Scram.Verifier.parse(stored).salt(), 4096).toString(),
                    stored);
            assertEquals("12C(ALTER ROLE)/I", extended(client, "alter user keeper password 'open sesame 2'"));
            assertHashed("alice: alter user keeper password '", ScriptedNode.take(fixture.node.barriers));
            simple(client, "begin");
            assertEquals("C(ALTER ROLE)/T", simple(client, "alter role alice password 'wonderland'"));
            assertEquals("C(COMMIT)/I", simple(client, "commit"));
            assertHashed("S alice: alter role alice password '", ScriptedNode.take(fixture.node.committed));
            assertEquals("C(BEGIN)C(ALTER ROLE)C(COMMIT)/I",
                    simple(client, "begin; alter role alice password 'wonderland'; commit"));
            assertHashed("S alice: alter role alice password '", ScriptedNode.take(fixture.node.committed));
            assertEquals("E(0A000)/I", simple(client, "alter role keeper password U&'open sesame 5'"));
            assertEquals("E(0A000)/I", extended(client, "alter role keeper password n'open sesame 6'"));
            assertTrue(fixture.node.barriers.isEmpty(), fixture.node.barriers.toString());
        } finally {
            simple(client, "drop role keeper");
            client.close();
        }
    }

    private static void assertHashed(String before, String ordered) {
        assertTrue(ordered.startsWith(before + "SCRAM-SHA-256$4096:"), ordered);
        assertFalse(ordered.contains("sesame") || ordered.contains("wonderland"), ordered);
    }

    @Test
    void whatIsToBeDoneConcurrentlyIsDoneByEveryNodeAtOnePosition() throws Exception {
        BackendConnection client = fixture.client();
        simple(client, "create table indexed (a int)");
        ScriptedNode.take(fixture.node.barriers);
        assertEquals("NC(CREATE INDEX)/I", simple(client, "create unique index Concurrently by_a on indexed (a)"));
        assertEquals("alice: create unique index              by_a on indexed (a)",
                ScriptedNode.take(fixture.node.barriers));
        assertEquals("12NC(DROP INDEX)/I", extended(client, "drop index concurrently by_a"));
        simple(client, "begin");
        assertEquals("E(25001)/E", simple(client, "create index concurrently by_a on indexed (a)"));
        simple(client, "rollback");
        simple(client, "begin");
        assertEquals("12E(25001)/E", extended(client, "drop index concurrently by_a"));
        simple(client, "rollback");
        assertEquals("E(25001)/I", simple(client, "create index by_b on indexed (a); drop index concurrently by_b"));
        assertEquals("C(DROP TABLE)/I", simple(client, "drop table indexed"));
        client.close();
    }

    @Test
    void whatWritesACatalogAlikeAtAllNodesIsExecutedByAll() throws Exception {
        BackendConnection client = fixture.client();
        fixture.admin.execute("alter role alice superuser", PATIENCE);
        try {
            simple(client, "create table told (a int)");
            simple(client, "create function tells() returns int language sql as 'select 1'");
            simple(client, "comment on table told is 'a table'");
            fixture.node.barriers.clear();
            assertEquals("C(UPDATE 1)/I", simple(client,
                    "update pg_description set objoid = 'tells'::regproc where objoid = 'told'::regclass"));
            assertEquals(
                    "alice: update pg_catalog.pg_description set objoid = 'tells'::regproc where objoid = 'told'::regclass",
                    ScriptedNode.take(fixture.node.barriers));
            String none = "delete from pg_catalog.pg_description where objoid = 'told'::regclass";
            assertEquals("12C(DELETE 0)/I", extended(client, none));
            assertEquals("alice: " + none, ScriptedNode.take(fixture.node.barriers));
            simple(client, "begin");
            assertEquals("12E(25001)/E", extended(client, none));
            simple(client, "rollback");
            simple(client, "begin");
            assertEquals("E(25001)/E", simple(client, "/* a word */ " + none));
            simple(client, "rollback");
            assertEquals("C(SELECT 1)E(25001)/I", simple(client, "select 1; " + none).replace("TD", ""));
            assertEquals("E(25001)/I", simple(client, "drop table told; " + none));
            simple(client, "delete from pg_description where objoid = 'tells'::regproc");
            simple(client, "drop table told; drop function tells()");
        } finally {
            fixture.admin.execute("alter role alice nosuperuser", PATIENCE);
            client.close();
        }
    }

    /** Each node would have other rows: the query runs here, and they get what it has found; what cannot be told so is refused. */
    @Test
    void whatMayComeOutDifferentlyElsewhereIsExecutedOnceOrRefused() throws Exception {
        BackendConnection client = fixture.client();
        simple(client,
                "create table drawn_from (a int primary key, b float8); insert into drawn_from values (1, 1), (2, 2)");
        fixture.node.drainCommitted();
        assertEquals("C(SELECT 2)/I", simple(client, "create table drawn as select a, random() r from drawn_from"));
        assertCommitted();
        assertEquals("C(SELECT 2)/I", simple(client, "select a, random() into drawn_2 from drawn_from"));
        assertCommitted();
        assertEquals("12C(SELECT 2)/I", extended(client, "create table drawn_3 as select random() from drawn_from"));
        assertCommitted();
        assertEquals("C(CREATE TABLE)C(SELECT 1)/I",
                simple(client,
                        "create table drawn_4 (); create table drawn_5 as select random() from drawn_from limit 1"));
        assertCommitted();
        assertTrue(fixture.node.barriers.isEmpty(), fixture.node.barriers.toString());
        assertEquals("C(SELECT 2)/I", simple(client, "create table drawn_6 as select a + 1 as b from drawn_from"));
        assertEquals("alice: create table drawn_6 as select a + 1 as b from drawn_from",
                ScriptedNode.take(fixture.node.barriers));

        String fill = "alter table drawn_from add column %s float8 default random()";
        assertEquals("C(ALTER TABLE)/I", simple(client, fill.formatted("c")));
        assertCommitted();
        assertEquals("12C(ALTER TABLE)/I", extended(client, fill.formatted("d")));
        assertCommitted();
        assertEquals("C(ALTER TABLE)/I",
                simple(client, "alter table drawn_from add f date default '2024-05-06 07:00'::timestamptz"));
        assertCommitted();
        assertEquals("C(CREATE TABLE)C(ALTER TABLE)/I",
                simple(client, "create table drawn_9 (); " + fill.formatted("e")));
        assertCommitted();
        assertTrue(fixture.node.barriers.isEmpty(), fixture.node.barriers.toString());

        String retype = "alter table drawn_from alter b type float8 using random()";
        assertEquals("E(0A000)/I", simple(client, retype));
        assertEquals("E(0A000)/I", simple(client, "/* traced /* so */ */ -- or so\n" + retype));
        assertEquals("12E(0A000)/I", extended(client, retype));
        assertEquals("E(0A000)/I", simple(client, "create table drawn_7 (); " + retype));
        simple(client, "begin");
        assertEquals("E(0A000)/E", simple(client, retype));
        simple(client, "rollback");
        assertTrue(fixture.node.barriers.isEmpty(), fixture.node.barriers.toString());
        assertEquals("C(ALTER TABLE)/I",
                simple(client, "alter table drawn_from alter b type text using (a + 1)::text"));
        ScriptedNode.take(fixture.node.barriers);
        assertEquals("NC(SELECT 2)/I",
                simple(client, "create materialized view drawn_8 as select random() from drawn_from"));
        client.close();
    }

    /** Each node would make another constant of it; only a node that has executed the statement can tell a time from a text, and refuse it. */
    @Test
    void whatMayKeepTheMomentIsExecutedOnce() throws Exception {
        BackendConnection client = fixture.client();
        simple(client, "create table dated (a int primary key, at timestamptz)");
        fixture.admin.execute("alter table dated owner to alice", PATIENCE);
        fixture.node.barriers.clear();
        fixture.node.drainCommitted();
        for (String moment : List.of("create table dated_%d (at timestamptz default 'now')",
                "/* %d */ alter table dated alter at set default timestamptz 'tomorrow 12:00'",
                "create view seen_%d as select * from dated where at < E'\\x6eow'",
                "create index found_%d on dated (a) where at > $$today$$")) {
            simple(client, moment.formatted(1));
            assertCommitted();
            extended(client, moment.formatted(2));
            assertCommitted();
            simple(client, "create table beside (); " + moment.formatted(3) + "; drop table beside");
            assertCommitted();
        }
        assertEquals("C(ALTER TABLE)/I", simple(client, "alter table dated alter at set default now()"));
        assertEquals("alice: alter table dated alter at set default now()",
                ScriptedNode.take(fixture.node.barriers));
        fixture.node.wholeOnly = true;
        assertEquals("C(CREATE TABLE)/I", simple(client, "create table dated_8 (a text default 'now')"));
        ScriptedNode.take(fixture.node.barriers);
        fixture.node.wholeOnly = false;
        client.close();
    }

    /** As a transaction of the session's own, whose rows the capture takes from the table. */
    private void assertCommitted() throws Exception {
        String told = ScriptedNode.take(fixture.node.committed);
        assertTrue(told.startsWith("S alice: "), told);
        assertTrue(fixture.node.barriers.isEmpty(), fixture.node.barriers.toString());
    }

    @Test
    void changesOfTemporaryTablesConcernNobodyElse() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("C(CREATE TABLE)/I", simple(client, "create temp table passing (a int)"));
        assertEquals("C(CREATE INDEX)/I", simple(client, "create index passing_a on passing (a)"));
        assertEquals("C(GRANT)/I", simple(client, "grant select (a), insert on table passing to public"));
        assertEquals("12C(REVOKE)/I", extended(client, "revoke all on passing from public"));
        assertEquals("12C(ALTER TABLE)12DC(SELECT 1)/I",
                extended(client, "alter table if exists only passing add b int", "select 1"));
        simple(client, "begin");
        assertEquals("C(ALTER TABLE)/T", simple(client, "alter table passing add c int"));
        assertEquals("12C(ALTER TABLE)/T", extended(client, "alter table passing add d int"));
        assertEquals("C(COMMIT)/I", simple(client, "commit"));
        assertEquals("E(42701)/I", simple(client, "alter table passing add d int"));
        assertEquals("C(DROP TABLE)/I", simple(client, "drop table passing"));
        assertTrue(fixture.node.barriers.isEmpty(), fixture.node.barriers.toString());
        assertTrue(fixture.node.committed.isEmpty(), fixture.node.committed.toString());
        client.close();
    }

    /** What it would do with that is told from the statement by itself. */
    @Test
    void aSnapshotIsNotImportedWithinAScript() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("C(BEGIN)E(0A000)/E",
                simple(client, "begin; set transaction snapshot '00000003-0000001B-1'; select 1; commit"));
        simple(client, "rollback; begin");
        assertEquals("E(22023)/E", simple(client, "set transaction snapshot 'none'"));
        simple(client, "rollback");
        client.close();
    }

    @Test
    void constraintsAreCheckedWhenTheClientSays() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("NC(SET CONSTRAINTS)/I", simple(client, "set constraints all immediate"));
        simple(client, "begin");
        assertEquals("C(SET CONSTRAINTS)/T", simple(client, "set constraints all immediate"));
        assertEquals("12C(SET CONSTRAINTS)12C(SET CONSTRAINTS)/T",
                extended(client, "set constraints all deferred", "set constraints all immediate"));
        assertEquals("E(42704)/E", simple(client, "set constraints no_such immediate"));
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
        simple(client, "begin");
        assertEquals("12E(42704)/E", extended(client, "set constraints no_such immediate", "select 1"));
        assertEquals("C(ROLLBACK)/I", simple(client, "commit"));
        assertEquals("C(BEGIN)C(SET CONSTRAINTS)TDC(SELECT 1)C(COMMIT)/I",
                simple(client, "begin; set constraints all immediate; select 1; commit"));
        client.close();
    }

    @Test
    void aTableIsMadeFromAQueryInATransactionBlock() throws Exception {
        BackendConnection client = fixture.client();
        for (String sql : new String[]{"create table made_of as select 1 as a", "select 1 as a into made_of"}) {
            simple(client, "begin");
            assertEquals("C(SELECT 1)/T", simple(client, sql), sql);
            simple(client, "rollback");
            simple(client, "begin");
            assertEquals("12C(SELECT 1)/T", extended(client, sql), sql);
            simple(client, "rollback");
            assertEquals("C(BEGIN)C(SELECT 1)C(ROLLBACK)/I", simple(client, "begin; " + sql + "; rollback"), sql);
        }
        assertTrue(fixture.node.barriers.isEmpty(), fixture.node.barriers.toString());
        client.close();
    }

    @Test
    void errorsInScriptsPointIntoTheWholeText() throws Exception {
        BackendConnection client = fixture.client();
        PostgresException wrong = assertThrows(PostgresException.class,
                () -> client.execute("begin; commit; select nonsense", PATIENCE));
        assertEquals("23", wrong.fields().get('P'));
        PostgresException behindSymbols = assertThrows(PostgresException.class,
                () -> client.execute("begin; select '\uD83D\uDE00'; commit; select nonsense", PATIENCE));
        assertEquals("35", behindSymbols.fields().get('P'), "counted in characters");
        QueryResult result = client.execute("begin; select 1; commit; select 2", PATIENCE);
        assertEquals("2", result.value());
        assertNull(wrong.fields().get('D'));
        client.close();
    }

    @Test
    void severalSchemaChangesAreExecutedByAllReplicasTogether() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("C(CREATE TABLE)C(CREATE TABLE)/I",
                simple(client, "create table first_of_two (a int);; create table second_of_two (a int);"));
        assertEquals("alice: create table first_of_two (a int)\0create table second_of_two (a int)",
                ScriptedNode.take(fixture.node.barriers).strip());
        assertEquals("C(DROP TABLE)E(42P01)/I", simple(client, "drop table first_of_two; drop table no_such"));
        assertEquals("C(DROP TABLE)C(DROP TABLE)/I",
                simple(client, "drop table first_of_two; drop table second_of_two"));
        PostgresException wrong = assertThrows(PostgresException.class,
                () -> client.execute("create table ü (a int); create table u (a nonsense)", PATIENCE));
        assertEquals("43", wrong.fields().get('P'));
        client.close();
    }

    /** A cycle of messages is no transaction block either, though the engine is in one. */
    @Test
    void pipelinesOutsideOfBlocksTellWhatIsOnlyForBlocks() throws Exception {
        BackendConnection client = fixture.client();
        for (String savepoint : List.of("savepoint a", "rollback to a", "/* so */ release a")) {
            assertEquals("12C(INSERT 0 1)12E(25P01)/I",
                    extended(client, "insert into account values (1, 1)", savepoint), savepoint);
        }
        assertEquals("12C(INSERT 0 1)12C(BEGIN)12C(SAVEPOINT)12C(ROLLBACK)/I",
                extended(client, "insert into account values (1, 1)", "begin", "savepoint a", "rollback"));
        assertEquals("null", fixture.accounts());
        assertEquals("12C(INSERT 0 1)1E(22012)/I",
                extended(client, "insert into account values (1, 1)", "select 1/0", "begin", "select 1"),
                "the block has not begun");
        assertEquals("12C(INSERT 0 1)12C(BEGIN)1E(22012)/E",
                extended(client, "insert into account values (1, 1)", "begin", "select 1/0", "select 1"));
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
        for (String end : List.of("rollback", "rollback and chain", "commit")) {
            assertEquals("12C(INSERT 0 1)1E(22012)/I",
                    extended(client, "insert into account values (1, 1)", "select 1/0", end), end);
        }
        assertEquals("12DC(SELECT 1)12E(25001)/I", extended(client, "select 1", "rollback prepared 'x'"));
        assertEquals("null", fixture.accounts());
        client.close();
    }

    @Test
    void scriptsThatCannotBeParsedAreNotExecuted() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("E(42601)/I", simple(client, "insert into account values (1, 1); commit; selekt 1"));
        assertEquals("E(42601)/I", simple(client, "create table a (a int); create table b (a int"));
        assertTrue(fixture.node.barriers.isEmpty());
        simple(client, "begin");
        assertEquals("E(42601)/E", simple(client, "savepoint a; rollback to a; commit; selekt 1"));
        assertEquals("C(ROLLBACK)TDC(SELECT 1)/I", simple(client, "rollback; select 1"));
        assertEquals("null", fixture.accounts());
        client.close();
    }

    @Test
    void scriptsOutsideOfBlocksTellWhatIsOnlyForBlocks() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("C(INSERT 0 1)E(25P01)/I",
                simple(client, "insert into account values (1, 1); savepoint a; select 1"));
        assertEquals("C(INSERT 0 1)NC(COMMIT)C(INSERT 0 1)NC(ROLLBACK)/I", simple(client,
                "insert into account values (1, 1); commit; insert into account values (2, 1); rollback"));
        assertEquals("1:1", fixture.accounts());
        assertEquals("E(25P01)/I", simple(client, "lock account"));
        assertEquals("12E(25P01)/I", extended(client, "lock account"));
        assertEquals("E(25P01)/I", simple(client, "declare c cursor for select 1"));
        assertEquals("C(LOCK TABLE)TDC(SELECT 1)/I", simple(client, "lock account; select 1"));
        for (String other : List.of("savepoint a; select 1", "rollback to a; insert into account values (5, 5)",
                "select 1; release a")) {
            assertTrue(simple(client, other).endsWith("E(25P01)/I"), other);
        }
        assertTrue(simple(client, "set datestyle = 'German'; create index on nowhere (a)").endsWith("E(42P01)/I"));
        assertEquals("ISO, MDY", client.execute("show datestyle", PATIENCE).value(), "undone with the rest");
        assertTrue(simple(client, "set datestyle = 'German'; create table set_before (a int)")
                .endsWith("C(CREATE TABLE)/I"));
        assertEquals("German, DMY", client.execute("show datestyle", PATIENCE).value());
        simple(client, "reset datestyle");
        assertEquals("E(25001)/I", simple(client, "discard all; select 1"));
        assertEquals("C(SET)E(57014)/I",
                simple(client,
                        "set local statement_timeout = 1; create table slept as select 1 as a from pg_sleep(10)"));
        assertEquals("12E(25P01)/I", extended(client, "declare c cursor for select id from account"));
        assertEquals("C(SET CONSTRAINTS)C(CREATE TABLE)/I",
                simple(client, "set constraints all immediate; create table set_before_2 (a int)"));
        assertEquals("E(25001)/I", simple(client, "rollback prepared 'x'; select 1"));
        for (String chain : List.of("commit and chain", "rollback and chain")) {
            assertEquals("C(INSERT 0 1)E(25P01)/I",
                    simple(client, "insert into account values (7, 1); " + chain), chain);
        }
        assertEquals("E(25001)/I", simple(client, "vacuum account; select 1"));
        assertEquals("TDC(SELECT 1)E(25001)/I", simple(client, "select 1; vacuum account"));
        assertEquals("TDC(SELECT 1)C(ANALYZE)/I", simple(client, "select 1; analyze account"));
        assertEquals("C(VACUUM)/I", simple(client, "vacuum plain"));
        client.close();
    }
}
