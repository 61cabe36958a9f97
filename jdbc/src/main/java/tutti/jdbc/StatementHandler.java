package tutti.jdbc;

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
import org.jspecify.annotations.Nullable;

/**
 * A statement on a cluster: one of pgjdbc's at a time, on the connection that is used at the moment. What the application
 * has set on it (options, parameters, batch) is noted, and set again when it is made anew at another node.
 */
final class StatementHandler implements InvocationHandler {
    /** A call to be repeated on another of pgjdbc's statements. */
    private static final class Call {
        private final Method method;
        private final @Nullable Object @Nullable [] arguments;

        Call(Method method, @Nullable Object @Nullable [] arguments) {
            this.method = method;
            this.arguments = arguments;
        }
    }

    private final ClusterConnection connection;
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
    private @Nullable Physical on;
    private boolean closed;

    private StatementHandler(ClusterConnection connection, Method creation,
            @Nullable Object @Nullable [] creationArguments) {
        this.connection = connection;
        this.creation = creation;
        this.creationArguments = creationArguments;
        this.sql = creation.getName().equals("createStatement") ? null : (String) Calls.argument(creationArguments, 0);
    }

    /** Makes a statement as the method of {@link java.sql.Connection} would. */
    static Object create(ClusterConnection connection, Method creation, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        StatementHandler handler = new StatementHandler(connection, creation, arguments);
        handler.at(connection.somewhere());
        return Calls.proxy(creation.getReturnType(), handler);
    }

    /** pgjdbc's statement on a connection; made anew if the last one was on another. */
    private Statement at(Physical physical) throws SQLException {
        Statement present = delegate;
        if (present != null && physical == on) {
            return present;
        }
        if (present != null && on != null && on.usable()) {
            present.close();
        }
        Object made = Calls.call(creation, physical.connection(), creationArguments);
        if (!(made instanceof Statement)) {
            throw new IllegalStateException("not a statement: " + made);
        }
        Statement anew = (Statement) made;
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
        on = physical;
        return anew;
    }

    @Override
    public @Nullable Object invoke(Object self, Method method, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        Object ofObject = Calls.ofObject(method, self, arguments, sql == null ? "statement" : sql);
        if (ofObject != null) {
            return ofObject;
        }
        String name = method.getName();
        switch (name) {
            case "close" :
                close();
                return null;
            case "isClosed" :
                return closed || (current() != null && current().isClosed());
            case "cancel" :
                Statement running = delegate;
                if (running != null) {
                    running.cancel();
                }
                return null;
            default :
                break;
        }
        if (closed) {
            throw Failures.closed("statement");
        }
        switch (name) {
            case "getConnection" :
                return connection.proxy();
            case "unwrap" :
                Class<?> face = (Class<?>) Calls.argument(arguments, 0);
                return face.isInstance(self) ? self : Calls.call(method, at(connection.somewhere()), arguments);
            case "isWrapperFor" :
                return ((Class<?>) Calls.argument(arguments, 0)).isInstance(self)
                        || Boolean.TRUE.equals(Calls.call(method, at(connection.somewhere()), arguments));
            case "execute" :
            case "executeQuery" :
            case "executeUpdate" :
            case "executeLargeUpdate" :
                return execute(self, method, arguments,
                        arguments != null && arguments.length > 0 ? (String) Calls.argument(arguments, 0) : sql);
            case "executeBatch" :
            case "executeLargeBatch" :
                try {
                    return execute(self, method, arguments, sql == null ? batchSql.toString() : sql);
                } finally {
                    clearBatch();
                }
            case "getMetaData" :
            case "getParameterMetaData" :
                return connection.execute(null, !streams, physical -> Calls.call(method, at(physical), arguments));
            default :
                return noted(self, method, arguments);
        }
    }

    private @Nullable Statement current() {
        return delegate;
    }

    private @Nullable Object execute(Object self, Method method, @Nullable Object @Nullable [] arguments,
            @Nullable String executed) throws SQLException {
        return connection.execute(executed == null ? "" : executed, !streams, physical -> {
            boolean anew = physical != on;
            Statement statement = at(physical);
            Object result = Calls.call(method, statement, arguments);
            if (anew && streams) {
                streams = false;
            }
            return result instanceof ResultSet ? wrap(self, (ResultSet) result) : result;
        });
    }

    private Object wrap(Object self, ResultSet results) {
        Physical where = on;
        if (where == null) {
            throw new IllegalStateException("results of a statement that was not made");
        }
        return ResultSetHandler.wrap(results, (Statement) self, connection, where);
    }

    /** A call that needs no answer from the node; what it sets is noted. */
    private @Nullable Object noted(Object self, Method method, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        boolean sets = sets(method);
        Physical where = on;
        Statement statement = delegate;
        if (statement == null || where == null || (sets && !where.usable())) {
            statement = at(connection.somewhere());
        }
        Object result = Calls.call(method, statement, arguments);
        if (sets) {
            note(method, arguments);
        }
        return result instanceof ResultSet ? wrap(self, (ResultSet) result) : result;
    }

    private static boolean sets(Method method) {
        String name = method.getName();
        return name.startsWith("set") || name.startsWith("clear") || name.equals("addBatch")
                || name.equals("registerOutParameter") || name.equals("closeOnCompletion");
    }

    private void note(Method method, @Nullable Object @Nullable [] arguments) {
        String name = method.getName();
        switch (name) {
            case "clearParameters" :
                parameters.clear();
                streams = false;
                return;
            case "clearBatch" :
                clearBatch();
                return;
            case "clearWarnings" :
                return;
            case "addBatch" :
                if (arguments == null) {
                    batch.addAll(parameters.values());
                } else {
                    batchSql.append(arguments[0]).append(';');
                }
                batch.add(new Call(method, arguments));
                return;
            default :
                break;
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
        Physical where = on;
        delegate = null;
        if (present != null && where != null && where.usable()) {
            present.close();
        }
    }
}
