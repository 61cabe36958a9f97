package tutti.workload.tpcc;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Map;
import java.util.Properties;
import org.postgresql.PGConnection;

/**
 * Where to connect: a node of a cluster, or any database.
 *
 * @param name for reports
 * @param url of JDBC, with whatever it needs of user, password and options
 * @param properties more options of the driver
 */
public record TpccDatabase(String name, String url, Map<String, String> properties) {
    public TpccDatabase {
        properties = Map.copyOf(properties);
    }

    /** With the options that suit it: an unreachable server is noticed within 5 s, a silent one within 30 s. */
    public static TpccDatabase of(String name, String url) {
        return new TpccDatabase(name, url, Map.of("connectTimeout", "5", "loginTimeout", "10", "socketTimeout", "30",
                "tcpKeepAlive", "true", "ApplicationName", "tpcc"));
    }

    /** A copy without the limit on how long a statement may take. */
    TpccDatabase patient() {
        Map<String, String> patient = new java.util.HashMap<>(properties);
        patient.remove("socketTimeout");
        return new TpccDatabase(name, url, patient);
    }

    /**
     * Whether what a connection leads to is PostgreSQL, with all that it can do: a node whose database is another one says
     * so in its version.
     */
    static boolean isPostgres(Connection connection) throws SQLException {
        return connection.isWrapperFor(PGConnection.class)
                && !connection.getMetaData().getDatabaseProductVersion().contains("Tutti");
    }

    /** A new connection; the caller closes it. */
    public Connection open() throws SQLException {
        Properties all = new Properties();
        all.putAll(properties);
        return DriverManager.getConnection(url, all);
    }
}
