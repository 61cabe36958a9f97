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
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.reads.ReadLog;

/**
 * A connection on which a client can do everything but what would get past replication: statements that
 * {@link StatementKinds} does not allow, ends of transactions, changes of the isolation. Those fail and have no effect.
 */
final class GuardedConnection implements InvocationHandler {
    private static final int PARAMETERS_MAX = 100_000;

    private final Connection inner;
    private final Connection guarded;
    private final Supplier<@Nullable ReadLog> log;

    private GuardedConnection(Connection inner, Supplier<@Nullable ReadLog> log) {
        this.inner = inner;
        this.log = log;
        this.guarded = proxy(Connection.class, this);
    }

    /**
     * Guards a connection.
     *
     * @param log is told what is executed, if there is one
     */
    static Connection guard(Connection inner, Supplier<@Nullable ReadLog> log) {
        return new GuardedConnection(inner, log).guarded;
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
            case CallableStatement statement ->
                proxy(CallableStatement.class, new GuardedStatement(statement, text(arguments)));
            case PreparedStatement statement ->
                proxy(PreparedStatement.class, new GuardedStatement(statement, text(arguments)));
            case Statement statement -> proxy(Statement.class, new GuardedStatement(statement, ""));
            case null -> null;
            default -> result;
        };
    }

    /** A statement of the connection. */
    private final class GuardedStatement implements InvocationHandler {
        /** Setters whose values compare with a column's as they are; what others set is not known. */
        private static final Set<String> PLAIN = Set.of("setByte", "setShort", "setInt", "setLong", "setString",
                "setNString", "setObject");

        private final Statement statement;
        private final String prepared;
        private final List<@Nullable Object> values = new ArrayList<>();
        private final List<Executed> batch = new ArrayList<>();

        /** Of a text that was prepared, or none. */
        GuardedStatement(Statement statement, String prepared) {
            this.statement = statement;
            this.prepared = prepared;
        }

        /** What is executed. */
        private record Executed(String sql, List<@Nullable Object> values) {}

        @Override
        public @Nullable Object invoke(Object proxy, Method method, @Nullable Object @Nullable [] arguments)
                throws Throwable {
            String name = method.getName();
            if ((name.startsWith("execute") || name.equals("addBatch")) && arguments != null) {
                StatementKinds.check(text(arguments));
            }
            note(name, arguments);
            return switch (name) {
                case "getConnection" -> guarded;
                case "unwrap" -> throw forbidden(method);
                default -> call(statement, method, arguments);
            };
        }

        private void note(String name, @Nullable Object @Nullable [] arguments) {
            ReadLog told = log.get();
            if (told == null) {
                return;
            }
            switch (name) {
                case "executeBatch", "executeLargeBatch" -> {
                    batch.forEach(each -> told.executes(each.sql(), each.values()));
                    batch.clear();
                }
                case "execute", "executeQuery", "executeUpdate", "executeLargeUpdate" -> {
                    Executed executed = executed(arguments);
                    told.executes(executed.sql(), executed.values());
                }
                case "addBatch" -> batch.add(executed(arguments));
                case "clearBatch" -> batch.clear();
                case "clearParameters" -> values.clear();
                default -> {
                    if (name.startsWith("set") && arguments != null && arguments.length > 1
                            && arguments[0] instanceof Integer place) {
                        set(place, arguments.length == 2 && PLAIN.contains(name) ? arguments[1] : null);
                    }
                }
            }
        }

        private Executed executed(@Nullable Object @Nullable [] arguments) {
            return arguments == null
                    ? new Executed(prepared, new ArrayList<>(values))
                    : new Executed(text(arguments), List.of());
        }

        private void set(int place, @Nullable Object value) {
            while (values.size() < place && place <= PARAMETERS_MAX) {
                values.add(null);
            }
            if (place > 0 && place <= values.size()) {
                values.set(place - 1, value);
            }
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
