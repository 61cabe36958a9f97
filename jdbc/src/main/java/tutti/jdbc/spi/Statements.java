package tutti.jdbc.spi;

import java.io.InputStream;
import java.io.Reader;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Statements that are one of a database's own at a time, on the connection that is used at the moment. What the application
 * has set on one (options, parameters, batch) is noted, and set again when it is made anew on another connection. For one
 * thread at a time, except {@link Statement#cancel}.
 */
public final class Statements implements InvocationHandler {
    /** A call to be repeated on another statement. */
    private static final class Call {
        private final Method method;
        private final @Nullable Object @Nullable [] arguments;

        Call(Method method, @Nullable Object @Nullable [] arguments) {
            this.method = method;
            this.arguments = arguments;
        }
    }

    private final StatementHost connection;
    private final Method creation;
    private final @Nullable Object @Nullable [] creationArguments;
    private final @Nullable String sql;
    private final Map<String, Call> options = new LinkedHashMap<>();
    private final Map<Object, Call> parameters = new LinkedHashMap<>();
    private final List<Call> batch = new ArrayList<>();
    private final StringBuilder batchSql = new StringBuilder();
    /** A parameter was a stream, which is read once. */
    private boolean streams;
    private volatile @Nullable Statement delegate;
    private @Nullable Target on;
    private boolean closed;
    /** The last statement was executed by other means, and its update count has not been passed over. */
    private boolean elsewhere;

    private Statements(StatementHost connection, Method creation,
            @Nullable Object @Nullable [] creationArguments) {
        this.connection = connection;
        this.creation = creation;
        this.creationArguments = creationArguments;
        this.sql = creation.getName().equals("createStatement") ? null : (String) Calls.argument(creationArguments, 0);
    }

    /** Makes a statement as the method of {@link java.sql.Connection} would. */
    public static Object create(StatementHost connection, Method creation, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        Statements handler = new Statements(connection, creation, arguments);
        handler.at(connection.somewhere());
        return Calls.proxy(creation.getReturnType(), handler);
    }

    /** The database's own statement on a connection; made anew if the last one was on another. */
    private Statement at(Target target) throws SQLException {
        Statement present = delegate;
        if (present != null && Objects.equals(target, on)) {
            return present;
        }
        if (present != null && on != null && on.usable()) {
            present.close();
        }
        Object made = Calls.call(creation, target.connection(),
                sql == null ? creationArguments : translated(creationArguments, target));
        if (!(made instanceof Statement anew)) {
            throw new IllegalStateException("not a statement: " + made);
        }

        for (Call call : options.values()) {
            Calls.call(call.method, anew, call.arguments);
        }
        for (Call call : batch) {
            Calls.call(call.method, anew, call.arguments);
        }
        for (Call call : parameters.values()) {
            Calls.call(call.method, anew, call.arguments);
        }
        delegate = anew;
        on = target;
        return anew;
    }

    @Override
    public @Nullable Object invoke(Object self, Method method, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        Object ofObject = Calls.ofObject(method, self, arguments, () -> sql == null ? "statement" : sql);
        if (ofObject != null) {
            return ofObject;
        }
        String name = method.getName();
        switch (name) {
            case "close" -> {
                close();
                return null;
            }
            case "isClosed" -> {
                return closed || (current() != null && current().isClosed());
            }
            case "cancel" -> {
                Statement running = delegate;
                if (running != null) {
                    running.cancel();
                }
                return null;
            }
            default -> {
            }
        }
        if (closed) {
            throw new SQLException("this statement is closed", "55000");
        }
        switch (name) {
            case "getConnection" -> {
                return connection.proxy();
            }
            case "unwrap" -> {
                Class<?> face = (Class<?>) Calls.argument(arguments, 0);
                return face.isInstance(self) ? self : Calls.call(method, at(connection.somewhere()), arguments);
            }
            case "isWrapperFor" -> {
                return ((Class<?>) Calls.argument(arguments, 0)).isInstance(self)
                        || Boolean.TRUE.equals(Calls.call(method, at(connection.somewhere()), arguments));
            }
            case "getUpdateCount", "getLargeUpdateCount" -> {
                return elsewhere ? zero(method) : noted(self, method, arguments);
            }
            case "getMoreResults" -> {
                elsewhere = false;
                return noted(self, method, arguments);
            }
            case "execute", "executeUpdate", "executeLargeUpdate" -> {
                elsewhere = sql == null && connection.executedElsewhere((String) Calls.argument(arguments, 0));
                if (elsewhere) {
                    return zero(method);
                }
                return execute(self, method, arguments, sql == null ? (String) Calls.argument(arguments, 0) : sql);
            }
            case "executeQuery" -> {
                elsewhere = false;
                return execute(self, method, arguments, sql == null ? (String) Calls.argument(arguments, 0) : sql);
            }
            case "executeBatch", "executeLargeBatch" -> {
                try {
                    return execute(self, method, arguments, sql == null ? batchSql.toString() : sql);
                } finally {
                    clearBatch();
                }
            }
            case "getMetaData", "getParameterMetaData" -> {
                return connection.execute(null, !streams, target -> Calls.call(method, at(target), arguments));
            }
            default -> {
                return noted(self, method, arguments);
            }
        }
    }

    /** Arguments of which the first is SQL. */
    private @Nullable Object @Nullable [] translated(@Nullable Object @Nullable [] arguments, Target target) {
        String given = (String) Calls.argument(arguments, 0);
        String translated = connection.translated(given, target);
        if (arguments == null || translated.equals(given)) {
            return arguments;
        }
        @Nullable
        Object[] copy = arguments.clone();
        copy[0] = translated;
        return copy;
    }

    private static Object zero(Method method) {
        if (method.getReturnType() == boolean.class) {
            return false;
        }
        return method.getReturnType() == long.class ? (Object) 0L : (Object) 0;
    }

    private @Nullable Statement current() {
        return delegate;
    }

    private @Nullable Object execute(Object self, Method method, @Nullable Object @Nullable [] arguments,
            @Nullable String executed) throws SQLException {
        return connection.execute(executed == null ? "" : executed, !streams, target -> {
            Statement statement = at(target);
            boolean text = arguments != null && arguments.length > 0;
            Object result = Calls.call(method, statement, text ? translated(arguments, target) : arguments);
            return result instanceof ResultSet resultSet ? wrap(self, resultSet) : result;
        });
    }

    private Object wrap(Object self, ResultSet results) {
        Target where = on;
        if (where == null) {
            throw new IllegalStateException("results of a statement that was not made");
        }
        return ResultSetHandler.wrap(results, (Statement) self, connection, where);
    }

    /** A call that needs no answer from the node; what it sets is noted. */
    private @Nullable Object noted(Object self, Method method, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        boolean sets = sets(method);
        Target where = on;
        Statement statement = delegate;
        if (statement == null || where == null || (sets && !where.usable())) {
            statement = at(connection.somewhere());
        }
        Object result = Calls.call(method, statement, arguments);
        if (sets) {
            note(method, arguments);
        }
        return result instanceof ResultSet resultSet ? wrap(self, resultSet) : result;
    }

    private static boolean sets(Method method) {
        String name = method.getName();
        return name.startsWith("set") || name.startsWith("clear") || name.equals("addBatch")
                || name.equals("registerOutParameter") || name.equals("closeOnCompletion");
    }

    private void note(Method method, @Nullable Object @Nullable [] arguments) {
        String name = method.getName();
        switch (name) {
            case "clearParameters" -> {
                parameters.clear();
                streams = false;
                return;
            }
            case "clearBatch" -> {
                clearBatch();
                return;
            }
            case "clearWarnings" -> {
                return;
            }
            case "addBatch" -> {
                if (arguments == null) {
                    batch.addAll(parameters.values());
                } else {
                    batchSql.append(arguments[0]).append(';');
                }
                batch.add(new Call(method, arguments));
                return;
            }
            default -> {
            }
        }
        boolean parameter = arguments != null && arguments.length >= 2
                && PreparedStatement.class.isAssignableFrom(method.getDeclaringClass());
        if (parameter) {
            for (Object argument : arguments) {
                streams |= argument instanceof InputStream || argument instanceof Reader;
            }
            Object key = name.equals("registerOutParameter") ? "out " + arguments[0] : Calls.argument(arguments, 0);
            parameters.put(key, new Call(method, arguments));
        } else {
            options.put(name, new Call(method, arguments));
        }
    }

    private void clearBatch() {
        batch.clear();
        batchSql.setLength(0);
    }

    private void close() throws SQLException {
        closed = true;
        Statement present = delegate;
        Target where = on;
        delegate = null;
        if (present != null && where != null && where.usable()) {
            present.close();
        }
    }
}
