package tutti.cluster;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;
import tutti.command.Failure;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.Trait;
import tutti.runtime.real.PrivateFiles;
import tutti.server.config.NodeConfig;

/**
 * Which cluster to run on this machine.
 *
 * @param directory holds everything of it: {@code cluster.json}, and one directory per node
 * @param nodes how many, 1 to {@value #NODES_MAX}
 * @param basePort the first of the ports for PostgreSQL clients; those of HTTP begin 100 above, those of the order 200,
 *            those of the servers beneath 300 above; 0 keeps the ports of the last start as far as they are free, and chooses otherwise; those of the order never change
 * @param protocol how the copies are kept identical
 * @param password of the role {@code postgres}, unless the directory holds a cluster already, which keeps its own
 * @param database the database that is replicated
 * @param settings further lines of every node's configuration, by top-level key; and {@link #SECONDARIES}
 * @param nodeCommand what starts a node, without the arguments of {@code tutti node}
 * @param hosts where each node listens, by id; none for all on the loopback address. Other addresses are for networks that nobody else
 *            is in: the servers beneath listen there, too
 */
public record ClusterSpec(Path directory, int nodes, int basePort, String protocol, String database, String password,
        Map<String, String> settings, List<String> nodeCommand, List<String> hosts) {
    /** Most nodes of a cluster on one machine. */
    public static final int NODES_MAX = NodeConfig.MEMBERS_MAX;
    /** The setting that says what holds the nodes' copies. */
    public static final String ENGINE = "engine";
    /** The setting that says how many secondaries a database in a node's process has. */
    public static final String SECONDARIES = "secondaries";
    private static final int PORTS_PER_NODE = 4;
    private static final int PORT_DISTANCE = 100;
    private static final int POSTGRES_PORT = 6432;
    private static final int HTTP_PORT = 8008;
    private static final int ORDER_PORT = 7800;
    private static final int DATABASE_PORT = 15432;
    private static final String USER = "postgres";
    private static final String PLAIN = "[A-Za-z0-9_-]{1,63}";
    private static final String LOOPBACK = "127.0.0.1";
    /** What a server beneath asks of those that come from other addresses than its own. */
    private static final String ACCESS = "local all all scram-sha-256\nhost all all 0.0.0.0/0 scram-sha-256\n";
    private static final String ACCESS_FILE = "access.conf";

    public ClusterSpec {
        directory = directory.toAbsolutePath().normalize();
        settings = Map.copyOf(settings);
        nodeCommand = List.copyOf(nodeCommand);
        hosts = List.copyOf(hosts);
        if (!hosts.isEmpty() && hosts.size() != nodes) {
            throw new IllegalArgumentException(nodes + " nodes have " + hosts.size() + " hosts");
        }
        if (!database.matches(PLAIN) || !password.matches(PLAIN)) {
            throw new Failure("the database's name and the password must be 1 to 63 letters, digits, _ or -",
                    "they become part of URLs");
        }
        if (nodes < 1 || nodes > NODES_MAX) {
            throw new Failure("a cluster on one machine has 1 to " + NODES_MAX + " nodes, not " + nodes,
                    "choose with --nodes");
        }
        if (basePort < 0 || basePort > 65535 - PORTS_PER_NODE * PORT_DISTANCE) {
            throw new Failure(
                    "the base port must be 1 to " + (65535 - PORTS_PER_NODE * PORT_DISTANCE) + ", not " + basePort,
                    "choose with --base-port, or leave it out");
        }
    }

    /** All on the loopback address. */
    public ClusterSpec(Path directory, int nodes, int basePort, String protocol, String database, String password,
            Map<String, String> settings, List<String> nodeCommand) {
        this(directory, nodes, basePort, protocol, database, password, settings, nodeCommand, List.of());
    }

    private String host(int id) {
        return hosts.isEmpty() ? LOOPBACK : hosts.get(id);
    }

    /**
     * The lines of configuration that choose a protocol's parameters.
     *
     * @throws Failure naming the parameter and what is valid
     */
    public static Map<String, String> protocolParameters(String protocol, Map<String, String> parameters) {
        try {
            Protocols.STANDARD.choose(protocol, parameters);
        } catch (IllegalArgumentException impossible) {
            throw new Failure(String.valueOf(impossible.getMessage()), "see docs/configuration.md");
        }
        if (parameters.isEmpty()) {
            return Map.of();
        }
        StringJoiner yaml = new StringJoiner(", ", "{", "}");
        new TreeMap<>(parameters).forEach((name, value) -> yaml.add(name + ": \"" + value + "\""));
        return Map.of("protocol-parameters", yaml.toString());
    }

    /**
     * The nodes with their ports, none of them running.
     *
     * @param ports from which theirs are taken
     */
    List<ClusterFile.Node> plan(Ports ports) {
        List<ClusterFile.Node> before = ClusterFile.read(directory).map(ClusterFile::nodes).orElse(List.of());
        if (!before.isEmpty() && before.size() != nodes) {
            throw new Failure(directory + " holds a cluster of " + before.size() + " nodes, not " + nodes,
                    "start it with --nodes " + before.size() + ", or choose another --data directory");
        }
        // What was used last is kept before anything is chosen anew, or one node would take another's port.
        List<Integer> kept = new ArrayList<>();
        if (basePort == 0) {
            for (ClusterFile.Node last : before) {
                for (int port : new int[]{last.postgresPort(), last.httpPort(), last.orderPort(),
                        last.databasePort()}) {
                    kept.add(ports.take(port) ? port : 0);
                }
            }
        }
        List<ClusterFile.Node> plan = new ArrayList<>();
        for (int id = 0; id < nodes; id++) {
            int postgres = port(ports, kept, id, 0, POSTGRES_PORT);
            int http = port(ports, kept, id, 1, HTTP_PORT);
            int order = port(ports, kept, id, 2, ORDER_PORT);
            int beneath = port(ports, kept, id, 3, DATABASE_PORT);
            plan.add(node(id, host(id), postgres, http, order, beneath));
        }
        for (int id = 0; id < before.size(); id++) {
            requireSameOrderPort(before.get(id), plan.get(id));
        }
        return plan;
    }

    /** A node that does not run, with its ports for clients, operators, the others, and of the server beneath. */
    ClusterFile.Node node(int id, String host, int... ports) {
        String name = "node-" + id;
        Path home = directory.resolve(name);
        String secret = secret();
        return new ClusterFile.Node(id, name, host, ports[0], ports[1], ports[2], ports[3],
                "postgresql://" + USER + ":" + secret + "@" + host + ":" + ports[0] + "/" + database,
                jdbcUrl(host, ports[0], secret), "http://" + host + ":" + ports[1], 0, 0,
                home.resolve("node.yaml").toString(), home.resolve("node.log").toString());
    }

    /** Which nodes belong together is written in their logs, with the addresses by which they find each other. */
    private void requireSameOrderPort(ClusterFile.Node last, ClusterFile.Node planned) {
        if (last.orderPort() != planned.orderPort()) {
            throw new Failure(basePort == 0
                    ? "port " + last.orderPort() + ", at which the other nodes look for " + last.name() + ", is taken"
                    : "the nodes in " + directory + " look for " + last.name() + " at port " + last.orderPort()
                            + ", not " + planned.orderPort(),
                    basePort == 0
                            ? "stop what uses it, or choose another --data directory"
                            : "start them without --base-port, or choose another --data directory");
        }
    }

    private String jdbcUrl(String host, int port, String secret) {
        return "jdbc:postgresql://" + host + ":" + port + "/" + database + "?user=" + USER + "&password=" + secret;
    }

    /** Of all nodes, for the driver of Tutti. */
    String clusterUrl(List<ClusterFile.Node> all) {
        return "jdbc:tutti://"
                + String.join(",", all.stream().map(node -> node.host() + ":" + node.postgresPort()).toList())
                + "/" + database + "?user=" + USER + "&password=" + secret();
    }

    /** Whether the nodes' databases are in their own processes. */
    public boolean inProcess() {
        return inProcess(settings);
    }

    /** Whether databases of nodes with these settings are in their own processes. */
    public static boolean inProcess(Map<String, String> settings) {
        return NodeConfig.inProcess(settings.getOrDefault(ENGINE, NodeConfig.DEFAULT_ENGINE));
    }

    private String secondaries() {
        return settings.getOrDefault(SECONDARIES, "0");
    }

    /** Where the server beneath a node can be looked at, past the node; a database in its process only through it. */
    String jdbcUrlBeneath(ClusterFile.Node node) {
        return inProcess() ? node.jdbcUrl() : jdbcUrl(node.host(), node.databasePort(), secret());
    }

    /** The password that the cluster has, or gets. */
    String secret() {
        return ClusterFile.read(directory).map(ClusterFile::password).orElse(password);
    }

    private int port(Ports ports, List<Integer> kept, int id, int kind, int byDefault) {
        if (basePort > 0) {
            int wanted = basePort + kind * PORT_DISTANCE + id;
            if (!ports.take(wanted)) {
                throw new Failure("port " + wanted + " is taken", "stop what uses it, or choose another --base-port");
            }
            return wanted;
        }
        int index = id * PORTS_PER_NODE + kind;
        return index < kept.size() && kept.get(index) > 0 ? kept.get(index) : ports.firstFree(byDefault);
    }

    /** Whether what changes something must be handed in whole. */
    public boolean wholeOnly() {
        return Protocols.STANDARD.choose(protocol).has(Trait.WHOLE_ONLY);
    }

    /** How the server beneath a node is reached from another address than the loopback one, if it is to be. */
    private String reached(ClusterFile.Node node) {
        return hosts.isEmpty()
                ? ""
                : ", parameters: {listen_addresses: \"" + LOOPBACK + "," + node.host() + "\", hba_file: \""
                        + directory.resolve(ACCESS_FILE) + "\"}";
    }

    /** Writes what nodes' configurations name. */
    void writeAccess() throws IOException {
        if (!hosts.isEmpty() && !inProcess()) {
            PrivateFiles.write(directory.resolve(ACCESS_FILE), ACCESS);
        }
    }

    /** The configuration file of a node. */
    String configuration(ClusterFile.Node node, List<ClusterFile.Node> all) {
        StringBuilder yaml = new StringBuilder(
                "# Written by `tutti start`, which writes its own keys anew each time and keeps those that are added.\n");
        yaml.append("node: ").append(node.id()).append('\n');
        yaml.append("data: data\n");
        yaml.append("protocol: ").append(protocol).append('\n');
        yaml.append("members:\n");
        for (ClusterFile.Node member : all) {
            yaml.append("  - {id: ").append(member.id()).append(", name: ").append(member.name()).append(", order: \"")
                    .append(member.host()).append(':').append(member.orderPort()).append("\", http: \"")
                    .append(member.host()).append(':')
                    .append(member.httpPort()).append("\"}\n");
        }
        if (inProcess()) {
            yaml.append("in-process: {database: \"").append(database).append("\", user: ").append(USER)
                    .append(", password: \"").append(secret()).append("\", secondaries: ").append(secondaries())
                    .append("}\n");
        } else {
            yaml.append("postgres: {database: \"").append(database).append("\", password: \"").append(secret())
                    .append("\", embedded: {port: ").append(node.databasePort()).append(reached(node))
                    .append("}}\n");
        }
        yaml.append("listen: {host: ").append(node.host()).append(", port: ").append(node.postgresPort()).append("}\n");
        yaml.append("http: {host: ").append(node.host()).append(", port: ").append(node.httpPort()).append("}\n");
        settings.forEach((key, value) -> {
            if (!key.equals(SECONDARIES)) {
                yaml.append(key).append(": ").append(value).append('\n');
            }
        });
        return yaml.toString();
    }
}
