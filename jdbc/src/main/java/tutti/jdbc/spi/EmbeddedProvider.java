package tutti.jdbc.spi;

import java.sql.Connection;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.util.Properties;

/**
 * Opens connections for URLs that begin with {@code jdbc:tutti:embedded:}. Found by {@link java.util.ServiceLoader}, since
 * nodes need a newer Java than the driver. Safe for use by several threads.
 */
public interface EmbeddedProvider {
    /**
     * Connects to the node that the URL names, which is started if it is not running.
     *
     * @param url begins with {@code jdbc:tutti:embedded:}
     * @param properties of the caller's {@code DriverManager.getConnection}; those in the URL count more
     * @throws SQLException if the URL or a property is not understood, or the node cannot be started
     */
    Connection connect(String url, Properties properties) throws SQLException;

    /** The properties that such URLs may have, with the values that this one gives them. */
    DriverPropertyInfo[] propertyInfo(String url, Properties properties) throws SQLException;
}
