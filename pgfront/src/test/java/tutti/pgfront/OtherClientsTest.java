package tutti.pgfront;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.Connection;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;
import org.postgresql.core.BaseConnection;
import org.postgresql.core.PGStream;
import org.postgresql.core.QueryExecutorBase;
import org.postgresql.util.PGInterval;
import org.postgresql.util.PSQLException;

/**
 * What clients other than pgjdbc do at nodes with H2 and HSQLDB, and it seldom does: psycopg sends several statements before it
 * looks, pgx encodes values by the types that it is told, copies in binary form, and so on.
 */
@Timeout(60)
class OtherClientsTest extends AtOneNode {
    private static String one(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            List<String> values = new ArrayList<>();
            while (rows.next()) {
                for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++) {
                    values.add(rows.getString(i));
                }
            }
            return String.join(",", values);
        }
    }

    private static PGStream stream(Connection connection) throws ReflectiveOperationException, SQLException {
        Field field = QueryExecutorBase.class.getDeclaredField("pgStream");
        field.setAccessible(true);
        return (PGStream) field.get(connection.unwrap(BaseConnection.class).getQueryExecutor());
    }

    private static void send(PGStream stream, char type, String... words) throws IOException {
        byte[] body = (String.join("\0", words) + (words.length > 0 ? "\0" : "")).getBytes(StandardCharsets.UTF_8);
        int count = type == 'P' ? 2 : 0;
        stream.sendChar(type);
        stream.sendInteger4(4 + body.length + count);
        stream.send(body);
        stream.send(new byte[count]);
    }

    private static String answers(PGStream stream, int count) throws IOException {
        StringBuilder types = new StringBuilder();
        for (int i = 0; i < count; i++) {
            types.append((char) stream.receiveChar());
            stream.skip(stream.receiveInteger4() - 4);
        }
        return types.toString();
    }

    @ParameterizedTest
    @EnumSource
    void anErrorIsToldBeforeSync(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            PGStream stream = stream(connection);
            stream.setNetworkTimeout(10_000);
            send(stream, 'P', "fine", "select 1");
            send(stream, 'P', "wrong", "select nothing from nowhere");
            send(stream, 'H');
            stream.flush();
            assertEquals("1E", answers(stream, 2));
            send(stream, 'P', "skipped", "select 1");
            send(stream, 'S');
            stream.flush();
            assertEquals("Z", answers(stream, 1));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aStatementMayHaveVeryManyParameters(EngineKind kind) throws Exception {
        int count = 4_000;
        try (Connection connection = connect(kind)) {
            run(connection, "create table much (id int primary key, t varchar(20))");
            try (PreparedStatement insert = connection
                    .prepareStatement("insert into much values " + "(?, ?), ".repeat(count - 1) + "(?, ?)")) {
                for (int i = 0; i < count; i++) {
                    insert.setInt(2 * i + 1, i);
                    insert.setString(2 * i + 2, "t" + i);
                }
                assertEquals(count, insert.executeUpdate());
            }
            try (PreparedStatement query = connection.prepareStatement(
                    "select count(*) from much where id in (" + "?, ".repeat(count - 1) + "?)")) {
                for (int i = 0; i < count; i++) {
                    query.setInt(i + 1, 2 * i);
                }
                ResultSet row = query.executeQuery();
                assertTrue(row.next());
                assertEquals(count / 2, row.getInt(1));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void aHugeLengthInABinaryCopyIsRefused(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection, "create table blob (id int primary key, t varchar(20))");
            CopyManager copy = connection.unwrap(PGConnection.class).getCopyAPI();
            byte[] signature = "PGCOPY\n\u00ff\r\n\0".getBytes(StandardCharsets.ISO_8859_1);
            for (int extension : new int[]{0, Integer.MAX_VALUE}) {
                byte[] data = java.nio.ByteBuffer.allocate(64).put(signature).putInt(0).putInt(extension)
                        .putShort((short) 2).putInt(Integer.MAX_VALUE).array();
                String state = assertThrows(SQLException.class,
                        () -> copy.copyIn("copy blob from stdin (format binary)", new ByteArrayInputStream(data)))
                        .getSQLState();
                assertEquals(extension == 0 ? "54000" : "22P04", state);
            }
            assertEquals("0", one(connection, "select count(*) from blob"));
        }
    }

    @ParameterizedTest
    @EnumSource
    void intervalsAreAsPostgresWritesThem(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection,
                    "create table span (id int primary key, d interval day(9) to second(6), m interval year(9) to month)",
                    "insert into span values (1, interval '1 day 2 hours', interval '1 year'), (2, null, null)");
            assertEquals("1 day 02:00:00,1 year,null,null", one(connection, "select d, m from span order by id"));
            try (PreparedStatement insert = connection.prepareStatement("insert into span values (?, ?, ?)")) {
                insert.setInt(1, 3);
                insert.setObject(2, new PGInterval(0, 0, -2, -3, -4, -5.25));
                insert.setObject(3, new PGInterval(1, 2, 0, 0, 0, 0));
                insert.executeUpdate();
                insert.setObject(2, new PGInterval(0, 1, 1, 0, 0, 0));
                assertEquals("0A000", assertThrows(SQLException.class, insert::executeUpdate).getSQLState());
            }
            try (PreparedStatement query = connection.prepareStatement("select d, m from span where id = ?")) {
                for (int i = 0; i < 10; i++) {
                    query.setInt(1, 3);
                    ResultSet row = query.executeQuery();
                    assertTrue(row.next());
                    assertEquals("-2 days -03:04:05.25", row.getString(1));
                    assertEquals("1 year 2 mons", row.getString(2));
                    assertEquals(new PGInterval(1, 2, 0, 0, 0, 0), row.getObject(2));
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void parametersAreOfTheTypesThatTheWordsAroundThemSay(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection, "create table thing (id int primary key, n smallint, t varchar(20), at_ timestamptz)",
                    "insert into thing values (1, 5, 'one', now()), (2, 7, 'two', now()), (3, 9, 'three', now())");
            assertEquals("int2", types(connection, "update thing set n = n + ? where id < 0"));
            assertEquals("timestamptz,timestamptz",
                    types(connection, "select id from thing where at_ between ? and ?"));
            assertEquals("_int4", types(connection, "select id from thing where id = any (?)"));
            assertEquals("uuid,date,numeric",
                    types(connection, "select cast(? as uuid), ?::date, ?::numeric(10, 2)"));
            assertEquals("int2", types(connection, "select coalesce(?, n) from thing"));
            assertEquals("int4,int4,int4", types(connection, "select t from thing where id in (?, ?, ?)"));
            assertTrue(types(connection, "select t from thing limit ? offset ?").matches("(int[48],?){2}"));
            Array two = connection.createArrayOf("int4", new Object[]{1, 3});
            assertEquals("one,three", list(connection, "select t from thing where id = any (?) order by id", two));
            assertEquals("two", list(connection, "select t from thing where id <> all (?)", two));
            assertEquals("two", list(connection, "select t from thing where id = any (?::int[])",
                    connection.createArrayOf("int4", new Object[]{2})));
            assertEquals("no,yes,yes",
                    list(connection, "select case when n > ? then ? else ? end from thing order by id", 6, "yes",
                            "no"));
            try (PreparedStatement query = connection.prepareStatement("select ?, ?")) {
                query.setInt(1, 7);
                query.setString(2, "seven");
                ResultSet row = query.executeQuery();
                assertTrue(row.next());
                assertArrayEquals(new Object[]{7, "seven"}, new Object[]{row.getObject(1), row.getObject(2)});
            }
        }
    }

    private static String types(Connection connection, String sql) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            ParameterMetaData parameters = statement.getParameterMetaData();
            List<String> names = new ArrayList<>();
            for (int i = 1; i <= parameters.getParameterCount(); i++) {
                names.add(parameters.getParameterTypeName(i));
            }
            return String.join(",", names);
        }
    }

    private static String list(Connection connection, String sql, Object... parameters) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < parameters.length; i++) {
                statement.setObject(i + 1, parameters[i]);
            }
            List<String> values = new ArrayList<>();
            ResultSet rows = statement.executeQuery();
            while (rows.next()) {
                values.add(rows.getString(1));
            }
            return String.join(",", values);
        }
    }

    @ParameterizedTest
    @EnumSource
    void copiesInBinary(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection, "create table word (id bigint primary key, t text, d date, n numeric, y bytea, b boolean)",
                    "insert into word values (1, 'grün', '1999-02-28', 12.345, '\\x00ff'::bytea, true), (2, null,"
                            + " null, null, null, null)");
            CopyManager copy = connection.unwrap(PGConnection.class).getCopyAPI();
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            assertEquals(2, copy.copyOut("copy word to stdout (format binary)", out));
            byte[] rows = out.toByteArray();
            assertEquals("PGCOPY\n", new String(rows, 0, 7, StandardCharsets.US_ASCII));
            String before = one(connection, "select id, t, d, n, b from word order by id");
            run(connection, "delete from word");
            // In pieces of seven bytes.
            assertEquals(2, copy.copyIn("copy word from stdin (format binary)", new ByteArrayInputStream(rows), 7));
            assertEquals(before, one(connection, "select id, t, d, n, b from word order by id"));
            assertEquals("1,grün,1999-02-28,12.345,t,2,null,null,null,null", before);
            run(connection, "delete from word");
            byte[] wrong = rows.clone();
            wrong[3] = 'X';
            assertEquals("22P04", copyState(copy, wrong));
            assertEquals("22P04", copyState(copy, Arrays.copyOf(rows, rows.length - 5)));
            assertEquals("0", one(connection, "select count(*) from word"));
        }
    }

    private static String copyState(CopyManager copy, byte[] rows) {
        return assertThrows(PSQLException.class,
                () -> copy.copyIn("copy word from stdin (format binary)", new ByteArrayInputStream(rows)))
                .getSQLState();
    }

    @ParameterizedTest
    @EnumSource
    void typesWithoutLimitsKeepWhatTheyAreGiven(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection,
                    "create table value (id int primary key, n numeric, ti time, ts timestamp without time zone)",
                    "insert into value values (1, 1.25, '01:02:03.456789', '2024-02-29 01:02:03.456789')");
            assertEquals("1.25,01:02:03.456789,2024-02-29 01:02:03.456789",
                    one(connection, "select n, ti, ts from value"));
            assertEquals("2.5", one(connection, "select 10::numeric / 4"));
            assertTrue(one(connection, "select 10::numeric / 3").length() <= 102);
            assertEquals("1", one(connection, "select id from value where now() - interval '1 day' < now()"));
            assertEquals("timestamptz", types(connection, "select id from value where cast(? as timestamptz) < now()"));
            assertEquals("x", one(connection, "select 'xyz'::varchar(1)"));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aStatementHasItsTime(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            run(connection, "create table many (id int primary key)");
            try (PreparedStatement insert = connection.prepareStatement("insert into many values (?)")) {
                for (int i = 0; i < 300; i++) {
                    insert.setInt(1, i);
                    insert.addBatch();
                }
                insert.executeBatch();
            }
            run(connection, "set statement_timeout = '50ms'");
            SQLException late = assertThrows(SQLException.class,
                    () -> one(connection, "select a.id from many a, many b, many c where a.id + b.id + c.id < 0"));
            assertEquals("57014", late.getSQLState());
            assertTrue(late.getMessage().contains("statement timeout"), late.getMessage());
            run(connection, "set statement_timeout = 0");
            assertEquals("300", one(connection, "select count(*) from many"));
            assertEquals("22023", assertThrows(SQLException.class,
                    () -> run(connection, "set statement_timeout = 'soon'")).getSQLState());
        }
    }

    @ParameterizedTest
    @EnumSource
    void statementsAreForgottenByName(EngineKind kind) throws Exception {
        try (Connection connection = connect(kind)) {
            PGStream stream = stream(connection);
            stream.setNetworkTimeout(10_000);
            send(stream, 'P', "one", "select 1");
            send(stream, 'P', "two", "select 2");
            send(stream, 'S');
            stream.flush();
            assertEquals("11Z", answers(stream, 3));
            send(stream, 'Q', "deallocate one");
            stream.flush();
            assertEquals("CZ", answers(stream, 2));
            send(stream, 'D', "Stwo");
            send(stream, 'D', "Sone");
            send(stream, 'S');
            stream.flush();
            assertEquals("tTEZ", answers(stream, 4));
            assertEquals("26000", assertThrows(SQLException.class, () -> run(connection, "deallocate one"))
                    .getSQLState());
            run(connection, "deallocate all", "discard all");
        }
    }
}
