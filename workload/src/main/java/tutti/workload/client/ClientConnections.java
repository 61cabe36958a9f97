package tutti.workload.client;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Properties;

/** Opens connections in which an unreachable server is noticed within 5 s, and a silent one within 30 s. */
public final class ClientConnections {
    private ClientConnections() {}

    /** A new connection, as the driver makes it; the caller closes it. */
    public static Connection open(String url) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("connectTimeout", "5");
        properties.setProperty("socketTimeout", "30");
        properties.setProperty("tcpKeepAlive", "true");
        return DriverManager.getConnection(url, properties);
    }
}
