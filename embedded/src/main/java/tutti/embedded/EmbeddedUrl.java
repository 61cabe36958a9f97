package tutti.embedded;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Protocols;
import tutti.engine.Engines;
import tutti.engine.jdbc.InProcessEngine;
import tutti.jdbc.spi.UrlProperties;

/**
 * A URL {@code jdbc:tutti:embedded:h2:mem:NAME} or {@code jdbc:tutti:embedded:hsqldb:DIRECTORY}, with properties, taken apart.
 *
 * @param engine what holds the database
 * @param name of the group of nodes in memory that the node belongs to; null if it is in files
 * @param directory of the node's files; null if it is in memory
 * @param node its number
 * @param nodes how many nodes a group in memory has
 * @param members where each node of the cluster is reached by the others; empty if there is none but this one
 * @param trust how they know each other
 * @param protocol as in a node's configuration
 * @param parameters of the protocol; what is left out has its default
 * @param secondaries how many copies of the database answer reads, besides the primary
 * @param session what concerns the connection alone
 * @param said the names of all properties that were given
 */
record EmbeddedUrl(InProcessEngine engine, @Nullable String name, @Nullable Path directory, int node, int nodes,
        Map<Integer, InetSocketAddress> members, Trust trust, String protocol, Map<String, String> parameters,
        int secondaries, Session session, Set<String> said) {
    /**
     * How nodes in several processes know each other.
     *
     * @param security as {@code peers.security} in a node's configuration
     * @param keys directory with what the node proves with who it is, if it does
     */
    record Trust(String security, @Nullable Path keys) {
        static final String TLS = "tls";
        static final String NONE = "none";
        static final Set<String> SECURITIES = new TreeSet<>(Set.of(TLS, NONE, "trusted-network"));
    }

    /**
     * Of a connection.
     *
     * @param transactionBytes how many bytes of changes one transaction may make
     * @param classes which tables its transactions touch, unless they say otherwise; empty if that is not known
     * @param readOnly how it begins
     */
    record Session(long transactionBytes, String classes, boolean readOnly) {}

    private static final String PREFIX = "jdbc:tutti:embedded:";
    /** Begins properties that are parameters of the protocol. */
    private static final String PARAMETER = "protocol.";
    /** So many copies of a database answer reads at most. */
    static final int SECONDARIES_MAX = 64;
    /** Most bytes of changes that one transaction may make; the order of a node takes as much. */
    static final int TRANSACTION_BYTES_MAX = 32 << 20;
    private static final List<DriverPropertyInfo> INFO = List.of(
            info("node", "0", "The number of this node, 0 and up."),
            info("members", "", "Where the nodes of the cluster reach each other: host:port of node 0, of node 1 and so"
                    + " on, separated by commas. Without it the node is alone. Not for nodes in memory."),
            info("security", Trust.TLS,
                    "How the members know each other: tls, by certificates; none, not at all, if all are on"
                            + " this machine; trusted-network, not at all, on a network that nobody else can reach."),
            info("keys", "", "Directory with what `tutti keys issue` made for this node; without it, keys in the node's"
                    + " directory."),
            info("nodes", "1", "How many nodes of this virtual machine have the same name; for nodes in memory only."),
            info("protocol", Protocols.DEFAULT,
                    "The replication protocol, the same for all nodes. Its parameters are properties"
                            + " such as protocol.isolation."),
            info("secondaries", "0", "How many copies of the database answer read-only transactions, besides the"
                    + " primary (MacroDB)."),
            info("transactionBytes", Integer.toString(TRANSACTION_BYTES_MAX),
                    "How many bytes of changes one transaction may make, at most 32 MiB."),
            info("classes", "", "Which tables the connection's transactions of several statements touch, separated by"
                    + " commas, for protocols that order by conflict classes (nodo, akara)."),
            info("readOnly", "false", "Whether the connection begins as one that only reads."));
    /** What applications and pools pass along for drivers of the network, and has no meaning here. */
    private static final Set<String> IGNORED = Set.of("user", "password", "connectTimeout", "socketTimeout",
            "loginTimeout", "tcpKeepAlive", "ApplicationName");

    static DriverPropertyInfo[] info(Properties given) {
        return INFO.stream().map(each -> {
            DriverPropertyInfo copy = new DriverPropertyInfo(each.name, given.getProperty(each.name, each.value));
            copy.description = each.description;
            return copy;
        }).toArray(DriverPropertyInfo[]::new);
    }

    private static DriverPropertyInfo info(String name, String value, String description) {
        DriverPropertyInfo info = new DriverPropertyInfo(name, value);
        info.description = description;
        return info;
    }

    static EmbeddedUrl parse(String url, Properties given) throws SQLException {
        int question = url.indexOf('?');
        Properties all = new Properties();
        given.stringPropertyNames().forEach(name -> all.setProperty(name, given.getProperty(name)));
        if (question >= 0) {
            all.putAll(UrlProperties.parse(url.substring(question + 1)));
        }
        for (String name : all.stringPropertyNames()) {
            if (!IGNORED.contains(name) && !name.startsWith(PARAMETER)
                    && INFO.stream().noneMatch(known -> known.name.equals(name))) {
                throw invalid("property " + name + " is not known; there are "
                        + String.join(", ", INFO.stream().map(known -> known.name).toList()));
            }
        }
        String address = url.substring(PREFIX.length(), question < 0 ? url.length() : question);
        int colon = address.indexOf(':');
        String place = colon < 0 ? "" : UrlProperties.decode(address.substring(colon + 1));
        SQLException malformed = invalid("the URL " + url + " is neither " + PREFIX + "ENGINE:mem:NAME nor " + PREFIX
                + "ENGINE:DIRECTORY with an ENGINE of "
                + String.join(", ", Engines.INSTALLED.names(InProcessEngine.class)));
        InProcessEngine engine = Engines.INSTALLED
                .find(colon < 0 ? address : address.substring(0, colon), InProcessEngine.class)
                .orElseThrow(() -> malformed);
        if (place.isEmpty() || place.equals("mem:")) {
            throw malformed;
        }
        String name = place.startsWith("mem:") ? place.substring(4) : null;
        int node = number(all, "node", 0, 255);
        int nodes = number(all, "nodes", 1, 256);
        Map<Integer, InetSocketAddress> members = members(all.getProperty("members", ""));
        String security = all.getProperty("security", Trust.TLS);
        if (!Trust.SECURITIES.contains(security)) {
            throw invalid("property security is one of " + Trust.SECURITIES + ", not " + security);
        }
        for (InetSocketAddress member : members.values()) {
            if (security.equals(Trust.NONE) && members.size() > 1
                    && (member.isUnresolved() || !member.getAddress().isLoopbackAddress())) {
                throw invalid("security is none, but others than the nodes may reach " + member.getHostString()
                        + ", and whoever does can become a member: leave it out and give each node a certificate"
                        + " (`tutti keys`), or say trusted-network if nobody else can reach that network");
            }
        }
        if (name != null && !members.isEmpty()) {
            throw invalid(
                    "a node in memory cannot have members elsewhere, as it would forget what it has promised them:"
                            + " give it a directory");
        }
        if (members.isEmpty() ? node >= nodes : !members.containsKey(node)) {
            throw invalid("there is no node " + node + " among " + (members.isEmpty() ? nodes : members.size())
                    + "; they count from 0");
        }
        if (name == null && nodes > 1) {
            throw invalid("property nodes is for nodes in memory; give nodes in files their members");
        }
        String protocol = all.getProperty("protocol", Protocols.DEFAULT);
        if (!Protocols.STANDARD.names().contains(protocol)) {
            throw invalid("protocol " + protocol + " is not known; there are " + Protocols.STANDARD.names());
        }
        Map<String, String> parameters = new TreeMap<>();
        all.stringPropertyNames().stream().filter(each -> each.startsWith(PARAMETER))
                .forEach(each -> parameters.put(each.substring(PARAMETER.length()), all.getProperty(each)));
        try {
            Protocols.STANDARD.choose(protocol, parameters);
        } catch (IllegalArgumentException impossible) {
            throw new SQLException("the protocol's parameters are impossible: " + impossible.getMessage(), "22023",
                    impossible);
        }
        Path directory = name == null ? Path.of(place).toAbsolutePath() : null;
        String keys = all.getProperty("keys", "");
        return new EmbeddedUrl(engine, name, directory, node, nodes, members,
                new Trust(security, !keys.isEmpty()
                        ? Path.of(keys).toAbsolutePath()
                        : directory == null ? null : directory.resolve("keys")),
                protocol, parameters, number(all, "secondaries", 0, SECONDARIES_MAX),
                new Session(number(all, "transactionBytes", 1, TRANSACTION_BYTES_MAX), all.getProperty("classes", ""),
                        yes(all, "readOnly")),
                Set.copyOf(all.stringPropertyNames()));
    }

    private static Map<Integer, InetSocketAddress> members(String text) throws SQLException {
        Map<Integer, InetSocketAddress> members = new TreeMap<>();
        for (String each : Arrays.stream(text.split(",", -1)).map(String::strip).filter(s -> !s.isEmpty()).toList()) {
            int colon = each.lastIndexOf(':');
            try {
                members.put(members.size(), new InetSocketAddress(each.substring(0, colon),
                        Integer.parseInt(each.substring(colon + 1))));
            } catch (IllegalArgumentException | StringIndexOutOfBoundsException malformed) {
                throw new SQLException("'" + each + "' in members is not host:port", "22023", malformed);
            }
        }
        return members;
    }

    private static int number(Properties all, String name, int least, int most) throws SQLException {
        String byDefault = INFO.stream().filter(known -> known.name.equals(name)).findFirst().orElseThrow().value;
        String value = all.getProperty(name, byDefault).strip();
        try {
            int number = Integer.parseInt(value);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException notANumber) {
            throw new SQLException("property " + name + " is not a number: " + value, "22023", notANumber);
        }
        throw invalid("property " + name + " is not from " + least + " to " + most + ": " + value);
    }

    private static boolean yes(Properties all, String name) throws SQLException {
        String value = all.getProperty(name, "false").strip().toLowerCase(Locale.ROOT);
        if (!Set.of("true", "false").contains(value)) {
            throw invalid("property " + name + " is neither true nor false: " + value);
        }
        return value.equals("true");
    }

    static SQLException invalid(String message) {
        return new SQLException(message, "22023");
    }

    /** The same for another node. */
    EmbeddedUrl of(int other) {
        return new EmbeddedUrl(engine, name, directory, other, nodes, members, trust, protocol, parameters, secondaries,
                session, said);
    }

    /**
     * Fails if a node that runs already was started as another than is asked for here.
     *
     * @throws SQLException with {@code 22023}
     */
    void requireSame(EmbeddedUrl running) throws SQLException {
        Map<String, Object> here = shape();
        Map<String, Object> there = running.shape();
        for (String property : new TreeSet<>(said)) {
            if (!Objects.equals(here.get(property), there.get(property))) {
                throw invalid("the node runs already, with " + (there.containsKey(property)
                        ? property + "=" + there.get(property)
                        : "the default of " + property) + ": leave the property out, or stop the node first");
            }
        }
    }

    /** Properties that all connections to a node have in common. */
    private Map<String, Object> shape() {
        Map<String, Object> shape = new HashMap<>(
                Map.of("nodes", nodes, "members", members, "security", trust.security(), "protocol", protocol,
                        "secondaries", secondaries));
        parameters.forEach((parameter, value) -> shape.put(PARAMETER + parameter, value));
        return shape;
    }

    /** What two URLs of the same node have in common. */
    String key() {
        return engine.name() + " " + (name == null ? String.valueOf(directory) : "mem:" + name) + " " + node;
    }
}
