package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.PGConnection;
import org.postgresql.largeobject.LargeObject;
import org.postgresql.largeobject.LargeObjectManager;
import tutti.core.txn.AbortReason;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.pgwire.ResponseHandler;
import tutti.wire.InBandFixture.Way;

/** Functions called by their object ids, by which drivers use large objects: a call is a statement like others. */
@Timeout(120)
class LargeObjectCallsTest {
    private static InBandFixture fixture;

    @BeforeAll
    static void start() throws Exception {
        fixture = new InBandFixture("CREATE TABLE account (id int PRIMARY KEY, balance int);"
                + "CREATE FUNCTION adds(i int) RETURNS int LANGUAGE sql AS 'INSERT INTO account VALUES (i, i) RETURNING id'");
    }

    @AfterAll
    static void stop() throws Exception {
        fixture.close();
    }

    @BeforeEach
    void reset() throws Exception {
        fixture.node.reset();
        fixture.past("DELETE FROM account");
        fixture.node.forget();
    }

    private static Connection connect() throws SQLException {
        return DriverManager.getConnection(fixture.url(Way.EITHER));
    }

    private static LargeObjectManager manager(Connection connection) throws SQLException {
        return connection.unwrap(PGConnection.class).getLargeObjectAPI();
    }

    @Test
    void aTransactionWritesThemThroughTheDriver() throws Exception {
        try (Connection connection = connect()) {
            connection.setAutoCommit(false);
            long object = manager(connection).createLO();
            LargeObject open = manager(connection).open(object);
            open.write(new byte[3_000]);
            open.close();
            connection.commit();
            List<String> told = fixture.committed();
            assertEquals(1, told.size());
            assertTrue(
                    told.getFirst().contains(
                            "LargeObject[object=" + object + ", owner=alice, rights=]\npages " + object + " 0\n"),
                    told.getFirst());
            open = manager(connection).open(object, LargeObjectManager.READ);
            assertEquals(3_000, open.size());
            assertArrayEquals(new byte[2_500], open.read(2_500));
            connection.commit();
            assertEquals(List.of(), fixture.committed(), "who only reads does not ask");
            manager(connection).unlink(object);
            connection.rollback();
            assertEquals(List.of(), fixture.committed());
            try (Statement statement = connection.createStatement()) {
                statement.execute("INSERT INTO account VALUES (1, 1)");
                manager(connection).unlink(object);
                connection.commit();
            }
            String both = fixture.committed().getFirst();
            assertTrue(both.startsWith("insert account(1,1)\nLargeObject[object=" + object + ", owner=, rights=]\n"),
                    both);
        }
    }

    @Test
    void sqlDoesTheSame() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            statement.execute("SELECT lo_from_bytea(7, 'by a query')");
            statement.execute("DO $$ BEGIN PERFORM lo_put(7, 3, 'by code'); END $$");
            statement.execute("SELECT lo_unlink(7); SELECT lo_create(7)");
            statement.execute("SELECT lo_unlink(7)");
            assertEquals(4, fixture.committed().size());
            assertEquals("0A000",
                    assertThrows(SQLException.class, () -> statement.execute("SELECT lo_import('/etc/hosts')"))
                            .getSQLState());
        }
    }

    @Test
    void aCallThatLosesTellsSo() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            statement.execute("SELECT lo_create(8)");
            fixture.committed();
            fixture.node.abort = new AbortReason.LostCertification(0, 7);
            assertEquals("40001", assertThrows(SQLException.class, () -> manager(connection).unlink(8L)).getSQLState());
            connection.setAutoCommit(false);
            manager(connection).open(8L).write(new byte[10]);
            assertEquals("40001", assertThrows(SQLException.class, connection::commit).getSQLState());
            fixture.node.abort = null;
            fixture.node.begun.clear();
            manager(connection).open(8L).write(new byte[10]);
            connection.commit();
            manager(connection).unlink(8L);
            connection.commit();
            assertEquals(2, fixture.committed().size());
        }
    }

    @Test
    void aCallByItselfCommitsByItselfAndAnswersThen() throws Exception {
        int function = Integer.parseInt(
                String.valueOf(fixture.admin.execute("SELECT 'adds(int)'::regprocedure::oid", InBandFixture.PATIENCE)
                        .value()));
        BackendConnection client = fixture.client(Way.EITHER);
        assertEquals("V 7 I", call(client, function, 7));
        assertEquals(1, fixture.committed().size());
        assertEquals("E 23505 I", call(client, function, 7));
        assertEquals("E 42883 I", call(client, 1, 7));
        client.execute("BEGIN", InBandFixture.PATIENCE);
        assertEquals("V 8 T", call(client, function, 8));
        assertEquals("E 23505 E", call(client, function, 7));
        assertEquals("E 25P02 E", call(client, function, 9));
        client.execute("ROLLBACK", InBandFixture.PATIENCE);
        fixture.node.abort = new AbortReason.LostCertification(0, 7);
        assertEquals("E 40001 I", call(client, function, 9), "what has not committed is not answered");
        fixture.node.abort = null;
        fixture.node.refusal = "no majority";
        assertTrue(call(client, function, 9).startsWith("E "));
        fixture.node.refusal = null;
        fixture.node.wholeOnly = true;
        assertEquals("E 0A000 I", call(client, function, 9));
        fixture.node.wholeOnly = false;
        fixture.node.atOnce = false;
        assertEquals("E 0A000 I", call(client, function, 9));
        fixture.node.atOnce = true;
        fixture.committed();
        assertEquals("V 9 I", call(client, function, 9));
        assertEquals(1, fixture.committed().size());
        client.close();
        assertFalse(fixture.engine.catalog().tables().isEmpty());
    }

    @Test
    void aCallInABlockWaitsForItsTurn() throws Exception {
        fixture.node.atOnce = false;
        fixture.node.runs = true;
        try (Connection connection = connect()) {
            connection.setAutoCommit(false);
            long object = manager(connection).createLO();
            manager(connection).open(object).write(new byte[3]);
            connection.commit();
        }
        assertEquals(1, fixture.node.submitted.size());
        assertEquals(1, fixture.committed().size());
    }

    /** Answers the types of the messages that came, the integer or SQLSTATE in it, and the status. */
    private static String call(BackendConnection client, int function, int parameter) throws Exception {
        StringBuilder heard = new StringBuilder();
        CompletableFuture<Void> over = new CompletableFuture<>();
        ByteBuf out = client.buffer();
        out.writeByte(Frontend.FUNCTION_CALL).writeInt(4 + 4 + 2 + 2 + 2 + 4 + 4 + 2);
        out.writeInt(function).writeShort(1).writeShort(1).writeShort(1).writeInt(4).writeInt(parameter).writeShort(1);
        client.send(out, new ResponseHandler() {
            @Override
            public void message(byte type, ByteBuf body) {
                heard.append((char) type).append(' ')
                        .append(type == 'E'
                                ? ErrorFields.read(body).sqlState()
                                : String.valueOf(body.getInt(body.readerIndex() + 4)))
                        .append(' ');
            }

            @Override
            public void ready(byte status) {
                heard.append((char) status);
                over.complete(null);
            }

            @Override
            public void lost(Throwable cause) {
                over.completeExceptionally(cause);
            }
        });
        over.get(30, TimeUnit.SECONDS);
        return heard.toString();
    }
}
