package tutti.pgfront;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.StringReader;
import java.io.StringWriter;
import org.postgresql.copy.CopyManager;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.postgresql.PGConnection;
import org.postgresql.util.PSQLException;

/** Unmodified clients of PostgreSQL at nodes with H2 and HSQLDB. */
@Timeout(60)
class JdbcFrontEndTest extends AtOneNode {
    private static String all(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            return all(rows);
        }
    }

    private static String all(ResultSet rows, String... columns) throws SQLException {
        List<String> lines = new ArrayList<>();
        while (rows.next()) {
            List<String> values = new ArrayList<>();
            if (columns.length == 0) {
                for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++) {
                    values.add(rows.getString(i));
                }
            } else {
                for (String column : columns) {
                    values.add(rows.getString(column));
                }
            }
            lines.add(String.join(",", values));
        }
        return String.join(";", lines);
    }

    private static String state(org.junit.jupiter.api.function.Executable executable) {
        return assertThrows(SQLException.class, executable).getSQLState();
    }

    @ParameterizedTest
    @EnumSource
    void valuesOfAllTypesInTextAndBinary(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection, "create table value (id bigint primary key, i int4, s int2, n numeric(20, 5), f float4,"
                    + " d float8, b bool, v varchar(20), t text, c char(4), bb bytea, da date, ti time,"
                    + " ts timestamp(6), tz timestamptz, u uuid)");
            Set<String> seen = new TreeSet<>();
            // pgjdbc goes over to named statements and binary forms after some executions.
            for (int round = 1; round <= 8; round++) {
                try (PreparedStatement insert = connection
                        .prepareStatement("insert into value values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")) {
                    insert.setLong(1, round);
                    insert.setInt(2, -7);
                    insert.setShort(3, (short) 3);
                    insert.setBigDecimal(4, new BigDecimal("-12345678.90123"));
                    insert.setFloat(5, 1.25f);
                    insert.setDouble(6, -2.5e20);
                    insert.setBoolean(7, true);
                    insert.setString(8, "grün, \"\\'");
                    insert.setString(9, "text");
                    insert.setString(10, "ab");
                    insert.setBytes(11, new byte[]{0, 1, (byte) 255});
                    insert.setObject(12, LocalDate.of(1999, 2, 28));
                    insert.setObject(13, LocalTime.of(1, 2, 3));
                    insert.setTimestamp(14, java.sql.Timestamp.valueOf("2024-02-29 12:13:14.123456"));
                    insert.setObject(15, OffsetDateTime.parse("2024-02-29T12:13:14.5+02:00"));
                    insert.setObject(16, UUID.fromString("01234567-89ab-cdef-0123-456789abcdef"));
                    assertEquals(1, insert.executeUpdate());
                }
                try (PreparedStatement query = connection.prepareStatement("select * from value where id = ?")) {
                    query.setInt(1, round);
                    ResultSet row = query.executeQuery();
                    assertTrue(row.next());
                    assertArrayEquals(new byte[]{0, 1, (byte) 255}, row.getBytes("bb"));
                    StringBuilder values = new StringBuilder();
                    for (String column : List.of("i", "s", "n", "f", "d", "b", "v", "t", "c", "da", "ti", "ts", "u")) {
                        values.append(row.getObject(column)).append('|');
                    }
                    seen.add(values.append(row.getObject("tz", OffsetDateTime.class)).toString());
                }
            }
            assertEquals(Set.of("-7|3|-12345678.90123|1.25|-2.5E20|true|grün, \"\\'|text|ab  |1999-02-28|01:02:03|"
                    + "2024-02-29 12:13:14.123456|01234567-89ab-cdef-0123-456789abcdef|2024-02-29T10:13:14.500Z"),
                    seen);
            run(connection, "insert into value (id) values (100)");
            assertEquals("null,null,null,null", all(connection, "select i, n, v, ts from value where id = 100"));
        }
    }

    @ParameterizedTest
    @EnumSource
    void transactionsAreAsInPostgres(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind); Connection other = nodes.connect(0)) {
            run(connection, "create table account (id int primary key, balance int not null)",
                    "insert into account values (1, 10), (2, 20)");
            connection.setAutoCommit(false);
            run(connection, "update account set balance = 11 where id = 1");
            assertEquals("10", all(other, "select balance from account where id = 1"));
            assertEquals("23505", state(() -> run(connection, "insert into account values (1, 1)")));
            assertEquals("25P02", state(() -> run(connection, "select 1")));
            connection.rollback();
            assertEquals("10", all(connection, "select balance from account where id = 1"));
            Savepoint savepoint = connection.setSavepoint();
            run(connection, "update account set balance = 12 where id = 1");
            assertEquals("22012", state(() -> run(connection, "select 1 / 0")));
            connection.rollback(savepoint);
            run(connection, "update account set balance = 21 where id = 2");
            connection.commit();
            assertEquals("1,10;2,21", all(other, "select id, balance from account order by id"));
            connection.setAutoCommit(true);
            // All statements of one simple query are one transaction.
            assertEquals("23505", state(() -> run(other,
                    "update account set balance = 0; insert into account values (1, 1)")));
            assertEquals("1,10;2,21", all(connection, "select id, balance from account order by id"));
            assertEquals("25001", state(() -> run(other, "begin", "create table late (id int primary key)")));
            run(other, "rollback");
        }
    }

    @ParameterizedTest
    @EnumSource
    void theLoserOfAConflictGets40001(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind); Connection other = nodes.connect(0)) {
            run(connection, "create table account (id int primary key, balance int not null)",
                    "insert into account values (1, 10)");
            connection.setAutoCommit(false);
            assertEquals("10", all(connection, "select balance from account"));
            run(other, "update account set balance = 11");
            PSQLException lost = assertThrows(PSQLException.class, () -> {
                run(connection, "update account set balance = 12");
                connection.commit();
            });
            assertEquals("40001", lost.getSQLState());
            assertTrue(java.util.Objects.requireNonNull(lost.getServerErrorMessage()).getDetail() != null);
            connection.rollback();
            run(connection, "update account set balance = 13");
            connection.commit();
            assertEquals("13", all(other, "select balance from account"));
        }
    }

    @ParameterizedTest
    @EnumSource
    void rowsAreFetchedAFewAtATimeAndReturned(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection, "create table item (id serial primary key, name text not null)");
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("insert into item (name) values (?)")) {
                for (int i = 0; i < 100; i++) {
                    insert.setString(1, "item " + i);
                    insert.addBatch();
                }
                assertEquals(100, insert.executeBatch().length);
            }
            connection.commit();
            try (Statement statement = connection.createStatement()) {
                statement.setFetchSize(7);
                try (ResultSet rows = statement.executeQuery("select name from item order by id")) {
                    int count = 0;
                    while (rows.next()) {
                        assertEquals("item " + count++, rows.getString("name"));
                    }
                    assertEquals(100, count);
                }
            }
            connection.commit();
            try (PreparedStatement insert = connection.prepareStatement("insert into item (name) values (?)",
                    Statement.RETURN_GENERATED_KEYS)) {
                insert.setString(1, "one more");
                insert.executeUpdate();
                ResultSet keys = insert.getGeneratedKeys();
                assertTrue(keys.next());
                assertEquals("one more", all(connection, "select name from item where id = " + keys.getInt("id")));
            }
            connection.commit();
            if (kind == EngineKind.H2) {
                assertEquals("x", all(connection, "update item set name = 'x' where name = 'item 1' returning name"));
            } else {
                assertEquals("0A000", state(() -> run(connection,
                        "update item set name = 'x' where name = 'item 1' returning name")));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void metaDataIsAsPgjdbcAsksForIt(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection, "create table parent (id int primary key, name varchar(30) not null, price numeric(8, 2))",
                    "create table child (a int, b int, parent_id int references parent(id) on delete cascade,"
                            + " primary key (a, b))",
                    "create unique index parent_name on parent (name)", "create view names as select name from parent");
            var metaData = connection.getMetaData();
            assertEquals("child,TABLE;names,VIEW;parent,TABLE",
                    sorted(all(metaData.getTables(null, "public", "%", new String[]{"TABLE", "VIEW"}), "TABLE_NAME",
                            "TABLE_TYPE")));
            assertEquals("id,int4,10,NO;name,varchar,30,NO;price,numeric,8,YES", all(
                    metaData.getColumns(null, "public", "parent", "%"), "COLUMN_NAME", "TYPE_NAME", "COLUMN_SIZE",
                    "IS_NULLABLE"));
            assertEquals("a,1;b,2", all(metaData.getPrimaryKeys(null, "public", "child"), "COLUMN_NAME", "KEY_SEQ"));
            assertTrue(all(metaData.getIndexInfo(null, "public", "parent", true, false), "INDEX_NAME", "COLUMN_NAME")
                    .contains("parent_name,name"));
            assertEquals("parent,id,child,parent_id,0", all(metaData.getImportedKeys(null, "public", "child"),
                    "PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME", "DELETE_RULE"));
            assertEquals("child", all(metaData.getExportedKeys(null, "public", "parent"), "FKTABLE_NAME"));
            assertEquals("a;b", all(metaData.getBestRowIdentifier(null, "public", "child", 1, true), "COLUMN_NAME"));
            assertTrue(all(metaData.getTypeInfo(), "TYPE_NAME").contains("timestamptz"));
            assertTrue(metaData.getSQLKeywords().contains("ilike"));
            assertEquals("public", connection.getSchema());
            assertEquals("tutti", connection.getCatalog());
            run(connection, "alter table parent add column more text");
            assertTrue(all(metaData.getColumns(null, "public", "parent", "%"), "COLUMN_NAME").endsWith(";more"));
        }
    }

    private static String sorted(String lines) {
        return String.join(";", new TreeSet<>(List.of(lines.split(";", -1))));
    }

    @ParameterizedTest
    @EnumSource
    void namesFoldAsInPostgres(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection, "create table \"named\" (\"id\" int primary key, \"Mixed\" int, \"UPPER\" int)",
                    "insert into Named values (1, 2, 3)");
            try (Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery("select ID, \"Mixed\", \"UPPER\" from NAMED")) {
                assertEquals("id", row.getMetaData().getColumnName(1));
                assertEquals("Mixed", row.getMetaData().getColumnName(2));
                assertEquals("UPPER", row.getMetaData().getColumnName(3));
            }
            assertThrows(SQLException.class, () -> run(connection, "select mixed from named"));
        }
    }

    /** The names are those that PostgreSQL 18 answers to the same queries. */
    @ParameterizedTest
    @EnumSource
    void expressionsAreCalledAsInPostgres(EngineKind kind) throws Exception {
        Map<String, String> queries = new LinkedHashMap<>();
        queries.put(
                "select count(*), sum(N) as total, max(N) m, ID, t.N, N + 1, 'x', 1, upper('a') from T t group by ID, N",
                "count,total,m,id,n,?column?,?column?,?column?,upper");
        queries.put("select (count(*)), coalesce(max(N), 0), cast(1 as integer), '5'::int, N::bigint from T group by N",
                "count,coalesce,int4,int4,n");
        queries.put("select case when 1 = 1 then 2 end, case when 1 = 1 then 2 else N end, N is null, -N from T",
                "case,n,?column?,?column?");
        queries.put("select (select max(N) from T), (select count(*) as one from T), current_date from T",
                "max,one,current_date");
        queries.put("select T.*, abs(N), lower('A') low from T", "id,n,abs,low");
        if (kind == EngineKind.H2) {
            queries.put("select *, count(*) over (), max(N) over (order by ID) from T", "id,n,count,max");
        }
        queries.put(
                "select distinct lower('A'), 'a' || 'b', (1 + 2) * 3, abs(-1), date '2000-01-01', interval '1' day from T",
                "lower,?column?,?column?,abs,date,interval");
        queries.put("select extract(year from date '2000-01-01'), trim(' a '), substring('abc' from 2), N from T"
                + " union select 1, 'a', 'b', 3 from T", "extract,btrim,substring,n");
        queries.put("with x as (select max(N) as k from T) select min(k), k + 1 from x group by k", "min,?column?");
        queries.put("values (1, 'a')", "column1,column2");
        queries.put("select count(*) filter (where N > 1), sum(N) n from T", "count,n");
        queries.put("select lower('A')::varchar, (1)::int, N::int k, 1::bigint + 2 from T", "lower,int4,k,?column?");
        try (Connection connection = connect(kind); Statement statement = connection.createStatement()) {
            run(connection, "create table T (ID int primary key, N int)");
            for (Map.Entry<String, String> query : queries.entrySet()) {
                try (ResultSet rows = statement.executeQuery(query.getKey())) {
                    ResultSetMetaData metaData = rows.getMetaData();
                    List<String> names = new ArrayList<>();
                    for (int i = 1; i <= metaData.getColumnCount(); i++) {
                        names.add(metaData.getColumnLabel(i));
                    }
                    assertEquals(query.getValue(), String.join(",", names), query.getKey());
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void errorsHaveTheStatesOfPostgres(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection, "create table a (id int primary key, v varchar(3) not null, n int check (n > 0))",
                    "create table b (id int primary key, a int references a (id))", "insert into a values (1, 'x', 1)");
            assertEquals("23505", state(() -> run(connection, "insert into a values (1, 'y', 1)")));
            assertEquals("23502", state(() -> run(connection, "insert into a (id) values (2)")));
            assertEquals("23514", state(() -> run(connection, "insert into a values (2, 'y', 0)")));
            assertEquals("23503", state(() -> run(connection, "insert into b values (1, 7)")));
            assertEquals("22001", state(() -> run(connection, "insert into a values (2, 'long', 1)")));
            assertEquals("42P01", state(() -> run(connection, "select * from nowhere")));
            assertEquals("42P07", state(() -> run(connection, "create table a (id int primary key)")));
            assertEquals("42601", state(() -> run(connection, "selec 1")));
            assertEquals("42601", state(() -> run(connection, "select from where")));
            assertEquals("0A000", state(() -> run(connection, "copy a from '/etc/passwd'")));
            assertEquals("0A000", state(() -> run(connection, "listen news")));
            assertEquals("0A000", state(() -> run(connection, "begin isolation level serializable")));
            assertEquals("28P01", state(() -> DriverManager.getConnection(nodes.url(0), "tutti", "wrong")));
            assertEquals("3D000", state(() -> DriverManager.getConnection(nodes.url(0).replace("/tutti", "/other"),
                    "tutti", "tutti")));
            connection.setReadOnly(true);
            connection.setAutoCommit(false);
            assertEquals("25006", state(() -> {
                run(connection, "delete from a");
                connection.commit();
            }));
        }
    }

    @ParameterizedTest
    @EnumSource
    void copiesInTextAndCsv(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection, "create table word (id int primary key, t varchar(50), d date, b boolean, y bytea)");
            CopyManager copy = connection.unwrap(PGConnection.class).getCopyAPI();
            String text = "1\tone\\ttab \\\\ back\t1999-02-28\tt\t\\\\x00ff\n2\t\\N\t\\N\tf\t\\N\n";
            assertEquals(2, copy.copyIn("COPY word FROM STDIN", new StringReader(text)));
            StringWriter out = new StringWriter();
            assertEquals(2, copy.copyOut("copy word to stdout", out));
            assertEquals(text, out.toString());
            assertEquals("one\ttab \\ back", all(connection, "select t from word where id = 1"));
            String csv = "id,t\r\n3,\"a, \"\"b\"\"\nc\"\r\n4,\r\n5,\"\"\r\n";
            assertEquals(3, copy.copyIn("copy word (id, t) from stdin with (format csv, header true)",
                    new StringReader(csv)));
            out = new StringWriter();
            copy.copyOut("copy (select id, t from word where id > 2 order by id) to stdout csv header", out);
            assertEquals(csv.replace("\r", ""), out.toString());
            assertEquals("23505", state(() -> copy.copyIn("copy word (id) from stdin", new StringReader("7\n3\n"))));
            assertEquals("22P04", state(() -> copy.copyIn("copy word (id) from stdin", new StringReader("7\t3\n"))));
            assertEquals("22P04", state(() -> copy.copyIn("copy word (id, t) from stdin csv header match",
                    new StringReader("id,d\n7,x\n"))));
            for (String invalid : List.of("(delimiter 'a')", "(null '|', delimiter '|')", "csv delimiter '\"'",
                    "(format xml)")) {
                assertEquals("22023", state(() -> copy.copyOut("copy word to stdout " + invalid, new StringWriter())));
            }
            for (String unsupported : List.of("(quote '|')", "binary header", "csv header match", "(freeze)")) {
                assertEquals("0A000", state(() -> copy.copyOut("copy word to stdout " + unsupported,
                        new StringWriter())));
            }
            assertEquals("5", all(connection, "select count(*) from word"), "nothing of what failed");
            assertEquals(1, copy.copyIn("copy word (id, t) from stdin csv header match",
                    new StringReader("id,t\n6,x\n")));
            run(connection, "delete from word where id = 6");
            connection.setAutoCommit(false);
            copy.copyIn("copy word (t, id) from stdin delimiter '|' null 'none'", new StringReader("none|8\nx|9"));
            assertEquals("null,x", all(connection, "select t from word where id > 7 order by id").replace(';', ','));
            connection.rollback();
            assertEquals("5", all(connection, "select count(*) from word"));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aStatementIsCancelled(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind); Connection other = nodes.connect(0)) {
            assumeTrue(kind == EngineKind.H2, "HSQLDB has no row locks to wait for");
            run(connection, "create table account (id int primary key, balance int not null)",
                    "insert into account values (1, 10)");
            other.setAutoCommit(false);
            run(other, "update account set balance = 11");
            Statement waiting = connection.createStatement();
            CompletableFuture<String> outcome = CompletableFuture.supplyAsync(
                    () -> state(() -> waiting.executeUpdate("update account set balance = 12")));
            while (!outcome.isDone()) {
                connection.unwrap(PGConnection.class).cancelQuery();
                Thread.onSpinWait();
            }
            assertEquals("57014", outcome.get());
            assertEquals("10", all(connection, "select balance from account"));
            other.rollback();
        }
    }

    @ParameterizedTest
    @EnumSource
    void parametersOfTheSession(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection, "create schema other", "create table other.inside (id int primary key)");
            assertEquals("42P01", state(() -> run(connection, "select * from inside")));
            run(connection, "set search_path to other");
            assertEquals("", all(connection, "select * from inside"));
            run(connection, "set application_name = 'me'", "begin", "set local application_name to 'you'");
            assertEquals("you", all(connection, "show application_name"));
            run(connection, "commit");
            assertEquals("me", all(connection, "show application_name"));
            assertEquals("repeatable read", all(connection, "show transaction isolation level"));
            assertEquals("42704", state(() -> run(connection, "show nothing")));
            assertEquals(Connection.TRANSACTION_REPEATABLE_READ, connection.getTransactionIsolation());
        }
    }

    @ParameterizedTest
    @EnumSource
    void psqlDescribesTables(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection, "create table parent (id int primary key, name varchar(30) not null)",
                    "create table child (id serial primary key, parent_id int references parent(id))",
                    "create index child_parent on child (parent_id)", "create view names as select name from parent");
        }
        assertEquals("public|child|table|tutti\npublic|names|view|tutti\npublic|parent|table|tutti", psql("\\d")
                .lines().filter(line -> line.startsWith("public|") && !line.contains("|sequence|"))
                .collect(java.util.stream.Collectors
                        .joining("\n")));
        String child = psql("\\d child");
        assertTrue(child.contains("parent_id|integer||"), child);
        assertTrue(child.contains("PRIMARY KEY, btree (id)"), child);
        assertTrue(child.contains("\"child_parent\" btree (parent_id)"), child);
        assertTrue(child.contains("FOREIGN KEY (parent_id) REFERENCES parent(id)"), child);
        String parent = psql("\\d parent");
        assertTrue(parent.contains("name|character varying(30)||not null|"), parent);
        assertTrue(parent.contains("TABLE \"child\" CONSTRAINT"), parent);
        assertTrue(psql("\\d+ names").contains("View definition"));
        assertTrue(psql("\\di").contains("public|child_parent|index|tutti|child"));
        for (String command : List.of("\\dt+", "\\dn+", "\\du", "\\l", "\\df", "\\dT", "\\dx", "\\dp", "\\ds",
                "\\db", "\\dy", "\\dc", "\\des", "\\ddp")) {
            String output = psql(command);
            assertFalse(output.toLowerCase(Locale.ROOT).contains("error"), () -> command + ": " + output);
        }
    }

    private String psql(String command) throws Exception {
        Path program = Path.of("/usr/bin/psql");
        assumeTrue(Files.isExecutable(program), "psql is not installed");
        Process process = new ProcessBuilder(program.toString(), "-X", "-A", "-c", command,
                nodes.url(0).substring("jdbc:".length()).replace("//", "//tutti:tutti@")).redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        assertEquals(0, process.waitFor(), () -> command + ": " + output);
        return output;
    }

    @ParameterizedTest
    @EnumSource
    void aClientThatGoesLeavesNothing(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection, "create table account (id int primary key, balance int not null)",
                    "insert into account values (1, 10)");
            Connection gone = nodes.connect(0);
            gone.setAutoCommit(false);
            run(gone, "update account set balance = 11");
            gone.abort(Runnable::run);
            while (nodes.sessions(0) > 1) {
                Thread.onSpinWait();
            }
            run(connection, "update account set balance = 12");
            assertEquals("12", all(connection, "select balance from account"));
            assertNull(connection.getWarnings());
        }
    }
}
