package tutti.jdbc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/** A result set of a statement on a cluster: pgjdbc's, but for the statement that it belongs to. */
final class ResultSetHandler implements InvocationHandler {
    private final ResultSet results;
    private final @Nullable Statement statement;
    private final ClusterConnection connection;
    private final Physical on;

    private ResultSetHandler(ResultSet results, @Nullable Statement statement, ClusterConnection connection,
            Physical on) {
        this.results = results;
        this.statement = statement;
        this.connection = connection;
        this.on = on;
    }

    static ResultSet wrap(ResultSet results, @Nullable Statement statement, ClusterConnection connection,
            Physical on) {
        return Calls.proxy(ResultSet.class, new ResultSetHandler(results, statement, connection, on));
    }

    @Override
    public @Nullable Object invoke(Object self, Method method, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        Object ofObject = Calls.ofObject(method, self, arguments, "results of " + statement);
        if (ofObject != null) {
            return ofObject;
        }
        if (method.getName().equals("getStatement")) {
            return statement;
        }
        if (method.getName().equals("unwrap") && ((Class<?>) Calls.argument(arguments, 0)).isInstance(self)) {
            return self;
        }
        try {
            return Calls.call(method, results, arguments);
        } catch (SQLException failure) {
            throw connection.noticed(on, failure);
        }
    }
}
