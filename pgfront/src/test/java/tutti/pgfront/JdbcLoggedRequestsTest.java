package tutti.pgfront;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.StringReader;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.postgresql.PGConnection;

/** Clients of nodes with H2 and HSQLDB that hear when their requests are logged. */
@Timeout(60)
class JdbcLoggedRequestsTest {
    private static final String LOGGED_AS = "logged as ";

    @TempDir
    private Path directory;

    private static void run(Connection connection, String sql) throws SQLException {
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

    private static String ticket(Statement statement) throws SQLException {
        SQLWarning notice = Objects.requireNonNull(statement.getWarnings(), "nothing is logged");
        String text = String.valueOf(notice.getMessage());
        assertTrue(text.startsWith(LOGGED_AS), text);
        return text.substring(LOGGED_AS.length());
    }

    private static String log(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
            assertEquals(0, statement.getUpdateCount(), "a count would be a promise");
            return ticket(statement);
        }
    }

    /** What became of it, as this node tells when it is known. */
    private static String outcome(Connection connection, String ticket) throws SQLException {
        String outcome = "in progress";
        while (outcome.equals("in progress")) {
            outcome = value(connection, "SELECT tutti_outcome('" + ticket + "')");
        }
        return outcome;
    }

    private static void refused(String state, Executable executable) {
        SQLException refusal = assertThrows(SQLException.class, executable);
        assertEquals(state, refusal.getSQLState(), refusal.getMessage());
    }

    @ParameterizedTest
    @EnumSource
    void whatIsLoggedIsExecutedOnce(EngineKind kind) throws Exception {
        try (JdbcNodes nodes = new JdbcNodes(kind, directory, 3, "hybrid", null);
                Connection client = nodes.connect(0);
                Connection elsewhere = nodes.connect(1)) {
            run(client, "create table item (id int primary key, n int not null)");
            run(client, "set tutti.acknowledge = 'logged'");
            List<String> tickets = new ArrayList<>();
            tickets.add(log(client, "insert into item values (0, 0)"));
            try (PreparedStatement insert = client.prepareStatement("insert into item values (?, ?)")) {
                for (int i = 1; i <= 20; i++) {
                    insert.setInt(1, i);
                    insert.setInt(2, i);
                    insert.execute();
                    tickets.add(ticket(insert));
                    insert.clearWarnings();
                }
            }
            tickets.add(log(client, "update item set n = n + 1"));
            for (String ticket : tickets) {
                assertEquals("committed", outcome(elsewhere, ticket));
            }
            assertEquals(tickets.size(), tickets.stream().distinct().count());
            String twice = log(client, "insert into item values (7, 0)");
            assertEquals("aborted", outcome(elsewhere, twice));
            value(elsewhere, "SELECT tutti_wait()");
            assertEquals("21", value(elsewhere, "select count(*) from item"));
            assertEquals("231", value(elsewhere, "select sum(n) from item"));
            assertEquals(tickets.size() + 1L, nodes.undertaken().stream().mapToLong(Long::longValue).sum());
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatCannotBeLoggedIsRefusedAndChangesNothing(EngineKind kind) throws Exception {
        try (JdbcNodes nodes = new JdbcNodes(kind, directory, 2, "hybrid", null);
                Connection client = nodes.connect(0);
                Connection elsewhere = nodes.connect(1)) {
            run(elsewhere, "set tutti.read_level = 'linearizable'");
            run(client, "create table item (id int primary key, note varchar(40))");
            run(client, "set tutti.acknowledge = 'logged'");
            refused("0A000", () -> run(client, "insert into item values (1, 'a'); insert into item values (2, 'b')"));
            refused("0A000", () -> run(client, "select 1; insert into item values (2, 'b')"));
            refused("0A000", () -> run(client, "insert into item values (3, current_user)"));
            refused("0A000", () -> run(client, "insert into item values (4, 'd') returning id"));
            refused("0A000", () -> client.unwrap(PGConnection.class).getCopyAPI()
                    .copyIn("copy item from stdin", new StringReader("5\te\n")));
            try (Statement batch = client.createStatement()) {
                batch.addBatch("insert into item values (6, 'f')");
                batch.addBatch("insert into item values (7, 'g')");
                refused("0A000", batch::executeBatch);
            }
            assertEquals("0", value(client, "select count(*) from item"));
            client.setAutoCommit(false);
            run(client, "insert into item values (8, 'h')");
            refused("25001", () -> run(client, "set tutti.acknowledge = 'logged'"));
            client.rollback();
            run(client, "insert into item values (8, 'h')");
            client.commit();
            client.setAutoCommit(true);
            assertEquals("1", value(elsewhere, "select count(*) from item where id > 0"),
                    "a block is executed when it commits");
            refused("22023", () -> run(client, "set tutti.acknowledge = 'soon'"));
            run(client, "reset tutti.acknowledge");
            try (Statement statement = client.createStatement()) {
                assertEquals(1, statement.executeUpdate("insert into item values (9, 'i')"));
            }
            refused("22023", () -> DriverManager
                    .getConnection(nodes.url(0) + "?options=-c%20tutti.acknowledge=soon", "tutti", "tutti").close());
            try (Connection other = DriverManager
                    .getConnection(nodes.url(0) + "?options=-c%20tutti.acknowledge=logged", "tutti", "tutti")) {
                assertEquals("committed", outcome(elsewhere, log(other, "delete from item where id = 9")));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void eachLevelIsChosenForOneTransaction(EngineKind kind) throws Exception {
        try (JdbcNodes nodes = new JdbcNodes(kind, directory, 2, "hybrid", null);
                Connection client = nodes.connect(0);
                Connection simple = DriverManager.getConnection(nodes.url(0) + "?preferQueryMode=simple", "tutti",
                        "tutti");
                Connection elsewhere = nodes.connect(1)) {
            run(client, "create table item (id int primary key, n int not null)");
            for (Connection one : List.of(client, simple)) {
                int row = one.equals(client) ? 1 : 2;
                try (Statement statement = one.createStatement()) {
                    statement.execute(
                            "set local tutti.acknowledge = 'logged'; insert into item values (" + row + ", 0)");
                    assertEquals("committed", outcome(elsewhere, ticket(statement)));
                    statement.clearWarnings();
                    assertEquals(1, statement.executeUpdate("update item set n = n + 1 where id = " + row),
                            "it was for that request");
                    statement.execute("set local tutti.acknowledge = 'applied'; update item set n = 5 where id = "
                            + row);
                    assertEquals("5", value(elsewhere, "select n from item where id = " + row));
                    assertEquals("executed", acknowledged(one), "as before");
                    run(one, "set tutti.acknowledge = 'logged'");
                    statement.execute("set local tutti.acknowledge = 'executed'; update item set n = 6 where id = "
                            + row);
                    assertNull(statement.getWarnings());
                    assertEquals("6", value(one, "select n from item where id = " + row));
                    assertEquals("logged", acknowledged(one));
                    run(one, "reset tutti.acknowledge");
                }
                refused("0A000", () -> run(one, "set local tutti.acknowledge = 'logged';"
                        + " insert into item values (7, 0); insert into item values (8, 0)"));
                refused("0A000", () -> run(one, "insert into item values (7, 0);"
                        + " set local tutti.acknowledge = 'logged'; insert into item values (8, 0)"));
                refused("25001", () -> run(one, "begin; set local tutti.acknowledge = 'logged'"));
                run(one, "rollback");
                run(one, "set local tutti.acknowledge = 'applied'; begin; rollback");
                assertEquals("executed", acknowledged(one));
                try (Statement alone = one.createStatement()) {
                    alone.execute("set local tutti.acknowledge = 'logged'");
                    assertEquals("25P01", Objects.requireNonNull(alone.getWarnings(), "no warning").getSQLState());
                }
                assertEquals("executed", acknowledged(one));
                run(one, "begin; set local tutti.acknowledge = 'applied'; update item set n = 9; commit");
                assertEquals(row + "", value(elsewhere, "select count(*) from item where n = 9"));
            }
        }
    }

    private static String acknowledged(Connection connection) throws SQLException {
        return value(connection, "show tutti.acknowledge");
    }

    @ParameterizedTest
    @EnumSource
    void otherProtocolsHaveNoRequestLogs(EngineKind kind) throws Exception {
        try (JdbcNodes nodes = new JdbcNodes(kind, directory, 1); Connection client = nodes.connect(0)) {
            refused("0A000", () -> run(client, "set tutti.acknowledge = 'logged'"));
            refused("0A000", () -> DriverManager
                    .getConnection(nodes.url(0) + "?options=-c%20tutti.acknowledge=logged", "tutti", "tutti").close());
        }
    }
}
