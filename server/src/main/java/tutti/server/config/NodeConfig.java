package tutti.server.config;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.Trait;
import tutti.engine.EngineDescriptor;
import tutti.engine.Engines;
import tutti.engine.jdbc.InProcessEngine;
import tutti.engine.postgres.PostgresServer;
import tutti.engine.postgres.server.ServerConfiguration;
import tutti.order.OrderDescriptor;
import tutti.order.Orders;

/**
 * Everything that one node is told by its operator. Read by {@link ConfigReader} before anything starts, and never
 * changed afterwards. Immutable, as are its parts; a configuration that exists is possible.
 */
public record NodeConfig(
        @Setting(doc = "Which of the members this node is: the id of its entry below.", example = "0", min = "0", max = "255") int node,
        @Setting(doc = "Name of the cluster. Nodes of clusters with different names refuse each other.", byDefault = "tutti", pattern = "[a-z0-9][a-z0-9-]{0,62}") String cluster,
        @Setting(doc = "Directory that holds all that this node must keep: its part of the ordered log and, if it is"
                + " embedded, its database. Created if missing. Relative to this file.", byDefault = "data") Path data,
        @Setting(doc = "All nodes of the cluster, this one included; the same on every node. When members have changed"
                + " (docs/operations.md), a node that has been started before knows the others from the order.") List<Member> members,
        @Setting(doc = "How this node and the other members know each other: docs/keys.md. Without meaning if there is no other member.") Peers peers,
        @Setting(doc = "How the copies are kept identical: docs/protocols says what each protocol promises and needs. The"
                + " same on every node.", byDefault = Protocols.DEFAULT, oneOf = Setting.Choices.PROTOCOLS) String protocol,
        @Setting(doc = "What can be chosen about the protocol, name by name; see the table below. The same on every"
                + " node.", byDefault = "{}") Map<String, String> protocolParameters,
        @Setting(doc = "What holds this node's copy: a PostgreSQL server (postgres), or a database in the node's own process"
                + " (the others): docs/engines.md. The same on every node, and for good.", byDefault = DEFAULT_ENGINE, oneOf = Setting.Choices.ENGINES) String engine,
        @Setting(doc = "The database in the node's own process, if `engine` is not postgres.") InProcess inProcess,
        @Setting(doc = "If `engine` is postgres: the PostgreSQL server that holds this node's copy: either"
                + " `embedded`, a server of its own that it starts and stops, or `url`, one that runs already. Without either: embedded.") Postgres postgres,
        @Setting(doc = "Where this node speaks the PostgreSQL protocol to its clients.") Listen listen,
        @Setting(doc = "Where this node answers /health/live, /health/ready, /metrics, /status, /secondaries, /positions and /flight-recording. Everybody who"
                + " reaches it may look: keep it on loopback or behind a firewall. What changes something asks for the token in `http-token` in the"
                + " data directory, as `Authorization: Bearer TOKEN`.") Http http,
        @Setting(doc = "The total order of transactions.") Order order,
        @Setting(doc = "Bounds on what clients may ask of this node.") Limits limits,
        @Setting(doc = "How ordered transactions are applied to the database.") Apply apply,
        @Setting(doc = "Stored transactions in Java, under protocol `hybrid`: names of classes on the node's class path"
                + " (`TUTTI_CLASSPATH`), by the names of the procedures: docs/sql.md, \"Procedures in Java\". The same on every node.", byDefault = "{}") Map<String, String> procedures,
        @Setting(doc = "Sequences and identity columns.") Sequences sequences,
        @Setting(doc = "Copies of a node's state that nodes give each other: docs/operations.md.") Copies copies,
        @Setting(doc = "Keeps the last minutes of what the protocol was told and asked for, so that an incident can be"
                + " replayed: docs/flight-recorder.md.") FlightRecorder flightRecorder,
        @Setting(doc = "Writes down what clients do, for simulations: docs/evaluation.md, \"A recorded workload\".") WorkloadRecording workloadRecording,
        @Setting(doc = "Spans of transactions for OpenTelemetry: docs/operations.md, \"Traces\".") Tracing tracing,
        @Setting(doc = "What this node logs, to standard error.") Log log) {

    /** The engine of a node whose configuration names none. */
    public static final String DEFAULT_ENGINE = PostgresServer.NAME;
    /** Most nodes of a cluster. */
    public static final int MEMBERS_MAX = 15;
    /** The kind of order that is used if none is chosen. */
    public static final String DEFAULT_ORDER = Orders.DEFAULT;

    /** What a message may have beside a write set, twice. */
    private static final long PAYLOAD_EXTRA_BYTES = 1 << 20;

    public NodeConfig {
        members = List.copyOf(members);
        protocolParameters = Map.copyOf(protocolParameters);
        procedures = Map.copyOf(procedures);
        try {
            Protocols.STANDARD.choose(protocol, protocolParameters);
        } catch (IllegalArgumentException impossible) {
            throw new ImpossibleValue("protocol-parameters", String.valueOf(impossible.getMessage()),
                    "see docs/configuration.md");
        }
        if (members.isEmpty()) {
            throw new ImpossibleValue("members", "is empty", "list at least this node");
        }
        if (members.size() > MEMBERS_MAX) {
            throw new ImpossibleValue("members", "lists " + members.size() + " nodes",
                    "a cluster has " + MEMBERS_MAX + " at most");
        }
        Set<Integer> ids = new HashSet<>();
        Set<String> names = new HashSet<>();
        Set<HostPort> orders = new HashSet<>();
        for (int i = 0; i < members.size(); i++) {
            Member member = members.get(i);
            String key = "members[" + i + "]";
            if (!ids.add(member.id())) {
                throw new ImpossibleValue(key + ".id", "another member has the id " + member.id() + " too",
                        "give each member an id of its own");
            }
            if (!names.add(member.name())) {
                throw new ImpossibleValue(key + ".name", "another member has the name " + member.name() + " too",
                        "give each member a name of its own");
            }
            if (!orders.add(member.order())) {
                throw new ImpossibleValue(key + ".order",
                        "another member has the address " + member.order() + " too", "each member needs its own");
            }
            if (member.id() >= sequences.stride()) {
                throw new ImpossibleValue(key + ".id",
                        "is " + member.id() + ", but sequences.stride leaves room for the ids 0 to "
                                + (sequences.stride() - 1),
                        "choose a lower id, or a larger stride before the first start");
            }
        }
        if (!ids.contains(node)) {
            throw new ImpossibleValue("node", "is " + node + ", but no member has that id",
                    "valid: " + String.join(", ", ids.stream().sorted().map(String::valueOf).toList()));
        }
        try {
            Protocols.STANDARD.choose(protocol, protocolParameters).voters(ids);
        } catch (IllegalArgumentException impossible) {
            throw new ImpossibleValue("protocol-parameters", String.valueOf(impossible.getMessage()),
                    "see docs/configuration.md");
        }
        if (postgres.isSerializable()
                && !Protocols.STANDARD.choose(protocol, protocolParameters).grantsSerializable()) {
            throw new ImpossibleValue("postgres.isolation",
                    "is serializable, but protocol " + protocol + " guarantees snapshot isolation to everybody",
                    "valid with it: repeatable read, read committed");
        }
        if (listen.acknowledge().equals("logged")
                && !Protocols.STANDARD.choose(protocol, protocolParameters).has(Trait.UNDERTAKES)) {
            throw new ImpossibleValue("listen.acknowledge",
                    "is logged, but there are no request logs with protocol " + protocol,
                    "valid with them: executed, applied");
        }
        if (!inProcess(engine) && postgres.embedded() != null && postgres.hasDefaultPassword()
                && !listen.isLoopback()) {
            throw new ImpossibleValue("postgres.password",
                    "is the default, but clients of other hosts may connect to listen.host " + listen.host(),
                    "set one of your own, or listen on 127.0.0.1");
        }
        if (inProcess(engine) && inProcess.hasDefaultPassword() && !listen.isLoopback()) {
            throw new ImpossibleValue("in-process.password",
                    "is the default, but clients of other hosts may connect to listen.host " + listen.host(),
                    "set one of your own, or listen on 127.0.0.1");
        }
        if (peers.security().equals("none")) {
            for (int i = 0; i < members.size(); i++) {
                if (members.size() > 1 && !members.get(i).order().isLoopback()) {
                    throw new ImpossibleValue("peers.security",
                            "is none, but others than the nodes may reach " + members.get(i).order()
                                    + ", and whoever does can become a member",
                            "leave it out and give each node a certificate (`tutti keys`, docs/keys.md);"
                                    + " write trusted-network if nobody else can reach that network");
                }
            }
        }
        if (order.batchBytes() > order.segmentBytes()) {
            throw new ImpossibleValue("order.batch-bytes", "is larger than order.segment-bytes",
                    "a batch must fit into a segment");
        }
        if (limits.transactionBytes() > order.queueBytes()) {
            throw new ImpossibleValue("limits.transaction-bytes", "is larger than order.queue-bytes",
                    "a transaction must fit into the queue");
        }
        checkOrder(protocol, protocolParameters, ids, order, limits);
        List<Listener> listeners = new ArrayList<>();
        listeners.add(new Listener("listen.port", listen.host(), listen.port()));
        listeners.add(new Listener("http.port", http.host(), http.port()));
        if (!inProcess(engine) && postgres.embedded() != null) {
            listeners.add(new Listener("postgres.embedded.port", ServerConfiguration.HOST, postgres.embedded().port()));
        }
        for (int i = 0; i < members.size(); i++) {
            if (members.get(i).id() == node && order.kind().equals(DEFAULT_ORDER)) {
                HostPort own = members.get(i).order();
                listeners.add(new Listener("members[" + i + "].order", own.host(), own.port()));
            }
        }
        for (int i = 1; i < listeners.size(); i++) {
            Listener later = listeners.get(i);
            listeners.subList(0, i).stream().filter(later::excludes).findFirst().ifPresent(earlier -> {
                throw new ImpossibleValue(later.key, "is the port " + later.port + ", and " + earlier.key + ", too",
                        "give each a port of its own");
            });
        }
    }

    /**
     * Something of this node that listens.
     *
     * @param key of its port
     * @param port 0 for a free one
     */
    private record Listener(String key, String host, int port) {
        private static final Set<String> ALL = Set.of("0.0.0.0", "::");

        /** Whether they cannot both listen, as far as can be told without asking for names. */
        boolean excludes(Listener other) {
            return port == other.port && port != 0 && (address().equals(other.address()) || ALL.contains(host)
                    || ALL.contains(other.host));
        }

        private String address() {
            return host.equalsIgnoreCase("localhost") ? ServerConfiguration.HOST : host.toLowerCase(Locale.ROOT);
        }
    }

    private static void checkOrder(String protocol, Map<String, String> parameters, Set<Integer> ids, Order order,
            Limits limits) {
        OrderDescriptor kind = Orders.STANDARD.descriptor(order.kind());
        try {
            kind.check(order.parameters());
        } catch (IllegalArgumentException impossible) {
            throw new ImpossibleValue("order.parameters", String.valueOf(impossible.getMessage()),
                    "docs/distributedlog.md tells those of order.kind bookkeeper");
        }
        String gives = kind.durability().word();
        if (!order.durability().equals(gives)) {
            throw new ImpossibleValue("order.durability",
                    "is " + order.durability() + ", but order.kind " + kind.name() + " gives " + gives,
                    kind.durability() == OrderDescriptor.Durability.NONE
                            ? "write `durability: none` beside `kind: " + kind.name()
                                    + "` if the cluster may end when a majority"
                                    + " of its nodes stops, or leave `kind` out"
                            : "leave it out, or choose an order.kind that keeps nothing on disks");
        }
        if (payloadBytesMax(limits) > kind.payloadBytesMax()) {
            throw new ImpossibleValue("limits.transaction-bytes",
                    "is larger than order.kind " + kind.name() + " can carry",
                    "valid with it: 4 KiB to " + (kind.payloadBytesMax() - PAYLOAD_EXTRA_BYTES) / 2 + " bytes");
        }
        if (!kind.hasVoters() && !Protocols.STANDARD.choose(protocol, parameters).voters(ids).equals(ids)) {
            throw new ImpossibleValue("order.kind",
                    "is " + kind.name() + ", of which every node is a part, but protocol "
                            + protocol + " has some nodes decide without the others",
                    "leave `kind` out");
        }
    }

    private static long payloadBytesMax(Limits limits) {
        return limits.transactionBytes() * 2 + PAYLOAD_EXTRA_BYTES;
    }

    /** Longest message between nodes, in bytes. */
    public int payloadBytesMax() {
        return Math.toIntExact(Math.min(payloadBytesMax(limits), orderKind().payloadBytesMax()));
    }

    /** The kind of order. */
    public OrderDescriptor orderKind() {
        return Orders.STANDARD.descriptor(order.kind());
    }

    /** The protocol with its parameters. */
    public ChosenProtocol chosenProtocol() {
        return Protocols.STANDARD.choose(protocol, protocolParameters);
    }

    /** What there is to know of the engine. */
    public EngineDescriptor engineDescriptor() {
        return Engines.INSTALLED.descriptor(engine);
    }

    /** Whether the database is in the node's own process. */
    public boolean isInProcess() {
        return inProcess(engine);
    }

    /** Whether the password in it is the one that everybody knows. */
    public boolean hasDefaultPassword() {
        return isInProcess() ? inProcess.hasDefaultPassword() : postgres.hasDefaultPassword();
    }

    /** Names of engines, those that keep their database in the node's own process, and others. */
    public static List<String> engines() {
        return Engines.INSTALLED.names();
    }

    /** Names of engines that keep their database in the node's own process. */
    public static List<String> inProcessEngines() {
        return Engines.INSTALLED.names(InProcessEngine.class);
    }

    /** Whether an engine keeps its database in the node's own process; it need not exist. */
    public static boolean inProcess(String engine) {
        return inProcessEngines().contains(engine);
    }

    /** This node's own entry among the members. */
    public Member self() {
        return members.stream().filter(member -> member.id() == node).findFirst().orElseThrow();
    }

    /** One node of the cluster, as the others see it. */
    public record Member(
            @Setting(doc = "Number of the node, for good: it is in the names of transactions and, under H2 and HSQLDB,"
                    + " decides which values of a sequence the node uses.", example = "0", min = "0", max = "255") int id,
            @Setting(doc = "Name of the node, for people.", example = "a", pattern = "[a-z0-9][a-z0-9-]{0,62}") String name,
            @Setting(doc = "Where the other nodes reach it to agree on the order.", example = "127.0.0.1:7800") HostPort order,
            @Setting(doc = "Where its admin HTTP is reached, so that `tutti status` finds every node through any one.", byDefault = Setting.NONE, example = "127.0.0.1:8008") @Nullable HostPort http) {}

    /** How nodes know each other. */
    public record Peers(
            @Setting(doc = "`tls`: each proves by its certificate which node of which cluster it is, and all that they say is"
                    + " encrypted (with order.kind group: authenticated). `none`: whoever reaches members[].order is believed, which is refused unless all members are on"
                    + " this host. `trusted-network`: the same on any network; for one that nobody else can reach. The same on every node.", byDefault = "tls", oneOf = Setting.Choices.PEER_SECURITIES) String security,
            @Setting(doc = "This node's certificate, and those between it and an authority, PEM. Read again when it has changed. Relative to this file.", byDefault = "keys/node.crt") Path certificate,
            @Setting(doc = "Its private key, PEM, PKCS #8, without a password; nobody else may read it. Relative to this file.", byDefault = "keys/node.key") Path key,
            @Setting(doc = "Certificates of the authorities whose word is taken for who is a node, PEM, one or more. Relative to this file.", byDefault = "keys/authorities.crt") Path authorities,
            @Setting(doc = "With order.kind group: the secret that the nodes share, by which they know each other's datagrams; one a"
                    + " line, of which the first is used and all are taken; nobody else may read it. Relative to this file.", byDefault = "keys/datagrams.key") Path datagramKeys) {
        /** Whether nodes prove who they are. */
        public boolean areProven() {
            return security.equals("tls");
        }
    }

    /** A database in the node's own process. */
    public record InProcess(
            @Setting(doc = "Name of the database, as clients give it.", byDefault = "tutti", pattern = "[^\\x00]{1,63}") String database,
            @Setting(doc = "The one role that may connect.", byDefault = "postgres", pattern = "[^\\x00]{1,63}") String user,
            @Setting(doc = "Its password. The default is refused unless only this host can connect.", byDefault = "tutti") String password,
            @Setting(doc = "Where the database is kept: in files under `data`; or in memory only, made again from the ordered"
                    + " log at each start, which then is never shortened.", byDefault = "files", oneOf = Setting.Choices.STORAGES) String storage,
            @Setting(doc = "How many copies of it in memory take read-only transactions off it (MacroDB) when the node has started; `tutti secondaries` changes it while the node runs.", byDefault = "0", min = "0", max = ""
                    + SECONDARIES_MAX) int secondaries) {
        /** So many copies a node has at most. */
        public static final int SECONDARIES_MAX = 16;
        private static final String DEFAULT_PASSWORD = "tutti";

        boolean hasDefaultPassword() {
            return password.equals(DEFAULT_PASSWORD);
        }

        /** Whether it is kept in memory only. */
        public boolean inMemory() {
            return storage.equals("memory");
        }

        /** Without the password. */
        @Override
        public String toString() {
            return "InProcess[database=" + database + ", user=" + user + ", storage=" + storage + ", secondaries="
                    + secondaries + "]";
        }
    }

    /** The server under this node. Exactly one of {@code embedded} and {@code url} is there. */
    public record Postgres(
            @Setting(doc = "Database that is replicated. Created if missing.", byDefault = "tutti", pattern = "[^\\x00]{1,63}") String database,
            @Setting(doc = "A server that this node starts, with its data under `data`, and stops.", byDefault = Setting.NONE) @Nullable Embedded embedded,
            @Setting(doc = "A running server instead, not reached by clients in any other way. `?sslmode=require` behind it has"
                    + " connections to it encrypted, `?sslmode=verify-full` also has the server prove its host's name; otherwise all goes"
                    + " in clear.", byDefault = Setting.NONE, example = "postgresql://127.0.0.1:5433") @Nullable PostgresUrl url,
            @Setting(doc = "With `sslmode=verify-full`: certificates of the authorities whose word is taken for who that server is, PEM;"
                    + " without it, those that Java trusts. Relative to this file.", byDefault = Setting.NONE, example = "postgres-ca.crt") @Nullable Path authorities,
            @Setting(doc = "A superuser with which Tutti connects at first, to make a role of its own (`tutti_node`).", byDefault = "postgres", pattern = "[^\\x00]{1,63}") String user,
            @Setting(doc = "Its password then. An embedded server is set up with it at the first start. The default is refused"
                    + " unless only this host can connect.", byDefault = "tutti") String password,
            @Setting(doc = "Isolation level of sessions that do not ask for another one. Under `read committed` each"
                    + " statement sees what is visible by then, and one that has waited for a row goes on with its newest version, as"
                    + " applications expect that were written for PostgreSQL's own default; what another node has changed first, and is not"
                    + " visible here yet, still fails it with 40001. `serializable` needs a protocol that grants it, as `si` does.", byDefault = "repeatable read", oneOf = Setting.Choices.ISOLATIONS) String isolation) {
        private static final String DEFAULT_PASSWORD = "tutti";
        private static final String SERIALIZABLE = "serializable";

        boolean isSerializable() {
            return isolation.equals(SERIALIZABLE);
        }

        public Postgres {
            if (embedded != null && url != null) {
                throw new ImpossibleValue("url", "is given, and embedded too", "leave one of them out");
            }
            if (authorities != null && (url == null || url.encryption() != PostgresUrl.Encryption.VERIFY_FULL)) {
                throw new ImpossibleValue("authorities", "is given, but url does not ask for sslmode=verify-full",
                        "add it to url, or leave authorities out");
            }
            if (embedded == null && url == null) {
                embedded = ConfigReader.defaults(Embedded.class);
            }
            if (embedded != null && !ServerConfiguration.canBeSuperuser(user)) {
                throw new ImpossibleValue("user",
                        "is " + user + ", which the superuser of an embedded server cannot be",
                        "valid: any name but tutti, and but those that begin with pg_");
            }
            if (embedded != null && !ServerConfiguration.canBePassword(password)) {
                throw new ImpossibleValue("password", "has several lines", "write one of one line");
            }
        }

        boolean hasDefaultPassword() {
            return password.equals(DEFAULT_PASSWORD);
        }

        /** Without the password. */
        @Override
        public String toString() {
            return "Postgres[database=" + database + ", embedded=" + embedded + ", url=" + url + ", user=" + user
                    + "]";
        }
    }

    /** A PostgreSQL server that belongs to the node. */
    public record Embedded(
            @Setting(doc = "Port on 127.0.0.1 that it listens on; 0 takes a free one at each start.", byDefault = "0", min = "0", max = "65535") int port,
            @Setting(doc = "Memory for its page cache.", byDefault = "128 MiB", min = "1 MiB", max = "1 TiB", bytes = true) long sharedBuffersBytes,
            @Setting(doc = "Further parameters of postgresql.conf, name by name; refused where the node relies on its own, such as `fsync`.", byDefault = "{}") Map<String, String> parameters) {
        public Embedded {
            parameters = Map.copyOf(parameters);
            for (String name : parameters.keySet()) {
                String otherwise = ServerConfiguration.RELIED_ON.get(name.toLowerCase(Locale.ROOT));
                if (otherwise != null) {
                    throw new ImpossibleValue("parameters", "names " + name + ": " + otherwise, "leave it out");
                }
            }
        }
    }

    /** The PostgreSQL front end. */
    public record Listen(
            @Setting(doc = "Address to listen on; 0.0.0.0 for all.", byDefault = "127.0.0.1") String host,
            @Setting(doc = "Port to listen on.", byDefault = "5432", min = "1", max = "65535") int port,
            @Setting(doc = "Offers clients encryption.", byDefault = Setting.NONE) @Nullable Tls tls,
            @Setting(doc = "When clients hear of what they have changed, unless their session says otherwise"
                    + " (`tutti.acknowledge`, docs/sql.md): `executed`, when it is visible at this node; `applied`, when it is at every node;"
                    + " `logged`, which needs protocol `hybrid`, when it will be executed.", byDefault = "executed", oneOf = Setting.Choices.ACKNOWLEDGEMENTS) String acknowledge) {
        /** Whether only clients of this host can connect. */
        public boolean isLoopback() {
            return HostPort.isLoopback(host);
        }
    }

    /** A certificate and its key, both PEM. */
    public record Tls(
            @Setting(doc = "Certificate chain, PEM. Read again, with the key, when it has changed. Relative to this file.", example = "server.crt") Path certificate,
            @Setting(doc = "Its private key, PEM, PKCS #8, without a password; nobody else may read it. Relative to this file.", example = "server.key") Path key,
            @Setting(doc = "Whether clients without encryption are refused; otherwise they choose.", byDefault = "false") boolean required) {
        /** Whether clients must encrypt, by what a configuration says of it or does not. */
        public static boolean isRequired(@Nullable Tls tls) {
            return tls != null && tls.required();
        }
    }

    /** The admin HTTP server. */
    public record Http(
            @Setting(doc = "Address to listen on.", byDefault = "127.0.0.1") String host,
            @Setting(doc = "Port to listen on.", byDefault = "8008", min = "1", max = "65535") int port) {}

    /** The total order. */
    public record Order(
            @Setting(doc = "What makes the order: `raft`, a log on the nodes' disks; `group`, group communication over UDP,"
                    + " in the nodes' memory, see below; or another one on the node's class path, such as `bookkeeper`, a log in Apache"
                    + " BookKeeper (docs/distributedlog.md). The same on every node, and for good.", byDefault = Orders.DEFAULT, oneOf = Setting.Choices.ORDERS) String kind,
            @Setting(doc = "What becomes of ordered transactions when nodes stop: `disk`, they are on the disks of a majority"
                    + " before they commit; `none`, they are in the memory of a majority, and the cluster ends when a majority"
                    + " stops. It must be what the kind of order gives, so that nobody chooses less unawares.", byDefault = "disk", oneOf = Setting.Choices.DURABILITIES) String durability,
            @Setting(doc = "Bytes of transactions that may wait at this node to be ordered. When the queue is full,"
                    + " commits wait.", byDefault = "64 MiB", min = "1 MiB", max = "16 GiB", bytes = true) long queueBytes,
            @Setting(doc = "Most bytes of transactions that are ordered as one log entry, with one disk flush. A larger"
                    + " transaction is an entry of its own.", byDefault = "1 MiB", min = "4 KiB", max = "64 MiB", bytes = true) long batchBytes,
            @Setting(doc = "Size at which a file of the log is closed and the next begun; the log is shortened by whole"
                    + " files.", byDefault = "16 MiB", min = "1 MiB", max = "1 GiB", bytes = true) long segmentBytes,
            @Setting(doc = "Without a sign of life from the leader for this long, the others elect a new one.", byDefault = "1s", min = "100ms", max = "1min") Duration electionTimeout,
            @Setting(doc = "How large this node's part of the log may become for the sake of members that are away or"
                    + " excluded. Beyond it the log is no longer kept for them, and they need a copy of another node's database if"
                    + " they come back too late: docs/operations.md.", byDefault = "8 GiB", min = "16 MiB", max = "64 TiB", bytes = true) long retentionBytes,
            @Setting(doc = "How long a member may be away or excluded until the log is no longer kept for it.", byDefault = "72h", min = "1min", max = "8760h") Duration retentionTime,
            @Setting(doc = "What the kind of order alone wants to know, name by name; `raft` and `group` nothing. The same on every"
                    + " node.", byDefault = "{}") Map<String, String> parameters) {
        /** Copies the parameters. */
        public Order {
            parameters = Map.copyOf(parameters);
        }

        /**
         * What to write behind {@code order:} for a kind; nothing for the one that is used if none is chosen.
         *
         * @throws IllegalArgumentException if there is no such kind here, or it cannot have these parameters
         */
        public static String chosen(String kind, Map<String, String> parameters) {
            OrderDescriptor chosen = Orders.STANDARD.descriptor(kind);
            chosen.check(parameters);
            if (kind.equals(DEFAULT_ORDER)) {
                return "";
            }
            StringJoiner values = new StringJoiner(", ", "{", "}");
            new TreeMap<>(parameters).forEach((name, value) -> values.add(quoted(name) + ": " + quoted(value)));
            return "{kind: " + kind + ", durability: " + chosen.durability().word() + ", parameters: " + values + "}";
        }

        private static String quoted(String text) {
            return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
        }
    }

    /** Bounds. */
    public record Limits(
            @Setting(doc = "Largest write set of one transaction; beyond it the transaction fails.", byDefault = "64 MiB", min = "4 KiB", max = "1 GiB", bytes = true) long transactionBytes,
            @Setting(doc = "Client sessions at the same time; each has a connection to the node's PostgreSQL.", byDefault = "200", min = "1", max = "10000") int sessions,
            @Setting(doc = "How many of these are kept for superusers; one at least is for others. Of PostgreSQL nodes. How many sessions"
                    + " a role may have at a node is said in SQL: ALTER ROLE … CONNECTION LIMIT.", byDefault = "3", min = "0", max = "1000") int reservedSessions,
            @Setting(doc = "Sessions of clients at one address, at the same time; superusers of PostgreSQL nodes are not held to it. 0 for"
                    + " any number.", byDefault = "0", min = "0", max = "10000") int sessionsPerAddress,
            @Setting(doc = "Transactions of this node that may wait for the outcome of their commit at the same time;"
                    + " further ones wait their turn.", byDefault = "1000", min = "1", max = "100000") int transactionsInFlight,
            @Setting(doc = "About how much memory requests may take, of all nodes' clients together, that are acknowledged as logged"
                    + " (docs/protocols/hybrid.md) and have not been executed; while it is as much, further ones of this node wait before they are"
                    + " acknowledged. Every node keeps them, and their snapshot for moments up to twice more: allow its heap 384 MiB more"
                    + " than three times this.", byDefault = "128 MiB", min = "64 KiB", max = "512 MiB", bytes = true) long waitingRequestBytes,
            @Setting(doc = "How often a transaction that has lost to another is run again before its client hears 40001; only as long"
                    + " as everything that the client has seen comes out the same. 0 switches it off.", byDefault = "10", min = "0", max = "1000") int repetitions,
            @Setting(doc = "Time that clients and transactions under way are given when the node is told to stop. Clients without an open"
                    + " transaction go at once, with 57P01.", byDefault = "10s", min = "0s", max = "1h") Duration stopGrace,
            @Setting(doc = "When this node has reached no majority for this long, clients that wait for the outcome of a commit hear 08007: it"
                    + " is in doubt, and how to ask for it. 0 has them wait until there is a majority.", byDefault = "5s", min = "0s", max = "1h") Duration inDoubtAfter) {}

    /** Appliers of ordered transactions. */
    public record Apply(
            @Setting(doc = "Connections that apply other nodes' transactions in parallel. `auto`: as few as keep this node from being behind.", byDefault = "4", min = "1", max = "64", auto = true) int appliers,
            @Setting(doc = "Most transactions that one applier commits together. `auto`: likewise, 16 to 1024.", byDefault = "64", min = "1", max = "10000", auto = true) int batchTransactions,
            @Setting(doc = "For how long other nodes' transactions may wait to be committed together with those that come"
                    + " after them. None waits if the one before came longer ago, while a transaction of this node is open,"
                    + " or if a session has asked for its position.", byDefault = "20ms", min = "0s", max = "1s") Duration linger,
            @Setting(doc = "How long clients' code (checks, triggers, index expressions) may run at a PostgreSQL node while the rows of another node's"
                    + " transaction are written, and a second more for each 256 KiB of them. What takes longer this node cannot make: the"
                    + " nodes decide by majority.", byDefault = "30s", min = "1s", max = "24h") Duration codeTime,
            @Setting(doc = "How long a schema change, or a request that every node or the owner of its log executes, may take at a PostgreSQL"
                    + " node; the same on every node. Others wait for it.", byDefault = "1h", min = "1s", max = "168h") Duration statementTime) {}

    /** Disjoint values for sequences. */
    public record Sequences(
            @Setting(doc = "Under H2 and HSQLDB every sequence counts in steps of this size, each node from an offset of its"
                    + " own, so that no two nodes produce the same value. One more than the highest id that a member can ever have; the"
                    + " same on every node, and fixed once the database is in use.", byDefault = "16", min = "1", max = "256") int stride) {}

    /** Copies from node to node. */
    public record Copies(
            @Setting(doc = "Whether this node, when its own data can be used no more (lost, an old copy, away for too long, excluded; not if a file is damaged),"
                    + " gets a copy of another node's by itself, and removes its own when that is whole. Otherwise it stops and says so.", byDefault = "true") boolean automatic,
            @Setting(doc = "Bytes of files per second that this node sends at most when it gives another one a copy.", byDefault = "32 MiB", min = "64 KiB", max = "64 GiB", bytes = true) long bytesPerSecond) {}

    /** The flight recorder. */
    public record FlightRecorder(
            @Setting(doc = "Whether it records.", byDefault = "false") boolean enabled,
            @Setting(doc = "How far back it keeps, if that is not more than its bytes.", byDefault = "5min", min = "1s", max = "24h") Duration keep,
            @Setting(doc = "How much memory it takes.", byDefault = "64 MiB", min = "1 MiB", max = "1 GiB", bytes = true) long memoryBytes) {}

    /** The recording of the workload. */
    public record WorkloadRecording(
            @Setting(doc = "Whether it is made: a file for each start of the node, in `workload` in its data directory."
                    + " It holds times, sizes and hashes of keys, nothing of what is in the database.", byDefault = "false") boolean enabled,
            @Setting(doc = "How large a file may become; what comes later is left out.", byDefault = "1 GiB", min = "1 MiB", max = "1 TiB", bytes = true) long fileBytes) {}

    /** Traces. */
    public record Tracing(
            @Setting(doc = "A collector that takes OTLP over HTTP; `/v1/traces` is added. Without it, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and"
                    + " OTEL_EXPORTER_OTLP_ENDPOINT of the environment say where; without all of them there are no spans.", byDefault = Setting.NONE, example = "http://127.0.0.1:4318", pattern = "https?://[^\\s/]+\\S*") @Nullable String endpoint,
            @Setting(doc = "Of how many transactions one is followed, by chance; 0 for none. One whose client names a parent (`traceparent`) is followed if"
                    + " that is recorded, and only then.", byDefault = "100", min = "0", max = "1000000000") int oneIn,
            @Setting(doc = "Name of the service in spans. Without it, OTEL_SERVICE_NAME of the environment, or `tutti`.", byDefault = Setting.NONE, example = "orders-database", pattern = "\\S.{0,200}") @Nullable String service) {}

    /** The log. */
    public record Log(
            @Setting(doc = "Lines for people (text), or an object for each with the names of fields of the Elastic Common Schema (json).", byDefault = "text", oneOf = Setting.Choices.LOG_FORMATS) String format) {}
}
