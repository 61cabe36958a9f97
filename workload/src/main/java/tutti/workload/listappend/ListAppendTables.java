package tutti.workload.listappend;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Lists in a database: tables {@code list_append_0}, {@code list_append_1}, …, a list per row, its values separated by
 * commas. An append is an update of the row, or its insertion. Standard SQL; tested on PostgreSQL. One
 * thread.
 */
public final class ListAppendTables {
    private final int tables;

    /** So many tables. */
    public ListAppendTables(int tables) {
        this.tables = tables;
    }

    /** Makes them, empty, in place of any there are. The connection may be in any mode; if in a transaction, it commits. */
    public void create(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (int i = 0; i < tables; i++) {
                statement.execute("drop table if exists list_append_" + i);
                statement.execute(
                        "create table list_append_" + i + " (id bigint primary key, list varchar(100000) not null)");
            }
        }
        if (!connection.getAutoCommit()) {
            connection.commit();
        }
    }

    /** Reads a list; empty if it is not there. */
    public int[] read(Connection connection, long key) throws SQLException {
        try (PreparedStatement select = connection
                .prepareStatement("select list from " + table(key) + " where id = ?")) {
            select.setLong(1, key);
            try (ResultSet row = select.executeQuery()) {
                return row.next() ? parsed(row.getString(1)) : new int[0];
            }
        }
    }

    /** Appends to a list, and makes it if it is not there. */
    public void append(Connection connection, long key, int value) throws SQLException {
        try (PreparedStatement update = connection
                .prepareStatement("update " + table(key) + " set list = list || ? where id = ?")) {
            update.setString(1, "," + value);
            update.setLong(2, key);
            if (update.executeUpdate() > 0) {
                return;
            }
        }
        try (PreparedStatement insert = connection
                .prepareStatement("insert into " + table(key) + " (id, list) values (?, ?)")) {
            insert.setLong(1, key);
            insert.setString(2, Integer.toString(value));
            int _ = insert.executeUpdate();
        }
    }

    private String table(long key) {
        return "list_append_" + key % tables;
    }

    private static int[] parsed(String list) throws SQLException {
        String[] parts = list.split(",", -1);
        int[] values = new int[parts.length];
        for (int i = 0; i < parts.length; i++) {
            try {
                values[i] = Integer.parseInt(parts[i]);
            } catch (NumberFormatException e) {
                throw new SQLException("not a list of numbers: " + list, "22018", e);
            }
        }
        return values;
    }
}
