package tutti.jdbc;

import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.ServiceLoader;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import tutti.jdbc.spi.EmbeddedProvider;

/**
 * The JDBC driver of Tutti, for URLs {@code jdbc:tutti://host:port,host:port/database?property=value} and
 * {@code jdbc:tutti:embedded:...}. It is found by {@link DriverManager} without being named. What properties there are and
 * what happens when a node is lost is described in docs/jdbc.md. Safe for use by several threads.
 */
public final class TuttiDriver implements Driver {
    static final String NAME = "Tutti JDBC Driver";
    static final int MAJOR = 0;
    static final int MINOR = 1;

    static {
        try {
            DriverManager.registerDriver(new TuttiDriver());
        } catch (SQLException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    /** For {@link DriverManager} and pools, which make one themselves. */
    public TuttiDriver() {}

    @Override
    public @Nullable Connection connect(String url, Properties properties) throws SQLException {
        if (!acceptsURL(url)) {
            return null;
        }
        Properties given = properties == null ? new Properties() : properties;
        if (url.startsWith(JdbcUrl.EMBEDDED)) {
            return embedded(url).connect(url, given);
        }
        return ClusterConnection.open(Settings.of(url, given));
    }

    private static EmbeddedProvider embedded(String url) throws SQLException {
        for (EmbeddedProvider provider : ServiceLoader.load(EmbeddedProvider.class,
                Thread.currentThread().getContextClassLoader())) {
            return provider;
        }
        for (EmbeddedProvider provider : ServiceLoader.load(EmbeddedProvider.class,
                TuttiDriver.class.getClassLoader())) {
            return provider;
        }
        throw Failures
                .notSupported("the URL " + url + " asks for a node in this virtual machine, but none is on the class"
                        + " path: add tutti:tutti-embedded and what it needs, and run on Java 25 or later");
    }

    @Override
    public boolean acceptsURL(String url) throws SQLException {
        if (url == null) {
            throw Failures.invalid("the URL is null");
        }
        return url.startsWith(JdbcUrl.PREFIX);
    }

    @Override
    public DriverPropertyInfo[] getPropertyInfo(String url, Properties properties) throws SQLException {
        Properties given = new Properties();
        if (properties != null) {
            given.putAll(properties);
        }
        if (url != null && url.startsWith(JdbcUrl.EMBEDDED)) {
            return embedded(url).propertyInfo(url, given);
        }
        if (url != null && acceptsURL(url)) {
            given.putAll(JdbcUrl.parse(url).properties());
        }
        Settings.byDefault(given);
        List<DriverPropertyInfo> all = new ArrayList<>();
        for (DriverProperty property : DriverProperty.values()) {
            all.add(property.info(given));
        }
        all.addAll(Arrays.asList(new org.postgresql.Driver().getPropertyInfo("jdbc:postgresql:", given)));
        all.removeIf(info -> Settings.REPLACED.contains(info.name));
        return all.toArray(new DriverPropertyInfo[0]);
    }

    @Override
    public int getMajorVersion() {
        return MAJOR;
    }

    @Override
    public int getMinorVersion() {
        return MINOR;
    }

    /** False, as for pgjdbc, which it is built on. */
    @Override
    public boolean jdbcCompliant() {
        return false;
    }

    @Override
    public Logger getParentLogger() {
        return Logger.getLogger("tutti.jdbc");
    }
}
