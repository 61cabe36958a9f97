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
        try {
            run(connection, sql);
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
                    "select abort_session(1)", "select cancel_session(1)",
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
                    "disconnect", "checkpoint defrag; shutdown"));
            assertFalse(Files.exists(made));
            run(connection, "create table engine (engine int, name int)",
                    "create trigger noted after insert on item referencing new row as r for each row"
                            + " insert into engine values (r.id, 1)");
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
