package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.engine.postgres.apply.PlacedTables;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClassifierTest {
    private final Classifier classifier = new Classifier(false, null, () -> PlacedTables.NONE, () -> true);

    private List<StatementKind> kinds(String sql, boolean standardStrings) {
        byte[] bytes = sql.getBytes(StandardCharsets.UTF_8);
        classifier.classify(bytes, 0, bytes.length, standardStrings);
        List<StatementKind> kinds = new ArrayList<>();
        for (int i = 0; i < classifier.count(); i++) {
            kinds.add(classifier.kind(i));
        }
        return kinds;
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            select 1 | READ
            SELECT * FROM t WHERE a = 'x;y' | READ
            select count(*), max(a) from t where b in (1, 2) | READ
            select my_function(1) | WRITE
            select s.count(1) | WRITE
            select pg_catalog.pg_get_userbyid(1) | READ
            select pg_catalog.set_config('a', 'b', false) | WRITE
            select "count"(1) | WRITE
            select * from t for update | WRITE
            select * from t for no key update | WRITE
            select a into b from c | SCHEMA
            select a into temp b from c | WRITE
            with x as (insert into t values (1) returning *) select * from x | WRITE
            with x as (select 1) select * from x | READ
            (select 1) union (select 2) | READ
            values (1), (2) | READ
            table t | READ
            explain select 1 | READ
            explain analyze delete from t | WRITE
            explain analyse delete from t | WRITE
            explain (costs off, "analyze" on) delete from t | WRITE
            explain create table t as select 1 | READ
            explain analyze create table t as select 1 | REFUSED
            explain analyse verbose create table if not exists t as select 1 | REFUSED
            explain (analyze 1) create table t as execute p | REFUSED
            explain (costs off, analyze on) create materialized view t as select 1 | REFUSED
            explain /* ( */ ( /* - */ "analyze" ) /* create */ create unlogged table t as select 1 | REFUSED
            explain analyze select a into b from c | REFUSED
            explain analyze with x as (insert into t values (1) returning *) select * into b from x | REFUSED
            explain analyze insert into t values (1) | WRITE
            explain analyze merge into t using s on true when matched then delete | WRITE
            explain analyze create temp table t as select 1 | WRITE
            explain analyze select 1 into temp t | WRITE
            explain analyze execute p | WRITE
            explain analyze select 1 as create, 2 as into | WRITE
            insert into t values (1) | WRITE
            update pg_description set objoid = 'a'::regclass where objoid = 'b'::regproc | SCHEMA
            update only pg_catalog.pg_description set description = $$it's$$, objsubid = 2 where objsubid = 1 and classoid = 'pg_class'::regclass | SCHEMA
            delete from pg_description where objoid = '"A"'::regtype | SCHEMA
            update pg_authid set rolpassword = 'SCRAM-SHA-256$1:a$b:c' where rolname = 'a' | SCHEMA
            update pg_authid set rolpassword = null where rolname = 'tutti' | SCHEMA
            update pg_description set objoid = 'a'::regclass | REFUSED
            update pg_description d set objoid = 'a'::regclass where objsubid = 0 | REFUSED
            update pg_description set objoid = '16384'::regclass where objsubid = 0 | REFUSED
            update pg_description set objoid = 16384 where objsubid = 0 | REFUSED
            update pg_description set description = now() where objsubid = 0 | REFUSED
            update pg_description set objsubid = $1 where objsubid = 0 | REFUSED
            delete from pg_description where objsubid = 0 returning * | REFUSED
            delete from pg_description where objsubid = 0 or true | REFUSED
            delete from pg_description using t where objsubid = 0 | REFUSED
            delete from pg_authid where rolname = 'a' | REFUSED
            update pg_authid set rolpassword = 'secret' where rolname = 'a' | REFUSED
            update pg_authid set rolpassword = null, rolsuper = true where rolname = 'a' | REFUSED
            update pg_authid set rolpassword = null where rolname = 'Tutti_node' | REFUSED
            update pg_authid set rolpassword = null where rolname = E'a' | REFUSED
            update pg_authid set rolpassword = null where rolname = 'a\\b' | REFUSED
            update pg_authid set rolpassword = null | REFUSED
            update pg_class set relname = 'a' where relname = 'b' | REFUSED
            /* a /* nested */ comment */ update t set a = 1 | WRITE
            truncate t | WRITE
            call p() | WRITE
            do $$ begin end $$ | WRITE
            begin isolation level repeatable read | BEGIN
            begin isolation level serializable | REFUSED
            start transaction read only, isolation level serializable | REFUSED
            set transaction isolation level serializable | REFUSED
            set session characteristics as transaction isolation level serializable | REFUSED
            set default_transaction_isolation to 'Serializable' | REFUSED
            set local transaction_isolation = serializable | REFUSED
            set default_transaction_isolation to 'repeatable read' | SESSION
            set "default_transaction_isolation" to "serializable" | REFUSED
            set "session_replication_role" to replica | REFUSED
            select set_config('session_replication_role', 'replica', true) | REFUSED
            select current_setting('session_replication_role') | READ
            alter role a set session_replication_role = replica | REFUSED
            alter function f() set tutti.mode = 'active' | SCHEMA
            alter function f() reset tutti.classes | SCHEMA
            alter table a.tutti add column b int | SCHEMA
            alter function tutti.record(bytea, bigint) security invoker | REFUSED
            drop schema a, tutti cascade | REFUSED
            grant select on tutti.declared_sequences to a | SCHEMA
            alter role tutti_node nologin | REFUSED
            create role a valid until 'May 4 12:00:00 2030 +1' | SCHEMA
            alter user a with nologin valid until 'infinity' | SCHEMA
            create user a valid until 'Tomorrow 12:00' | REFUSED
            alter role a valid until E'\\x6eow' | REFUSED
            alter role all in database shop set exit_on_error = on | SCHEMA
            alter user /* nobody */ all in database shop reset all | SCHEMA
            alter role a in database shop set timezone = 'UTC' | SCHEMA
            grant all on database shop to a | SCHEMA
            grant "tutti_applier_5" to a | REFUSED
            create role U&"tutti\\005fapplier_x" | REFUSED
            create role u&"tutti!005Fapplier_x" uescape '!' | REFUSED
            alter role a rename to U&"\\+000074utti_node" | REFUSED
            create role U&"tutti!005fapplier_x" uescape $$!$$ | REFUSED
            create role U&"data\\005fapplier_x" | SCHEMA
            create role U&"tutti\\\\005fapplier_x" | SCHEMA
            set role U&"tutti\\005fnode" | REFUSED
            set role 'tutti_node' | REFUSED
            drop table U&"tutti\\0020".x | SCHEMA
            drop table U&"tutt\\0069".x | REFUSED
            insert into U&"pg\\005fcatalog".U&"pg!005fclass" uescape '!' values (1) | REFUSED
            create trigger U&"tutti\\005fx" after insert on t execute function f() | REFUSED
            create role tutti_frutti | SCHEMA
            set search_path to serializable | SESSION
            set /* a */ transaction snapshot '00000003-0000001B-1' | SESSION
            start transaction | BEGIN
            commit | COMMIT
            END | COMMIT
            commit and chain | COMMIT_CHAIN
            commit and no chain | COMMIT
            commit prepared 'x' | FINISH
            commit prepared 'x' 'y' | REFUSED
            prepare transaction 'x' | PREPARE
            prepare transaction U&'x' uescape '!' | REFUSED
            prepare p as select 1 | SESSION
            rollback | ROLLBACK
            abort | ROLLBACK
            rollback and chain | ROLLBACK_CHAIN
            abort work and no chain | ROLLBACK
            rollback to savepoint a | SAVEPOINT
            savepoint a | SAVEPOINT
            release a | SAVEPOINT
            copy t from stdin | COPY_IN
            copy t (a, b) from '/file' | WRITE
            copy t to stdout | READ
            copy (delete from t returning *) to stdout | WRITE
            create table t (a int) | SCHEMA
            create temp table t (a int) | WRITE
            create local temporary table t (a int) | WRITE
            create index concurrently i on t (a) | SCHEMA
            create database d | DATABASE
            alter database a rename to b | DATABASE
            alter database a owner to b | SCHEMA
            alter database tutti set work_mem = 64 | SCHEMA
            alter database a reset all | SCHEMA
            alter database a with connection limit = -1 allow_connections true is_template = off | SCHEMA
            alter database a connection limit 3 | REFUSED
            alter database a allow_connections = false | REFUSED
            alter database a is_template true | REFUSED
            alter database a set tablespace b | REFUSED
            alter database a refresh collation version | REFUSED
            alter database a set work_mem from current | REFUSED
            alter database a set "tutti".read_level = 'causal' | REFUSED
            alter database a set session_replication_role = replica | REFUSED
            alter database a owner to tutti_node | REFUSED
            alter role all in database a set work_mem = 64 | SCHEMA
            alter system set a = 1 | REFUSED
            drop table t | SCHEMA
            grant select on t to r | SCHEMA
            grant select on t to a, session_user | REFUSED
            revoke all on t from group Session_User | REFUSED
            grant r to session_user | REFUSED
            grant r to "session_user" | SCHEMA
            alter table t owner to session_user | REFUSED
            alter user session_user password 'x' | REFUSED
            alter default privileges for role session_user grant select on tables to a | REFUSED
            create schema authorization session_user | REFUSED
            create policy p on t to /* who */ session_user using (true) | REFUSED
            reassign owned by session_user to a | REFUSED
            drop owned by a, session_user | REFUSED
            grant select on t to a granted by session_user | REFUSED
            create table t (a text default session_user, b text check (b = session_user)) | SCHEMA
            create view v as select current_user, session_user | SCHEMA
            create function f() returns int language sql set work_mem from current as 'select 1' | REFUSED
            alter function f() set "work_mem" from current | REFUSED
            alter role a set app.x from current | REFUSED
            alter function f() set search_path from current | SCHEMA
            alter function f() set "TimeZone" from current | SCHEMA
            alter function f() set app.timezone from current | REFUSED
            refresh materialized view concurrently v | SCHEMA
            vacuum t | LOCAL
            set search_path = a | SESSION
            set session_replication_role = replica | REFUSED
            set constraints all immediate | CONSTRAINTS
            select setval('s', 1) | WRITE
            select nextval('s') | WRITE
            select pg_notify('a', 'b') | WRITE
            create table pg_temp.t (a int) | WRITE
            create or replace function pg_temp.f() returns int language sql as 'select 1' | WRITE
            create function f(a pg_temp.t) returns int language sql as 'select 1' | SCHEMA
            create domain pg_temp.d as int | WRITE
            create type pg_temp.t as (a int) | WRITE
            drop function if exists pg_temp.f() | WRITE
            create view v as select * from pg_temp.t | SCHEMA
            do $$ begin perform setval('s', 1); end $$ | WRITE
            do $$ begin perform lo_create (0); end $$ | WRITE
            do $$ begin perform my_setval(0); end $$ | WRITE
            select lo_from_bytea(0, 'x') | WRITE
            select lo_get(0) | WRITE
            set constraints a, b deferred | SESSION
            show all | SESSION
            listen a | SESSION
            unlisten * | SESSION
            notify a | NOTIFY
            notify "A", 'b' ; | NOTIFY
            notify a, $1 | REFUSED
            discard all | FORGET
            deallocate x | FORGET
            """)
    void statementsAreWhatTheirWordsSay(String sql, StatementKind kind) {
        assertEquals(List.of(kind), kinds(sql, true));
    }

    @Test
    void aTemporaryTableSaysNothingAboutTheNextStatement() {
        assertEquals(List.of(StatementKind.WRITE, StatementKind.SCHEMA),
                kinds("create temp table t (a int); create table u (a int)", true));
    }

    @Test
    void actionsOfARuleAreOneStatement() {
        assertEquals(List.of(StatementKind.SCHEMA, StatementKind.READ), kinds(
                "create rule r as on delete to t do also (update u set a = 1; delete from u); select 1", true));
    }

    @ParameterizedTest
    @CsvSource({"lock t, true", "declare c cursor for select 1 as hold, true",
            "declare c cursor with hold for select 1, false", "delete from t, false", "lock t; lock u, false"})
    void someStatementsAreForBlocksOnly(String sql, boolean needsBlock) {
        kinds(sql, true);
        assertEquals(needsBlock, classifier.needsBlock());
    }

    @Test
    void numbersEndBeforeDollarQuotesAndTwoDots() {
        assertEquals(List.of(StatementKind.READ, StatementKind.COMMIT), kinds("select 1$$'$$; commit -- '", true));
        assertEquals(List.of(StatementKind.READ, StatementKind.COMMIT), kinds("select 1..E'\\''; commit -- '", true));
    }

    @Test
    void semicolonsInsideQuotesDoNotSplit() {
        assertEquals(List.of(StatementKind.READ, StatementKind.COMMIT),
                kinds("select ';', \";\", $a$;$$;$a$ ; commit", true));
        assertEquals(List.of(StatementKind.READ), kinds("select 'a\\'; commit", false));
        assertEquals(List.of(StatementKind.READ), kinds("select n'a\\'; commit'", false));
        assertEquals(List.of(StatementKind.READ), kinds("select N'a\\'; commit'", false));
        assertEquals(List.of(StatementKind.READ, StatementKind.COMMIT), kinds("select N'a\\'; commit", true));
        assertEquals(List.of(StatementKind.READ, StatementKind.COMMIT),
                kinds("select E'a' -- goes on\n '\\'' ; commit; --'", true));
        assertEquals(List.of(StatementKind.READ, StatementKind.COMMIT), kinds("select 'a\\'; commit", true));
        assertEquals(List.of(StatementKind.READ), kinds("select E'a\\'; commit'", true));
        assertEquals(List.of(StatementKind.READ, StatementKind.COMMIT), kinds("select 'it''s'; commit;;", true));
        assertEquals(List.of(), kinds(" ; -- nothing\n ;", true));
        assertEquals(List.of(StatementKind.SCHEMA, StatementKind.COMMIT), kinds(
                "create function f() returns int begin atomic select case when true then 1 end; select 2; end; commit",
                true));
        assertEquals(List.of(StatementKind.READ), kinds("select $1, a$b$c from t -- ; commit", true));
    }
}
