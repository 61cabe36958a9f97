package tutti.jdbc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import tutti.jdbc.spi.Calls;
import tutti.jdbc.spi.ResultSetHandler;

/** The metadata of a connection to a cluster: pgjdbc's, of whatever node the connection is at. */
final class MetaDataHandler implements InvocationHandler {
    private final ClusterConnection connection;
    private final String url;

    MetaDataHandler(ClusterConnection connection, String url) {
        this.connection = connection;
        this.url = url;
    }

    @Override
    public @Nullable Object invoke(Object self, Method method, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        Object ofObject = Calls.ofObject(method, self, arguments, () -> "metadata of " + connection.proxy());
        if (ofObject != null) {
            return ofObject;
        }
        switch (method.getName()) {
            case "getConnection" -> {
                return connection.proxy();
            }
            case "getURL" -> {
                return url;
            }
            case "getDriverName" -> {
                return TuttiDriver.NAME;
            }
            case "getDriverVersion" -> {
                return TuttiDriver.MAJOR + "." + TuttiDriver.MINOR;
            }
            case "getDriverMajorVersion" -> {
                return TuttiDriver.MAJOR;
            }
            case "getDriverMinorVersion" -> {
                return TuttiDriver.MINOR;
            }
            default -> {
            }
        }
        if (method.getReturnType() != ResultSet.class) {
            return connection.ask(on -> Calls.call(method, on.connection().getMetaData(), arguments));
        }
        return connection.execute(null, true, on -> {
            Object result = Calls.call(method, on.connection().getMetaData(), arguments);
            return result instanceof ResultSet resultSet
                    ? ResultSetHandler.wrap(resultSet, null, connection, on)
                    : result;
        });
    }
}
