package tutti.pgfront;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What clients cannot do with the rights of a node, at which both engines take everybody for their administrator. */
@Timeout(60)
class OutOfReachTest extends AtOneNode {
    private static String state(Connection connection, String sql) {
        try (Statement statement = connection.createStatement()) {
            statement.setEscapeProcessing(false); // what has braces is sent as it stands
            statement.execute(sql);
            return "done";
        } catch (SQLException refused) {
            return refused.getSQLState();
        }
    }

    private static void assertRefused(Connection connection, List<String> statements) throws SQLException {
        for (String sql : statements) {
            String state = state(connection, sql);
            assertTrue(state.equals("0A000") || state.equals("42601"), sql + ": " + state);
        }
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("select count(*) from item")) {
            assertTrue(row.next());
            assertEquals(1, row.getInt(1), "the node is well");
        }
    }

    @ParameterizedTest
    @EnumSource
    void theNodesOwnSchemaIsItsOwn(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection, "create table item (id int primary key)", "insert into item values (1)");
            assertRefused(connection, List.of("insert into tutti.applied values (1000000)",
                    "delete from TUTTI . applied", "delete from tutti.tutti.applied",
                    "update \"tutti\".\"applied\" set position = 7",
                    "truncate table tutti.applied", "drop schema tutti cascade", "drop schema if exists tutti cascade",
                    "drop table tutti.applied", "create synonym told for tutti.applied",
                    "merge into tutti.applied using item on position = id when not matched then insert values (id)",
                    "insert into u&\"\\0054UTTI\".applied values (1000000)"));
            run(connection, "select * from tutti.declared_sequences");
            run(connection, "set search_path = tutti");
            String state = state(connection, "insert into applied values (1000000)");
            assertTrue(state.startsWith("42"), state);
            run(connection, "reset search_path", "insert into item values (2)", "delete from item where id = 2");
        }
    }

    @Test
    void clientsOfH2ReachNoFilesSessionsOrCode() throws Exception {
        Path file = Files.writeString(directory.resolve("secret"), "A\n1\n");
        Path made = directory.resolve("made");
        try (Connection connection = connect(EngineKind.H2)) {
            run(connection, "create table item (id int primary key)", "insert into item values (1)");
            assertRefused(connection, List.of("select file_read('" + file + "', NULL)",
                    "call \"FILE_READ\"('" + file + "')", "select file_write('x', '" + made + "')",
                    "select * from csvread('" + file + "')", "call csvwrite('" + made + "', 'select 1')",
                    "select * from link_schema('L', '', 'jdbc:h2:mem:other', 'sa', '', 'PUBLIC')",
                    "create table copied as select * from csvread('" + file + "')",
                    "create view copied as select * from csvread('" + file + "')",
                    "select abort_session(1)", "select cancel_session(1)", "select database_path()",
                    "call \"DATABASE_PATH\"()",
                    "select * from information_schema.settings", "select * from Information_Schema . \"SETTINGS\"",
                    "table information_schema.sessions", "select * from h2.information_schema.sessions",
                    "select (select count(*) from information_schema.locks)",
                    "create view v as select * from information_schema.session_state",
                    "select * from information_schema.query_statistics",
                    "select * from final table (update tutti.applied set position = 1)",
                    "create alias ends for \"java.lang.System.exit\"",
                    "create alias if not exists made as $$ String made() { return null; } $$",
                    "create force aggregate a for \"java.lang.String\"",
                    "create trigger t before insert on item for each row call \"java.lang.String\"",
                    "create trigger t before insert on item for each row as 'org.h2.api.Trigger create() { return null; }'",
                    "create linked table l ('', 'jdbc:h2:mem:other', 'sa', '', 'T')",
                    "create table e (id int) engine \"java.lang.String\"", "drop all objects",
                    "drop all objects delete files", "runscript from '" + file + "'", "script to '" + made + "'",
                    "backup to '" + made + "'", "shutdown", "shutdown immediately", "select 1; shutdown"));
            assertFalse(Files.exists(made));
            run(connection, "create table engine (engine int, name int, java int)", "create table text (alias int)",
                    "select 1 as alias", "drop table engine");
        }
    }

    @Test
    void clientsOfHsqldbReachNoFilesSessionsOrCode() throws Exception {
        Path made = directory.resolve("made");
        try (Connection connection = connect(EngineKind.HSQLDB)) {
            run(connection, "create table item (id int primary key)", "insert into item values (1)");
            assertRefused(connection, List.of("create text table lines (a varchar(10))",
                    "create function f(x int) returns int language java no sql external name 'CLASSPATH:java.lang.Math.abs'",
                    "create procedure p() language java external name 'CLASSPATH:java.lang.System.gc'",
                    "create trigger t after insert on item for each row call \"java.lang.String\"",
                    "alter session 1 close", "alter session reset all", "alter catalog public rename to other",
                    "backup database to '" + made + "' blocking", "script '" + made + "'",
                    "perform export script for database data to '" + made + "'",
                    "perform import script data from '" + made + "' stop on error", "shutdown", "shutdown immediately",
                    "disconnect", "checkpoint defrag; shutdown", "select * from information_schema.system_sessions",
                    "select * from information_schema.system_cacheinfo",
                    "select * from information_schema.\"SYSTEM_PROPERTIES\""));
            assertFalse(Files.exists(made));
            run(connection, "create table engine (engine int, name int)",
                    "create trigger noted after insert on item referencing new row as r for each row"
                            + " insert into engine values (r.id, 1)");
        }
    }

    /** What PostgreSQL would take for a string, a name or signs, and the engine for something else, hides nothing. */
    @Test
    void whatH2WouldReadOtherwiseHidesNothing() throws Exception {
        Path file = Files.writeString(directory.resolve("secret"), "A\n1\n");
        String read = "file_read('" + file + "', NULL)";
        String doubled = read.replace("'", "''");
        try (Connection connection = connect(EngineKind.H2)) {
            run(connection, "create table item (id int primary key)", "insert into item values (1)");
            assertRefused(connection, List.of("select 1 // ' \n, file_read(\"x\", NULL) --'",
                    "select `file_read`('" + file + "', NULL)", "delete from `tutti`.`applied`",
                    "select file_read\u00a0('" + file + "', NULL)", "select file_read\u2003('" + file + "', NULL)",
                    "select file_read\u0001('" + file + "', NULL)", "delete from tutti\u00a0.applied",
                    "select f\u0131le_read('" + file + "', NULL)", "select \ufb01le_read('" + file + "', NULL)",
                    "select * from c\u017fvread('" + file + "')", "select \"f\u0131le_read\"('" + file + "', NULL)",
                    "delete from tutt\u0131.applied", "create al\u0131as ends for 'java.lang.System.exit'",
                    "select file_read{fn ('" + file + "', NULL)}", "delete from tutti{fn .applied}",
                    "select 1::\"int), " + read.substring(0, read.length() - 1) + "\"",
                    "select cast(1 as \"int), " + read + ", cast(1 as int\")",
                    "select '\\x'', " + doubled + ", '''::bytea", "select 1::\"int); shutdown; --\"",
                    "select 1::varchar(- -), '\n); shutdown --'", "select cast(1 as \"e\"'\\'; shutdown; --')"));
        }
    }

    @Test
    void behindAStatementComesNoOther() throws Exception {
        try (Connection connection = connect(EngineKind.H2)) {
            run(connection, "create table item (id int primary key)", "insert into item values (1)");
            assertRefused(connection, List.of("create table atomic (id int); shutdown immediately",
                    "create table other (begin atomic); shutdown immediately",
                    "create table other (id int, begin atomic); set database_event_listener 'x'"));
        }
    }

    /** The catalog's database is the node's own, and all clients'. */
    @ParameterizedTest
    @EnumSource
    void theCatalogIsOnlyRead(EngineKind kind) throws Exception {
        Path file = Files.writeString(directory.resolve("secret"), "A\n1\n");
        try (Connection connection = connect(kind)) {
            run(connection, "create table item (id int primary key)", "insert into item values (1)");
            assertRefused(connection, List.of("select file_read pg_catalog . ('" + file + "', NULL) from pg_class",
                    "select file_read collate x ('" + file + "', NULL) from pg_class",
                    "select 1::\"int) from pg_class; create alias ends for 'java.lang.System.exit'; --\" from pg_class",
                    "select * from final table (update pg_class set relname = 'other')"));
            try (Statement statement = connection.createStatement();
                    ResultSet row = statement
                            .executeQuery("select relname from pg_catalog.pg_class where relname = 'item'")) {
                assertTrue(row.next());
            }
        }
    }

    @Test
    void whatHsqldbWouldReadOtherwiseHidesNothing() throws Exception {
        try (Connection connection = connect(EngineKind.HSQLDB)) {
            run(connection, "create table item (id int primary key)", "insert into item values (1)");
            assertRefused(connection, List.of("delete from tutti\u2003.applied", "delete from tutt\u0131.applied",
                    "select load_file('/etc/hostname', 'UTF-8') from item",
                    "select \"java.lang.System.getProperty\"('user.dir') from item",
                    "select 1 // ' \n from item; shutdown --' from item",
                    "select 1::\"int) from item; shutdown; --\" from item",
                    "create procedure p() modifies sql data begin atomic delete from item; end; shutdown",
                    "create procedure p() modifies sql data begin atomic delete from item; end; set database gc 1",
                    "create procedure p() modifies sql data begin atomic delete from tutti.applied; end",
                    "create table other (id int, begin atomic int); shutdown"));
            run(connection, "create procedure fill(in n int) modifies sql data begin atomic declare i int; set i = 2;"
                    + " filling: while i < n do insert into item values (i); set i = i + 1; end while filling; end",
                    "delete from item where id > 1");
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatIsReadAlikeIsLeftAlone(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection, "create table stra\u00dfe (gr\u00f6\u00dfe int primary key, \"\u00fcber\" varchar(20))",
                    "insert into stra\u00dfe values (1, 'a' -- it's\n  'b'), (2, E'c\\'' \n 'd')");
            try (Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery(
                            "select \"\u00fcber\", 1.5e-3 + 1. + .5 + gr\u00f6\u00dfe from stra\u00dfe order by gr\u00f6\u00dfe")) {
                assertTrue(row.next());
                assertEquals("ab", row.getString(1));
                assertTrue(row.next());
                assertEquals("c'd", row.getString(1));
            }
        }
    }

    /** Without a parenthesis they are names as others. */
    @Test
    void namesThatOnlyLookLikeThoseOfFunctionsAreNames() throws Exception {
        try (Connection connection = connect(EngineKind.H2)) {
            run(connection, "create table entry (file_write int primary key, tutti int)",
                    "insert into entry values (1, 2)",
                    "select file_write, tutti, 'csvread(' from entry", "create schema tuttis", "drop schema tuttis");
        }
    }
}
