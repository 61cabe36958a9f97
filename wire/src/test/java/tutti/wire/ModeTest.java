package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.FrontEndFixture.PATIENCE;
import static tutti.wire.ScriptedNode.take;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.TransactionId;
import tutti.engine.postgres.capture.Statement.Call;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.PostgresException;

/** Which requests go to every node, and what their clients see of it. */
@Timeout(60)
class ModeTest extends OnFrontEnd {
    @BeforeEach
    void resetNode() {
        fixture.node.answer = answer();
    }

    /** One row, as a simple query is answered. */
    private static byte[] answer() {
        ByteBuf out = Unpooled.buffer();
        Backend.rowDescription(out, "balance");
        Backend.dataRow(out, "42");
        Backend.commandComplete(out, "UPDATE 1");
        byte[] bytes = new byte[out.readableBytes()];
        out.readBytes(bytes);
        return bytes;
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static String value(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(sql)) {
            assertTrue(row.next());
            return row.getString(1);
        }
    }

    private static SQLException refused(Connection connection, String sql, String state) {
        SQLException e = assertThrows(SQLException.class, () -> execute(connection, sql));
        assertEquals(state, e.getSQLState(), e.getMessage());
        return e;
    }

    @Test
    void theVariableIsAVariable() throws Exception {
        try (Connection connection = fixture.jdbc()) {
            assertEquals("default", value(connection, "show tutti.mode"));
            execute(connection, "SET SESSION /* why not */ Tutti.Mode TO active;");
            assertEquals("active", value(connection, "show tutti.mode"));
            assertTrue(refused(connection, "set tutti.mode = 'acitve'", "22023").getMessage().contains("\"acitve\""));
            assertEquals("active", value(connection, "show tutti.mode"));
            execute(connection, "reset tutti.mode");
            assertEquals("default", value(connection, "show tutti.mode"));
            execute(connection, "insert into account values (1, 1)");
            assertEquals(0, fixture.node.requests.size());
        }
        try (Connection connection = fixture.jdbc("options=-c tutti.mode=active")) {
            assertEquals("active", value(connection, "show tutti.mode"));
            execute(connection, "set tutti.mode = passive");
            execute(connection, "insert into account values (2, 1)");
            execute(connection, "discard all");
            execute(connection, "update account set balance = 1");
            take(fixture.capture.requests);
        }
        SQLException e = assertThrows(SQLException.class, () -> fixture.jdbc("options=-c tutti.mode=activ"));
        assertEquals("22023", e.getSQLState());
    }

    @Test
    void aSimpleQueryGoesToEveryNode() throws Exception {
        BackendConnection client = fixture.client();
        client.execute("set tutti.mode = 'active'", PATIENCE);
        assertEquals("42", client.execute("update account set balance = 2; update account set note = 'x'", PATIENCE)
                .value());
        assertEquals(List.of("update account set balance = 2", "update account set note = 'x'"),
                take(fixture.capture.requests).stream().map(Call::sql).toList());
        assertEquals("0", client.execute("select count(*) from account", PATIENCE).value());
        client.execute("set tutti.mode = default", PATIENCE);
        client.execute("set local tutti.mode = 'active'; update account set balance = 3", PATIENCE);
        assertEquals("set local tutti.mode = 'active'", take(fixture.capture.requests).getFirst().sql());
        client.execute("update account set balance = 4", PATIENCE);
        assertEquals(0, fixture.capture.requests.size());
        client.execute("select at_all(), 1 from account for update", PATIENCE);
        take(fixture.capture.requests);
        assertEquals(0, fixture.node.begun.size() - 1);
        client.close();
    }

    /** A driver sends such a query as one cycle of the extended protocol. */
    @Test
    void whatACycleSetsForItselfGoesWithIt() throws Exception {
        ByteBuf out = Unpooled.buffer();
        Backend.commandComplete(out, "SET");
        Backend.commandComplete(out, "UPDATE 1");
        fixture.node.answer = java.util.Arrays.copyOf(out.array(), out.readableBytes());
        try (Connection connection = fixture.jdbc()) {
            execute(connection, "set local tutti.mode = 'active'; update account set balance = 3");
            assertEquals(List.of("set local tutti.mode = 'active'", "update account set balance = 3"),
                    take(fixture.capture.requests).stream().map(call -> call.sql().strip()).toList());
            refused(connection, "set local tutti.mode = 'acitve'; update account set balance = 3", "22023");
            execute(connection, "insert into account values (1, 1)");
            execute(connection, "set local tutti.mode = 'active'");
            assertEquals("1:1", fixture.accounts());
            assertEquals(0, fixture.capture.requests.size(), "for the request only");
            execute(connection, "set tutti.mode = active");
            execute(connection, "/* here */ set local search_path = other; update account set balance = 4");
            assertEquals("/* here */ set local search_path = other",
                    take(fixture.capture.requests).getFirst().sql().strip());
            try (Statement read = connection.createStatement()) {
                assertEquals(false,
                        read.execute("set local lock_timeout = '77ms'; select current_setting('lock_timeout')"));
                assertTrue(read.getMoreResults());
                assertTrue(read.getResultSet().next());
                assertEquals("77ms", read.getResultSet().getString(1));
            }
            assertEquals(0, fixture.capture.requests.size());
        }
    }

    @Test
    void whatACycleSetsForItselfIsThereWhenItsTurnHasCome() throws Exception {
        owners();
        try (Connection connection = fixture.jdbc()) {
            execute(connection, "set local lock_timeout = '77ms';"
                    + " insert into account select 1, 1, current_setting('lock_timeout') where random() < 2");
            assertEquals("77ms", value(connection, "select note from account"));
        }
        assertEquals(0, fixture.node.undertaken.size());
    }

    @Test
    void whatVariesAndBlocksAreRefused() throws Exception {
        try (Connection connection = fixture.jdbc("preferQueryMode=simple")) {
            execute(connection, "set tutti.mode = active");
            assertTrue(refused(connection, "update account set balance = random()", "25006").getMessage()
                    .contains("random()"));
            refused(connection, "begin; update account set balance = 1; commit", "25006");
            execute(connection, "rollback");
            refused(connection, "update account set balance = 1; set local tutti.mode = passive", "25001");
            connection.setAutoCommit(false);
            refused(connection, "update account set balance = 1", "25006");
            connection.rollback();
            refused(connection, "set tutti.mode = passive", "25001");
            connection.rollback();
            execute(connection, "set local tutti.mode = passive");
            execute(connection, "insert into account values (1, 1)");
            connection.commit();
            refused(connection, "insert into account values (2, 2)", "25006");
            connection.rollback();
            execute(connection, "set local tutti.mode = default");
            connection.rollback();
            connection.setAutoCommit(true);
            execute(connection, "set tutti.mode = passive");
            connection.setAutoCommit(false);
            refused(connection, "set local tutti.mode = active", "25001");
            connection.rollback();
        }
        fixture.node.wholeOnly = true;
        try (Connection connection = fixture.jdbc()) {
            refused(connection, "set tutti.mode = passive", "0A000");
        }
        assertEquals("1:1", fixture.accounts());
    }

    @Test
    void parametersTravelWithTheirStatements() throws Exception {
        try (Connection connection = fixture.jdbc("prepareThreshold=1");
                PreparedStatement update = connection
                        .prepareStatement("update account set balance = ? where note = ? returning balance")) {
            execute(connection, "set tutti.mode = active");
            for (int i = 0; i < 4; i++) {
                update.setInt(1, i);
                update.setString(2, i == 2 ? null : "é");
                try (ResultSet row = update.executeQuery()) {
                    assertTrue(row.next());
                    assertEquals(42, row.getInt(1));
                }
                Call call = take(fixture.capture.requests).getFirst();
                assertEquals("update account set balance = $1 where note = $2 returning balance", call.sql());
                assertEquals(23, call.types()[0]);
                assertTrue(call.bound().length > 12);
            }
            execute(connection, "set tutti.mode = passive");
            execute(connection, "insert into account values (1, 1, 'é')");
            update.setInt(1, 7);
            update.setString(2, "é");
            try (ResultSet row = update.executeQuery()) {
                assertTrue(row.next());
                assertEquals(7, row.getInt(1), "prepared here, too");
            }
            assertEquals(0, fixture.capture.requests.size());
        }
    }

    /** The server reads such a value where it is bound: at each node, at another time. */
    @Test
    void aValueThatIsTheMomentIsBoundAtOneNodeOnly() throws Exception {
        try (Connection connection = fixture.jdbc();
                PreparedStatement insert = connection
                        .prepareStatement("insert into account values (?, 1, ?)")) {
            execute(connection, "set tutti.mode = active");
            for (String moment : List.of("now", " Tomorrow 12:00", "{now}", "[today,)", "(1,\"NOW\")", "today 3 pm CET",
                    "yesterday 00:00 Europe/Lisbon")) {
                insert.setInt(1, 1);
                insert.setString(2, moment);
                SQLException refused = assertThrows(SQLException.class, insert::executeUpdate, moment);
                assertEquals("25006", refused.getSQLState(), refused.getMessage());
                assertTrue(refused.getMessage().contains(moment), refused.getMessage());
            }
            for (String text : List.of("come now", "2026-01-31", "todays", "nowhere", "")) {
                insert.setString(2, text);
                insert.execute();
                take(fixture.capture.requests);
            }
        }
        fixture.node.everywhereIfPossible = true;
        try (Connection connection = fixture.jdbc();
                PreparedStatement insert = connection
                        .prepareStatement("insert into account values (1, 1, ?)")) {
            insert.setString(1, "now");
            assertEquals(1, insert.executeUpdate());
            assertEquals(0, fixture.capture.requests.size());
            assertEquals("now", value(connection, "select note from account where id = 1"));
        }
    }

    @Test
    void aBatchIsOneRequest() throws Exception {
        ByteBuf out = Unpooled.buffer();
        for (int i = 0; i < 3; i++) {
            Backend.commandComplete(out, "UPDATE " + i);
        }
        fixture.node.answer = java.util.Arrays.copyOf(out.array(), out.readableBytes());
        try (Connection connection = fixture.jdbc("options=-c tutti.mode=active");
                PreparedStatement update = connection
                        .prepareStatement("update account set balance = ? where id = ?")) {
            for (int i = 0; i < 3; i++) {
                update.setInt(1, i);
                update.setInt(2, i);
                update.addBatch();
            }
            assertEquals(3, update.executeBatch().length);
            assertEquals(3, take(fixture.capture.requests).size());
            assertEquals("default", value(connection, "select 'default'"));
        }
    }

    @Test
    void errorsOfEveryNodeAreTheClients() throws Exception {
        ByteBuf out = Unpooled.buffer();
        Backend.errorResponse(out, Errors.error("23514", "no"));
        fixture.node.answer = java.util.Arrays.copyOf(out.array(), out.readableBytes());
        try (Connection connection = fixture.jdbc("options=-c tutti.mode=active");
                PreparedStatement update = connection
                        .prepareStatement("update account set balance = ?")) {
            update.setInt(1, 5);
            assertEquals("23514", assertThrows(SQLException.class, update::executeUpdate).getSQLState());
            Backend.commandComplete(out.clear(), "UPDATE 1");
            Backend.errorResponse(out, Errors.error("23503", "deferred"));
            fixture.node.answer = java.util.Arrays.copyOf(out.array(), out.readableBytes());
            assertEquals("23503", assertThrows(SQLException.class, update::executeUpdate).getSQLState());
            refused(connection, "update account set balance = random()", "25006");
            refused(connection, "update nothing at all", "42601");
            assertEquals("1", value(connection, "select 1"));
        }
    }

    @Test
    void whereTheProtocolPrefersItWhatCanGoesEverywhere() throws Exception {
        fixture.node.everywhereIfPossible = true;
        try (Connection connection = fixture.jdbc()) {
            execute(connection, "update account set balance = 1");
            take(fixture.capture.requests);
            execute(connection, "insert into account values (1, 2 * random()::int)");
            assertEquals(0, fixture.capture.requests.size());
            execute(connection, "set tutti.mode = passive");
            execute(connection, "update account set balance = 9");
            assertEquals(0, fixture.capture.requests.size());
            connection.setAutoCommit(false);
            execute(connection, "update account set note = 'block'");
            connection.commit();
            assertEquals("1:9", fixture.accounts());
        }
    }

    /** A protocol that has owners orders all transactions first. */
    private void owners() {
        fixture.node.undertakes = true;
        fixture.node.atOnce = false;
        fixture.node.runs = true;
    }

    /** As protocol hybrid does when its execution changes to active. */
    @Test
    void whenEveryNodeIsToExecuteOnlyWhatIsAcknowledgedAsLoggedGoesToItsOwner() throws Exception {
        owners();
        try (Connection connection = fixture.jdbc()) {
            execute(connection, "update account set balance = 1");
            take(fixture.node.undertaken);
            take(fixture.capture.requests);
            fixture.node.everywhereIfPossible = true;
            execute(connection, "update account set balance = 2");
            take(fixture.capture.requests);
            assertEquals(0, fixture.node.undertaken.size());
            execute(connection, "set tutti.acknowledge = logged");
            execute(connection, "update account set balance = 3");
            take(fixture.node.undertaken);
            execute(connection, "set tutti.acknowledge = executed");
            take(fixture.capture.requests);
            fixture.node.everywhereIfPossible = false;
            execute(connection, "update account set balance = 4");
            take(fixture.node.undertaken);
        }
    }

    @Test
    void whatComesToTheSameThereGoesToItsOwner() throws Exception {
        owners();
        BackendConnection client = fixture.client();
        assertEquals("42", client.execute("update account set balance = 2; update account set note = 'x'", PATIENCE)
                .value());
        take(fixture.node.undertaken);
        assertEquals(2, take(fixture.capture.requests).size());
        fixture.node.ownerRefuses = new EngineFailure("23514", "less than nothing", false);
        PostgresException refused = assertThrows(PostgresException.class,
                () -> client.execute("update account set balance = -2", PATIENCE));
        assertEquals("23514", refused.sqlState());
        fixture.node.ownerRefuses = null;
        client.execute("update account set balance = 3", PATIENCE);
        client.close();
        fixture.node.answer = tag("INSERT 0 1");
        try (Connection connection = fixture.jdbc();
                PreparedStatement insert = connection.prepareStatement("insert into account values (?, 1)")) {
            insert.setInt(1, 1);
            fixture.node.undertaken.clear();
            assertEquals(1, insert.executeUpdate());
            take(fixture.node.undertaken);
        }
        assertEquals("null", fixture.accounts());
    }

    /** As long as requests follow each other within a second, which a machine that is busy may prevent now and then. */
    private List<@Nullable String> settingsOfSome(Executed update) throws Exception {
        List<@Nullable String> settings = List.of("never");
        for (int i = 0; i < 100 && !String.valueOf(settings.getLast()).endsWith(" later"); i++) {
            update.execute();
            settings = take(fixture.capture.settings);
        }
        return settings;
    }

    /** Something that is executed. */
    private interface Executed {
        void execute() throws SQLException;
    }

    @Test
    void settingsAreAskedAgainOnlyAfterTheSessionHasDoneSomething() throws Exception {
        owners();
        try (Connection connection = fixture.jdbc("prepareThreshold=1");
                Connection simple = fixture.jdbc("preferQueryMode=simple");
                PreparedStatement update = connection.prepareStatement("update account set balance = ?")) {
            for (Connection each : List.of(connection, simple)) {
                Executed request = each.equals(connection)
                        ? () -> {
                            update.setInt(1, 1);
                            update.execute();
                        }
                        : () -> execute(simple, "update account set balance = 1");
                request.execute();
                assertEquals("f", take(fixture.capture.settings).getLast());
                assertTrue(String.valueOf(settingsOfSome(request).getLast()).endsWith(" later"));
                execute(each, "set search_path = other, public");
                request.execute();
                assertEquals(List.of("alice", "other, public", "f"), take(fixture.capture.settings));
                assertEquals("other, public", settingsOfSome(request).get(1));
                assertEquals("other, public", value(each, "show search_path"));
                request.execute();
                assertEquals("f", take(fixture.capture.settings).getLast(), "whatever it was");
            }
        }
    }

    @Test
    void whatDependsOnTheSessionStaysThere() throws Exception {
        owners();
        try (Connection connection = fixture.jdbc("preferQueryMode=simple"); Connection other = fixture.jdbc()) {
            execute(connection, "insert into account values (1, 2 * random()::int)");
            execute(connection, "do $$ begin insert into account values (2, 2); end $$");
            execute(connection, "set tutti.mode = passive");
            execute(connection, "update account set balance = 9");
            execute(connection, "reset tutti.mode");
            fixture.capture.likeOthers = false;
            execute(connection, "update account set balance = 7 where id = 1");
            try (PreparedStatement update = other.prepareStatement("update account set balance = ? where id = 2")) {
                update.setInt(1, 8);
                assertEquals(1, update.executeUpdate());
            }
        } finally {
            fixture.capture.likeOthers = true;
        }
        assertEquals(0, fixture.node.undertaken.size());
        assertEquals("1:7 2:8", fixture.accounts());
    }

    @Test
    void aClientMayHearThatItsRequestIsLogged() throws Exception {
        owners();
        String ticket = "logged as " + new TransactionId(1, 77);
        try (Connection connection = fixture.jdbc("preferQueryMode=simple"); Connection other = fixture.jdbc()) {
            for (Connection each : List.of(connection, other)) {
                execute(each, "set tutti.acknowledge = logged");
                try (PreparedStatement update = each.prepareStatement("update account set balance = ?")) {
                    update.setInt(1, 1);
                    assertEquals(0, update.executeUpdate(), "nobody knows yet");
                    assertEquals(ticket, update.getWarnings().getMessage());
                }
                take(fixture.node.undertaken);
                assertTrue(refused(each, "update account set balance = random()", "0A000").getMessage()
                        .contains("random()"));
                refused(each, "do $$ begin update account set balance = 1; end $$", "0A000");
                fixture.capture.likeOthers = false;
                refused(each, "update account set balance = 1", "0A000");
                fixture.capture.likeOthers = true;
                assertEquals("logged", value(each, "show tutti.acknowledge"));
                execute(each, "reset tutti.acknowledge");
            }
            execute(connection, "set local tutti.acknowledge = 'logged'; update account set balance = 3");
            take(fixture.node.undertaken);
            connection.setAutoCommit(false);
            execute(connection, "insert into account values (1, 1)");
            refused(connection, "set tutti.acknowledge = logged", "25001");
            connection.rollback();
        } finally {
            fixture.capture.likeOthers = true;
        }
        fixture.node.undertakes = false;
        try (Connection connection = fixture.jdbc()) {
            refused(connection, "set tutti.acknowledge = logged", "0A000");
            refused(connection, "set tutti.acknowledge = at_once", "22023");
            assertEquals("executed", value(connection, "show tutti.acknowledge"));
        }
    }

    /** By the extended protocol the server reads it when it is prepared. */
    @Test
    void whatTheServerDoesNotUnderstandIsRefusedBeforeItIsLogged() throws Exception {
        owners();
        try (Connection simple = fixture.jdbc("preferQueryMode=simple"); Connection extended = fixture.jdbc()) {
            for (Connection each : List.of(simple, extended)) {
                execute(each, "set tutti.acknowledge = logged");
                refused(each, "call nosuch(1)", "42883");
                refused(each, "insert into nosuch values (1)", "42P01");
                refused(each, "update account set nosuch = 1", "42703");
                assertEquals("logged", value(each, "show tutti.acknowledge"));
                execute(each, "update account set balance = 1");
                take(fixture.node.undertaken);
            }
            execute(simple, "reset tutti.acknowledge");
            refused(simple, "set local tutti.acknowledge = 'logged'; call nosuch(1)", "42883");
        }
        assertEquals(0, fixture.node.undertaken.size());
    }

    @Test
    void anOperatorSaysWhenClientsHearThatDoNot() throws Exception {
        fixture.node.missing = Set.of();
        FrontEndSettings settings = FrontEndSettings
                .of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), fixture.server.settings())
                .withUsual("tutti.acknowledge", "applied");
        try (PostgresFrontEnd other = new PostgresFrontEnd(settings, fixture.node, fixture.capture,
                (_, _) -> () -> {}, fixture.loops)) {
            String url = "jdbc:postgresql://127.0.0.1:" + other.start().getPort()
                    + "/postgres?user=alice&password=wonderland";
            try (Connection connection = DriverManager.getConnection(url)) {
                execute(connection, "insert into account values (1, 1)");
                take(fixture.node.elsewhere);
                execute(connection, "set tutti.acknowledge = executed");
                execute(connection, "update account set balance = 2");
                assertTrue(fixture.node.elsewhere.isEmpty(), "the session says otherwise");
                execute(connection, "reset tutti.acknowledge");
                assertEquals("applied", value(connection, "show tutti.acknowledge"));
            }
            try (Connection connection = DriverManager.getConnection(
                    url + "&options=-c%20tutti.acknowledge=executed")) {
                assertEquals("executed", value(connection, "show tutti.acknowledge"));
            }
        }
    }

    /** Under any protocol: for transactions of the session, for those that are executed elsewhere, and in blocks. */
    @Test
    void aClientMayHearThatAllNodesShowItsChanges() throws Exception {
        fixture.node.missing = Set.of();
        try (Connection connection = fixture.jdbc()) {
            execute(connection, "insert into account values (1, 1), (2, 1)");
            assertTrue(fixture.node.elsewhere.isEmpty(), "not unless it is asked for");
            execute(connection, "set tutti.acknowledge = applied");
            execute(connection, "update account set balance = 2");
            take(fixture.node.elsewhere);
            execute(connection, "select 1");
            assertThrows(SQLException.class, () -> execute(connection, "insert into account values (1, 1), (1, 1)"));
            execute(connection, "create table made (id int primary key)");
            take(fixture.node.elsewhere);
            execute(connection, "reset tutti.acknowledge");
            connection.setAutoCommit(false);
            refused(connection, "set tutti.acknowledge = applied", "25001");
            connection.rollback();
            execute(connection, "set local tutti.acknowledge = applied");
            execute(connection, "update account set balance = 3");
            assertTrue(fixture.node.elsewhere.isEmpty(), "before it commits");
            connection.commit();
            take(fixture.node.elsewhere);
            connection.setAutoCommit(true);
            execute(connection, "update account set balance = 4");
            assertTrue(fixture.node.elsewhere.isEmpty(), "of that transaction only");
            fixture.node.missing = Set.of(2);
            execute(connection, "set tutti.acknowledge = applied");
            try (Statement statement = connection.createStatement()) {
                assertEquals(2, statement.executeUpdate("update account set balance = 5"));
                assertTrue(statement.getWarnings().getMessage().contains("not applied at node 2"));
                assertEquals("01000", statement.getWarnings().getSQLState());
            }
            take(fixture.node.elsewhere);
        }
        assertEquals("1:5 2:5", fixture.accounts());
    }

    private static byte[] tag(String tag) {
        ByteBuf out = Unpooled.buffer();
        Backend.commandComplete(out, tag);
        byte[] bytes = new byte[out.readableBytes()];
        out.readBytes(bytes);
        return bytes;
    }
}
