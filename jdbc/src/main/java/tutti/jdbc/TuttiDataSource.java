package tutti.jdbc;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Properties;
import java.util.logging.Logger;
import javax.sql.DataSource;
import javax.sql.XAConnection;
import javax.sql.XADataSource;
import org.jspecify.annotations.Nullable;

/**
 * Connections to a cluster for containers and pools that want a {@link DataSource}. It does not pool: give it to a pool, or
 * give the pool the URL.
 *
 * <p>
 * As an {@link XADataSource} it refuses, and says why: a branch of a distributed transaction would have to be prepared on
 * one node and committed on another, after either has failed, while the cluster's own commit is what makes transactions
 * atomic.
 *
 * <p>
 * Set it up first; then it is safe for use by several threads.
 */
public final class TuttiDataSource implements DataSource, XADataSource {
    private final TuttiDriver driver = new TuttiDriver();
    private final Properties properties = new Properties();
    private String url = "";
    private @Nullable PrintWriter logWriter;

    /** With everything still to be set. */
    public TuttiDataSource() {}

    /** The URL; must be set before the first connection. */
    public void setUrl(String url) throws SQLException {
        if (!driver.acceptsURL(url)) {
            throw Failures.invalid("the URL " + url + " does not begin with " + JdbcUrl.PREFIX);
        }
        this.url = url;
    }

    /** The URL, empty if it has not been set. */
    public String getUrl() {
        return url;
    }

    /** The user for {@link #getConnection()}. */
    public void setUser(String user) {
        properties.setProperty("user", user);
    }

    /** The user, or null. */
    public @Nullable String getUser() {
        return properties.getProperty("user");
    }

    /** The password for {@link #getConnection()}. */
    public void setPassword(String password) {
        properties.setProperty("password", password);
    }

    /** Any connection property; those in the URL count more. */
    public void setProperty(String name, String value) {
        properties.setProperty(name, value);
    }

    @Override
    public Connection getConnection() throws SQLException {
        return connect(properties);
    }

    @Override
    public Connection getConnection(String user, String password) throws SQLException {
        Properties with = new Properties();
        with.putAll(properties);
        with.setProperty("user", user);
        with.setProperty("password", password);
        return connect(with);
    }

    private Connection connect(Properties with) throws SQLException {
        if (url.isEmpty()) {
            throw Failures.invalid("the data source has no URL: call setUrl first");
        }
        Connection connection = driver.connect(url, with);
        if (connection == null) {
            throw new IllegalStateException("the URL was accepted before");
        }
        return connection;
    }

    @Override
    public XAConnection getXAConnection() throws SQLException {
        throw noXa();
    }

    @Override
    public XAConnection getXAConnection(String user, String password) throws SQLException {
        throw noXa();
    }

    private static SQLException noXa() {
        return Failures.notSupported("distributed transactions (XA) are not supported: a cluster cannot hold a prepared"
                + " transaction whose node may fail. Use the DataSource with local transactions, and a table of outgoing"
                + " messages where another system must be told");
    }

    @Override
    public void setLoginTimeout(int seconds) {
        properties.setProperty("loginTimeout", Integer.toString(seconds));
    }

    @Override
    public int getLoginTimeout() {
        return Integer.parseInt(properties.getProperty("loginTimeout", "0"));
    }

    @Override
    public @Nullable PrintWriter getLogWriter() {
        return logWriter;
    }

    @Override
    public void setLogWriter(@Nullable PrintWriter writer) {
        logWriter = writer;
    }

    @Override
    public Logger getParentLogger() {
        return driver.getParentLogger();
    }

    @Override
    public <T> T unwrap(Class<T> face) throws SQLException {
        if (face.isInstance(this)) {
            return face.cast(this);
        }
        throw Failures.invalid("the data source is no " + face.getName());
    }

    @Override
    public boolean isWrapperFor(Class<?> face) {
        return face.isInstance(this);
    }
}
