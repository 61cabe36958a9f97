package tutti.jdbc;

import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;
import org.postgresql.PGProperty;

/**
 * What a connection is to be like: URL and properties, checked. Immutable.
 *
 * @param url as it was given, without its properties
 * @param hosts the nodes
 * @param database empty for the user's name
 * @param loadBalance how a node is chosen
 * @param routing where read-only transactions go
 * @param readLevel what transactions see at least
 * @param moveReadOnly whether a read-only transaction goes on at another node
 * @param failoverNanos how long nodes are tried after one was lost
 * @param resolveNanos how long the cluster is asked about a commit
 * @param silenceNanos how long a node may say nothing; 0 for ever
 * @param loginNanos how long opening a connection may take in all; 0 for no limit but those of each node
 * @param nodeNanos how long opening a connection may take at one node; 0 for no limit
 * @param pgjdbc the properties that are pgjdbc's
 */
record Settings(String url, List<HostPort> hosts, String database, LoadBalance loadBalance, ReadOnlyRouting routing,
        ReadLevel readLevel, boolean moveReadOnly, long failoverNanos, long resolveNanos, long silenceNanos,
        long loginNanos,
        long nodeNanos, Properties pgjdbc) {
    /** Where read-only transactions go. */
    enum ReadOnlyRouting {
        SAME, ANY, OTHER
    }

    /** What transactions see at least. */
    enum ReadLevel {
        LOCAL, SESSION, CAUSAL, LINEARIZABLE
    }

    /** What pgjdbc knows and the driver does itself. */
    static final Set<String> REPLACED = Set.of("targetServerType", "loadBalanceHosts", "hostRecheckSeconds",
            "PGHOST", "PGPORT", "PGDBNAME", "service", "localSocketAddress");
    /** How many times its time to connect a node may take for all that comes before it serves. */
    private static final int CONNECT_TIMEOUTS_PER_NODE = 3;
    private static final double NANOS_PER_SECOND = 1e9;
    /** Makes nodes tell the names of transactions, and positions. */
    private static final String REPORT = "-c tutti.report=on";

    /**
     * Reads URL and properties; those in the URL count more.
     *
     * @throws SQLException if one is not understood
     */
    static Settings of(String url, Properties given) throws SQLException {
        JdbcUrl parsed = JdbcUrl.parse(url);
        Properties all = new Properties();
        for (String name : given.stringPropertyNames()) {
            all.setProperty(name, given.getProperty(name));
        }
        for (String name : parsed.properties().stringPropertyNames()) {
            all.setProperty(name, parsed.properties().getProperty(name));
        }
        Properties pgjdbc = new Properties();
        for (String name : all.stringPropertyNames()) {
            if (DriverProperty.of(name) != null) {
                continue;
            }
            if (REPLACED.contains(name)) {
                throw Failures.invalid("property " + name + " is pgjdbc's and has no meaning here: the driver chooses"
                        + " nodes itself, see loadBalance and readOnlyRouting");
            }
            PGProperty property = PGProperty.forName(name);
            if (property == null) {
                throw Failures.invalid("property " + name + " is not known: the driver's own are "
                        + Arrays.stream(DriverProperty.values()).map(DriverProperty::key)
                                .collect(Collectors.joining(", "))
                        + "; any other must be one of pgjdbc's");
            }
            chosen(property, all.getProperty(name));
            pgjdbc.setProperty(name, all.getProperty(name));
        }
        byDefault(pgjdbc);
        double loginSeconds = seconds(pgjdbc, "loginTimeout");
        pgjdbc.remove("loginTimeout");
        String options = pgjdbc.getProperty("options");
        pgjdbc.setProperty("options", options == null || options.isBlank() ? REPORT : options + " " + REPORT);
        int question = url.indexOf('?');
        return new Settings(question < 0 ? url : url.substring(0, question), parsed.hosts(), parsed.database(),
                LoadBalance.of(DriverProperty.LOAD_BALANCE.of(all)),
                ReadOnlyRouting.valueOf(upper(DriverProperty.READ_ONLY_ROUTING.of(all))),
                ReadLevel.valueOf(upper(DriverProperty.READ_LEVEL.of(all))),
                DriverProperty.READ_ONLY_FAILOVER.of(all).equals("move"),
                DriverProperty.FAILOVER_TIMEOUT.nanosOf(all), DriverProperty.RESOLVE_TIMEOUT.nanosOf(all),
                DriverProperty.SILENCE_TIMEOUT.nanosOf(all),
                (long) ((loginSeconds > 0 ? loginSeconds : DriverManager.getLoginTimeout()) * NANOS_PER_SECOND),
                (long) (seconds(pgjdbc, "connectTimeout") * CONNECT_TIMEOUTS_PER_NODE * NANOS_PER_SECOND), pgjdbc);
    }

    /** What pgjdbc has another default for. */
    static void byDefault(Properties properties) {
        properties.putIfAbsent("connectTimeout", "5");
        properties.putIfAbsent("tcpKeepAlive", "true");
    }

    /** Some of pgjdbc's properties are not looked at, or not told from a node's failure, until there is a connection. */
    private static void chosen(PGProperty property, String value) throws SQLException {
        String[] choices = property.getChoices();
        if (choices != null && Arrays.stream(choices).noneMatch(value::equalsIgnoreCase)) {
            throw Failures.invalid("property " + property.getName() + " cannot be '" + value + "': it is one of "
                    + String.join(", ", choices));
        }
    }

    private static double seconds(Properties properties, String name) throws SQLException {
        String value = properties.getProperty(name, "0");
        try {
            double seconds = Double.parseDouble(value);
            if (seconds >= 0 && seconds <= Integer.MAX_VALUE) {
                return seconds;
            }
        } catch (NumberFormatException notANumber) {
            throw Failures.invalid("property " + name + " cannot be '" + value + "': it is a number of seconds",
                    notANumber);
        }
        throw Failures.invalid("property " + name + " cannot be " + value + ": it is 0 or more seconds");
    }

    private static String upper(String value) {
        return value.toUpperCase(java.util.Locale.ROOT);
    }

    /** Whether transactions of a connection that is read-only are begun as such, rather than left to the application. */
    boolean enforcesReadOnly() {
        return !"ignore".equalsIgnoreCase(PGProperty.READ_ONLY_MODE.getOrDefault(pgjdbc));
    }

    /** The properties for one of pgjdbc's connections. */
    Properties forPgjdbc() {
        Properties copy = new Properties();
        copy.putAll(pgjdbc);
        return copy;
    }
}
