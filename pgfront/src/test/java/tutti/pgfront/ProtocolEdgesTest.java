package tutti.pgfront;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.core.BaseConnection;
import org.postgresql.core.PGStream;
import org.postgresql.core.QueryExecutorBase;

/** What is seldom said in the PostgreSQL protocol, and is answered as PostgreSQL answers it. */
@Timeout(60)
class ProtocolEdgesTest extends AtOneNode {
    /** Kept: pgjdbc closes the socket of a connection that nobody has any more. */
    private Connection connection;
    private PGStream stream;

    private void open(String... statements) throws Exception {
        connection = connect(EngineKind.H2);
        run(connection, statements);
        Field field = QueryExecutorBase.class.getDeclaredField("pgStream");
        field.setAccessible(true);
        stream = (PGStream) field.get(connection.unwrap(BaseConnection.class).getQueryExecutor());
        stream.setNetworkTimeout(20_000);
    }

    /** Writes a message: strings end with a zero byte, shorts and integers have two and four bytes, bytes one. */
    private void say(char type, Object... parts) throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(body);
        for (Object part : parts) {
            switch (part) {
                case String text -> {
                    out.write(text.getBytes(StandardCharsets.UTF_8));
                    out.writeByte(0);
                }
                case Short number -> out.writeShort(number);
                case Integer number -> out.writeInt(number);
                case Byte one -> out.writeByte(one);
                default -> throw new IllegalArgumentException("not of a message: " + part);
            }
        }
        stream.sendChar(type);
        stream.sendInteger4(4 + body.size());
        stream.send(body.toByteArray());
    }

    private void parse(String name, String sql) throws IOException {
        say('P', name, sql, (short) 0);
    }

    private void bind(String portal, String statement, int... resultFormats) throws IOException {
        Object[] parts = new Object[5 + resultFormats.length];
        parts[0] = portal;
        parts[1] = statement;
        parts[2] = (short) 0;
        parts[3] = (short) 0;
        parts[4] = (short) resultFormats.length;
        for (int i = 0; i < resultFormats.length; i++) {
            parts[5 + i] = (short) resultFormats[i];
        }
        say('B', parts);
    }

    /** The types of the messages up to ReadyForQuery, its status behind it, and behind errors their SQLSTATEs. */
    private String heard() throws IOException, SQLException {
        stream.flush();
        StringBuilder heard = new StringBuilder();
        while (true) {
            int type = stream.receiveChar();
            byte[] body = stream.receive(stream.receiveInteger4() - 4);
            if (type == 'S') {
                continue;
            }
            heard.append((char) type);
            if (type == 'Z') {
                return heard.append((char) body[0]).toString();
            } else if (type == 'E') {
                String fields = new String(body, StandardCharsets.UTF_8);
                int state = fields.indexOf("\0C") + 2;
                heard.append(fields, state, state + 5);
            } else if (type == 'C') {
                heard.append('[').append(new String(body, 0, body.length - 1, StandardCharsets.UTF_8)).append(']');
            }
        }
    }

    private String query(String sql) throws IOException, SQLException {
        say('Q', sql);
        return heard();
    }

    @Test
    void aNamedPortalOutlivesASimpleQueryAndNotItsTransaction() throws Exception {
        open("create table item (id int primary key)", "insert into item values (1), (2), (3)");
        assertEquals("C[BEGIN]ZT", query("begin"));
        parse("", "select id from item order by id");
        bind("rows", "");
        bind("", "");
        say('E', "rows", 1);
        say('S');
        assertEquals("122DsZT", heard());
        assertEquals("TDC[SELECT 1]ZT", query("select 7"));
        say('E', "rows", 1);
        say('S');
        assertEquals("DsZT", heard());
        say('E', "", 1);
        say('S');
        assertEquals("E34000ZE", heard());
        assertEquals("C[ROLLBACK]C[BEGIN]ZT", query("rollback; begin"));
        say('E', "rows", 1);
        say('S');
        assertEquals("E34000ZE", heard());
        assertEquals("C[ROLLBACK]ZI", query("rollback"));
    }

    @Test
    void whatAPortalHasChangedIsNotToldTwice() throws Exception {
        open("create table item (id int primary key)");
        parse("", "insert into item values (1)");
        bind("", "");
        say('E', "", 0);
        say('E', "", 0);
        say('S');
        assertEquals("12C[INSERT 0 1]E55000ZI", heard());
        parse("", "begin");
        bind("", "");
        say('E', "", 0);
        say('E', "", 0);
        say('S');
        assertEquals("12C[BEGIN]E55000ZE", heard());
        assertEquals("C[ROLLBACK]ZI", query("rollback"));
        assertEquals("TDC[SELECT 1]ZI", query("select count(*) from item"));
    }

    @Test
    void aBindWithFormatsForOtherColumnsIsRefused() throws Exception {
        open();
        parse("", "select 1, 2, 3");
        bind("", "", 0, 1);
        say('E', "", 0);
        say('S');
        assertEquals("1E08P01ZI", heard());
        assertEquals("TDC[SELECT 1]ZI", query("select 7"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"commit", "rollback", "abort", "end"})
    void whatIsChainedIsAsItWas(String end) throws Exception {
        open("create table item (id int primary key)");
        assertEquals("E25P01ZI", query(end + " and chain"));
        query("begin read only");
        query(end + " and chain");
        query(end + " and chain");
        assertEquals("C[INSERT 0 1]ZT", query("insert into item values (1)"));
        assertEquals("E25006ZI", query("commit"));
        query("begin");
        query(end + " and no chain");
        assertEquals("C[INSERT 0 1]ZI", query("insert into item values (1)"));
    }

    @ParameterizedTest
    @ValueSource(chars = {'D', 'C'})
    void aMessageWithoutWhatItIsAboutEndsTheSession(char type) throws Exception {
        open();
        say(type);
        stream.flush();
        assertEquals('E', stream.receiveChar());
        String fields = new String(stream.receive(stream.receiveInteger4() - 4), StandardCharsets.UTF_8);
        assertTrue(fields.contains("C08P01\0"), fields);
    }

    @ParameterizedTest
    @ValueSource(strings = {"set time", "set local time", "set names", "set", "set a to", "copy", "copy (",
            "copy () to stdout", "copy (;) to stdout", "insert"})
    void whatIsHalfAStatementIsASyntaxError(String half) throws Exception {
        open();
        assertEquals("E42601ZI", query(half));
        assertEquals("TDC[SELECT 1]ZI", query("select 7"));
    }

    @Test
    void whoNestsTooDeeplyHearsWhyTheSessionEnds() throws Exception {
        open();
        say('Q', "select " + "(".repeat(100_000) + "1" + ")".repeat(100_000));
        stream.flush();
        assertEquals('E', stream.receiveChar());
        String fields = new String(stream.receive(stream.receiveInteger4() - 4), StandardCharsets.UTF_8);
        assertTrue(fields.contains("C54001\0"), fields);
    }

    @Test
    void portalsThatAreNotReadToTheirEndsHaveOneBound() throws Exception {
        open("create table item (id int primary key)", "insert into item values (1)");
        long before = nodes.keptBytes(0);
        String large = "select repeat('x', 1500000) from system_range(1, 2)";
        query("begin");
        parse("", large);
        for (int i = 0; i < 2; i++) {
            bind("p" + i, "");
            say('E', "p" + i, 1);
        }
        say('S');
        assertEquals("12Ds2DsZT", heard());
        try (Connection other = nodes.connect(0)) {
            SQLException refused = assertThrows(SQLException.class, () -> run(other, large));
            assertEquals("53200", refused.getSQLState(), refused.getMessage());
            run(other, "insert into item values (2)");
        }
        query("savepoint s");
        bind("p2", "");
        say('E', "p2", 1);
        say('S');
        assertEquals("2E53200ZE", heard());
        query("rollback to s");
        say('C', (byte) 'P', "p1");
        say('E', "p0", 0);
        say('S');
        assertEquals("3DC[SELECT 1]ZT", heard());
        bind("p3", "");
        say('E', "p3", 1);
        say('S');
        assertEquals("2DsZT", heard());
        query("commit");
        assertEquals("TDDC[SELECT 2]ZI", query("select id from item"));
        parse("", "select 1");
        say('S');
        heard();
        assertTrue(nodes.keptBytes(0) <= before + 4096, () -> nodes.keptBytes(0) + " bytes are kept");
    }

    @Test
    void aResultThatIsTooLargeIsRefusedAndChangesNothing() throws Exception {
        open("create table item (id int primary key, name varchar)", "insert into item values (1, 'a')");
        long before = nodes.keptBytes(0);
        assertEquals("E54000ZI", query("select repeat('x', 3000000) from system_range(1, 9)"));
        assertEquals("E54000ZI", query("update item set name = repeat('x', 30000000) returning name"));
        assertEquals("TDC[SELECT 1]ZI", query("select id from item where name = 'a'"));
        assertEquals(before, nodes.keptBytes(0));
    }

    @Test
    void valuesOfPortalsCount() throws Exception {
        open();
        query("begin");
        parse("", "select length($1)");
        for (int i = 0; i < 2; i++) {
            say('B', "p" + i, "", (short) 0, (short) 1, 12_000_000, "x".repeat(11_999_999), (short) 0);
        }
        say('S');
        assertEquals("12E53200ZE", heard());
        query("rollback");
    }

    @Test
    void preparedStatementsHaveABound() throws Exception {
        open("create table item (id int primary key)");
        long before = nodes.keptBytes(0);
        String large = "select 1 -- " + "x".repeat(6_000_000);
        for (int i = 0; i < 3; i++) {
            parse("s" + i, large);
        }
        say('S');
        assertEquals("11E53200ZI", heard());
        bind("", "s1");
        say('E', "", 0);
        say('S');
        assertEquals("2DC[SELECT 1]ZI", heard());
        parse("", large);
        bind("", "");
        say('E', "", 0);
        say('C', (byte) 'S', "s0");
        parse("s2", large);
        say('S');
        assertEquals("12DC[SELECT 1]31ZI", heard());
        query("deallocate all");
        assertTrue(nodes.keptBytes(0) <= before, () -> nodes.keptBytes(0) + " bytes are kept");
    }

    @Test
    void aMessageThatIsTooLongIsRefusedAndTheSessionGoesOn() throws Exception {
        open("create table item (id int primary key)");
        String tooLong = "select 1 -- " + "x".repeat(1 << 24);
        query("begin");
        assertEquals("E54000ZE", query(tooLong));
        query("rollback");
        parse("s", tooLong);
        bind("", "s");
        say('S');
        assertEquals("E54000ZI", heard());
        parse("s", "insert into item values (1)");
        bind("", "s");
        say('E', "", 0);
        say('S');
        assertEquals("12C[INSERT 0 1]ZI", heard());
        say('Q', "copy item from stdin");
        stream.sendChar('d');
        stream.sendInteger4(1 << 25);
        stream.flush();
        assertEquals('G', stream.receiveChar());
        stream.receive(stream.receiveInteger4() - 4);
        assertEquals('E', stream.receiveChar());
        String fields = new String(stream.receive(stream.receiveInteger4() - 4), StandardCharsets.UTF_8);
        assertTrue(fields.contains("SFATAL\0") && fields.contains("C54000\0"), fields);
    }

    @Test
    void longMessagesCountUntilTheyAreDealtWith() throws Exception {
        open();
        String half = "select 1 -- " + "x".repeat(9 << 20);
        for (int i = 0; i < 2; i++) {
            assertEquals("TDC[SELECT 1]ZI", query(half));
        }
        stream.sendChar('Q');
        stream.sendInteger4(4 + half.length() + 1);
        stream.send(half.getBytes(StandardCharsets.UTF_8));
        stream.flush();
        awaitMessageBytes(8 << 20, 10 << 20);
        stream.sendChar(0);
        assertEquals("TDC[SELECT 1]ZI", heard());
        awaitMessageBytes(0, 0);
    }

    private void awaitMessageBytes(long least, long most) {
        for (long bytes = -1; bytes < least || bytes > most; bytes = nodes.messageBytes(0)) {
            assertFalse(Thread.currentThread().isInterrupted(), "it takes too long: " + bytes + " bytes");
            Thread.onSpinWait();
        }
    }
}
