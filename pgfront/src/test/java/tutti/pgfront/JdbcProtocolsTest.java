package tutti.pgfront;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Protocols that must know what transactions read or touch, with pgjdbc at nodes with H2 and HSQLDB. */
@Timeout(60)
class JdbcProtocolsTest {
    @TempDir
    private Path directory;

    private static void run(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static String value(Connection connection, String sql, int parameter) throws SQLException {
        try (PreparedStatement query = connection.prepareStatement(sql)) {
            query.setInt(1, parameter);
            try (ResultSet rows = query.executeQuery()) {
                return rows.next() ? rows.getString(1) : "none";
            }
        }
    }

    private static String state(org.junit.jupiter.api.function.Executable executable) {
        return assertThrows(SQLException.class, executable).getSQLState();
    }

    @ParameterizedTest
    @EnumSource
    void underDbsmOnlyWhatWasReadConflicts(EngineKind kind) throws Exception {
        try (JdbcNodes nodes = new JdbcNodes(kind, directory, 2, "dbsm", null);
                Connection one = nodes.connect(0);
                Connection other = nodes.connect(0)) {
            run(one, "create table item (id int primary key, n int not null)",
                    "insert into item values (1, 0), (2, 0), (3, 0)");
            one.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            assertEquals(Connection.TRANSACTION_SERIALIZABLE, one.getTransactionIsolation());
            one.setAutoCommit(false);
            other.setAutoCommit(false);
            String read = "select n from item where id = ?";
            assertEquals("0", value(one, read, 1));
            assertEquals("0", value(other, read, 3));
            run(one, "update item set n = 1 where id = 2");
            run(other, "update item set n = 1 where id = 3", "insert into item values (4, 0)");
            other.commit();
            one.commit();
            assertEquals("0", value(one, read, 1));
            assertEquals("1", value(other, read, 2));
            run(one, "update item set n = 2 where id = 2");
            run(other, "update item set n = 2 where id = 1");
            other.commit();
            assertEquals("40001", state(one::commit));
        }
    }

    @ParameterizedTest
    @EnumSource
    void underNodoTablesAreDeclaredOrToldByTheStatement(EngineKind kind) throws Exception {
        try (JdbcNodes nodes = new JdbcNodes(kind, directory, 2, "nodo", null);
                Connection one = nodes.connect(0);
                Connection other = nodes.connect(0)) {
            run(one, "create table item (id int primary key)", "create table word (id int primary key)");
            one.setAutoCommit(false);
            run(one, "set local tutti.classes = 'item'", "insert into item values (1)");
            // none of these waits for the open transaction
            try (PreparedStatement insert = other.prepareStatement("insert into word values (?)")) {
                insert.setInt(1, 1);
                insert.executeUpdate();
            }
            run(other, "insert into word values (2); insert into word values (3)",
                    "begin; set local tutti.classes to 'word'; insert into word values (4); commit");
            assertEquals("1", value(other, "select count(*) from word where id = ?", 1));
            assertEquals("25001", state(() -> run(one, "set local tutti.classes = 'word'")));
            one.rollback();
            run(one, "set local tutti.classes = 'item'", "insert into word values (5)");
            assertEquals("2F003", state(one::commit));
            assertEquals("42P01", state(() -> run(one, "set local tutti.classes = 'item, none'")));
            one.rollback();
            run(one, "insert into word values (5)", "insert into item values (1)");
            one.commit();
            assertEquals("25001", state(() -> run(other, "set local tutti.classes = 'word'")));
            assertEquals("1", value(other, "select count(*) from word where id = ?", 5));
        }
    }

    @ParameterizedTest
    @EnumSource
    void underHybridStatementsAreExecutedByTheirOwner(EngineKind kind) throws Exception {
        try (JdbcNodes nodes = new JdbcNodes(kind, directory, 3, "hybrid", null);
                Connection one = nodes.connect(0);
                Connection other = nodes.connect(1);
                Connection third = nodes.connect(2)) {
            run(one, "create table item (id int primary key, n int not null check (n >= 0), by_node varchar(20))");
            try (PreparedStatement insert = other.prepareStatement("insert into item values (?, ?, ?)")) {
                for (int i = 1; i <= 20; i++) {
                    insert.setInt(1, i);
                    insert.setInt(2, 10 * i);
                    insert.setString(3, "a");
                    assertEquals(1, insert.executeUpdate());
                }
                assertEquals("23505", state(insert::executeUpdate));
            }
            for (Connection each : java.util.List.of(one, other, third)) {
                try (Statement update = each.createStatement()) {
                    assertEquals(20, update.executeUpdate("update item set n = n + 1"));
                }
            }
            assertEquals("23514", state(() -> run(third, "update item set n = -1 where id = 7")));
            third.setAutoCommit(false);
            run(third, "update item set n = n + 1 where id = 7", "update item set n = n + 1 where id = 8");
            third.commit();
            third.setAutoCommit(true);
            assertEquals("74", value(third, "select n from item where id = ?", 7));
            run(one, "update item set n = 0 where id = 7");
            assertEquals("0", value(one, "select n from item where id = ?", 7));
            run(one, "set tutti.acknowledge = 'applied'");
            for (int i = 1; i <= 20; i++) {
                run(one, "update item set n = " + i + " where id = 7");
                assertEquals(Integer.toString(i), value(other, "select n from item where id = ?", 7));
            }
            assertEquals(3, nodes.undertaken().size());
            assertEquals(46, nodes.undertaken().stream().mapToLong(Long::longValue).sum());
        }
    }
}
