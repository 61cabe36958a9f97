package tutti.jdbc.spi;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A result set: the database's own, but for the statement that it belongs to. */
public final class ResultSetHandler implements InvocationHandler {
    private static final Set<String> CHANGES = Set.of("insertRow", "updateRow", "deleteRow");

    private final ResultSet results;
    private final @Nullable Statement statement;
    private final StatementHost connection;
    private final Target on;

    private ResultSetHandler(ResultSet results, @Nullable Statement statement, StatementHost connection,
            Target on) {
        this.results = results;
        this.statement = statement;
        this.connection = connection;
        this.on = on;
    }

    /** Stands in for a result set of a target. */
    public static ResultSet wrap(ResultSet results, @Nullable Statement statement, StatementHost connection,
            Target on) {
        return Calls.proxy(ResultSet.class, new ResultSetHandler(results, statement, connection, on));
    }

    @Override
    public @Nullable Object invoke(Object self, Method method, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        Object ofObject = Calls.ofObject(method, self, arguments, () -> "results of " + statement);
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
            if (CHANGES.contains(method.getName())) {
                return connection.changeResults(on, target -> Calls.call(method, results, arguments));
            }
            return Calls.call(method, results, arguments);
        } catch (SQLException failure) {
            throw connection.noticed(on, failure);
        }
    }
}
