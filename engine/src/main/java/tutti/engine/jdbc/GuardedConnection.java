package tutti.engine.jdbc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/**
 * A connection on which a client can do everything but what would get past replication: statements that
 * {@link StatementKinds} does not allow, ends of transactions, changes of the isolation. Those fail and have no effect.
 */
final class GuardedConnection implements InvocationHandler {
    private final Connection inner;
    private final Connection guarded;

    private GuardedConnection(Connection inner) {
        this.inner = inner;
        this.guarded = proxy(Connection.class, this);
    }

    static Connection guard(Connection inner) {
        return new GuardedConnection(inner).guarded;
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type
                .cast(Proxy.newProxyInstance(GuardedConnection.class.getClassLoader(), new Class<?>[]{type}, handler));
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        switch (method.getName()) {
            case "commit", "setAutoCommit", "setTransactionIsolation", "close", "abort", "unwrap" -> throw forbidden(
                    method);
            case "rollback" -> {
                if (arguments == null) {
                    throw forbidden(method);
                }
            }
            case "prepareStatement", "prepareCall" -> StatementKinds.check(text(arguments));
            default -> {
                // Asks, or makes something that is guarded below.
            }
        }
        Object result = call(inner, method, arguments);
        return switch (result) {
            case CallableStatement statement -> proxy(CallableStatement.class, new GuardedStatement(statement));
            case PreparedStatement statement -> proxy(PreparedStatement.class, new GuardedStatement(statement));
            case Statement statement -> proxy(Statement.class, new GuardedStatement(statement));
            case null -> null;
            default -> result;
        };
    }

    /** A statement of the connection. */
    private final class GuardedStatement implements InvocationHandler {
        private final Statement statement;

        GuardedStatement(Statement statement) {
            this.statement = statement;
        }

        @Override
        public @Nullable Object invoke(Object proxy, Method method, @Nullable Object @Nullable [] arguments)
                throws Throwable {
            String name = method.getName();
            if ((name.startsWith("execute") || name.equals("addBatch")) && arguments != null) {
                StatementKinds.check(text(arguments));
            }
            return switch (name) {
                case "getConnection" -> guarded;
                case "unwrap" -> throw forbidden(method);
                default -> call(statement, method, arguments);
            };
        }
    }

    private static String text(@Nullable Object @Nullable [] arguments) {
        return arguments != null && arguments[0] instanceof String sql ? sql : "";
    }

    private static SQLException forbidden(Method method) {
        return new SQLException(method.getName() + " of the connection is its session's to call", "0A000");
    }

    private static @Nullable Object call(Object target, Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException failed) {
            throw failed.getCause() == null ? failed : failed.getCause();
        }
    }
}
