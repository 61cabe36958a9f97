package tutti.workload.tpcc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** {@link PortableTpcc}'s statements over JDBC, each prepared once. One thread. */
public final class JdbcStatements implements PortableTpcc.Statements {
    private final Connection connection;
    private final Map<String, PreparedStatement> prepared = new HashMap<>();

    /** Over a connection, whose transactions are the caller's. */
    public JdbcStatements(Connection connection) {
        this.connection = connection;
    }

    private PreparedStatement statement(String sql, @Nullable Object... parameters) throws SQLException {
        PreparedStatement statement = prepared.get(sql);
        if (statement == null) {
            statement = connection.prepareStatement(sql);
            prepared.put(sql, statement);
        }
        for (int i = 0; i < parameters.length; i++) {
            statement.setObject(i + 1, parameters[i]);
        }
        return statement;
    }

    @Override
    public int update(String sql, @Nullable Object... parameters) throws SQLException {
        return statement(sql, parameters).executeUpdate();
    }

    @Override
    public void batch(String sql, List<@Nullable Object[]> parameters) throws SQLException {
        PreparedStatement statement = statement(sql);
        for (@Nullable
        Object[] values : parameters) {
            statement(sql, values);
            statement.addBatch();
        }
        try {
            statement.executeBatch();
        } finally {
            statement.clearBatch();
        }
    }

    @Override
    public List<PortableTpcc.Row> query(String sql, @Nullable Object... parameters) throws SQLException {
        List<PortableTpcc.Row> found = new ArrayList<>();
        try (ResultSet rows = statement(sql, parameters).executeQuery()) {
            int columns = rows.getMetaData().getColumnCount();
            while (rows.next()) {
                List<@Nullable Object> values = new ArrayList<>(columns);
                for (int i = 1; i <= columns; i++) {
                    values.add(rows.getObject(i));
                }
                found.add(new PortableTpcc.Row(values));
            }
        }
        return found;
    }
}
