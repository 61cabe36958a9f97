package tutti.server.http;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.node.ReplicaNode;
import tutti.server.config.NodeConfig;

/**
 * Answers operators and their tools: {@code /health/live}, {@code /health/ready}, {@code /metrics}, {@code /status} and a
 * {@linkplain ClusterPage page} for people at {@code /}, which asks {@code /cluster} and, with the token, {@code /activity}; nodes ask each
 * other's {@code /history} for it. {@code POST /flight-recording} has the node write what its flight recorder keeps to a file;
 * {@code GET /secondaries} tells of the copies of its database within the node, and {@code POST /secondaries?count=N} makes
 * them so many; {@code GET /positions} tells of positions that some node could not apply, and {@code POST /positions?skip=P} or
 * {@code keep=P} decides about one; {@code GET /members} tells of the members of the cluster, and {@code POST} with {@code add=N&order=HOST:PORT},
 * {@code remove=N} or {@code move=N&order=HOST:PORT} changes them; {@code GET /parameters} tells of the protocol's parameters that the order can change, and
 * {@code POST} with {@code NAME=VALUE} for each that is to be another one changes them; {@code GET /tables} tells which tables some nodes lack, and
 * {@code POST /tables?nodes=N,N&table=NAME} keeps one, or several, on some nodes only. {@code POST /comparison} takes steps of {@code tutti compare}, {@code POST /changes} of {@code tutti changes}, and {@code POST /backup} sends a backup. Nothing else can be changed here. Who asks for a change, or for positions, shows the node's
 * token, {@code Authorization: Bearer TOKEN}; everything else is for everybody who reaches it, which belongs on loopback or behind a firewall. A change that a page
 * of another site has a browser ask for is refused.
 *
 * <p>
 * Every request runs on a virtual thread of its own, at most {@value #REQUESTS_MAX} at a time; one more is answered 503. None has a body: one that
 * announces any is refused, and its connection closed, before anything of it is read. A request has come within {@value #REQUEST_SECONDS_MAX} seconds, and
 * takes {@value #HEADERS_BYTES_MAX} bytes at most; {@value #CONNECTIONS_MAX} connections are held, one more is closed.
 */
public final class AdminServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(AdminServer.class);
    static final int REQUESTS_MAX = 32;
    static final int CONNECTIONS_MAX = 512;
    static final int REQUEST_SECONDS_MAX = 10;
    private static final int HEADERS_BYTES_MAX = 16 << 10;
    private static final int BACKLOG = 32;
    private static final Pattern DECISION = Pattern.compile("(skip|keep)=(\\d{1,18})");
    private static final Pattern AFTER = Pattern.compile("after=(\\d{1,18})");
    private static final Pattern MEMBER = Pattern
            .compile("(add|remove|move)=(\\d{1,3})(?:&order=([\\w.\\-\\[\\]:]{1,255}:\\d{1,5}))?");
    private static final Pattern KEEPERS = Pattern.compile("all|\\d{1,3}(,\\d{1,3})*");
    private static final Pattern COUNT = Pattern.compile("count=(\\d{1,4})");

    static {
        // The Java runtime's server has no limits unless it finds these when it is used first, and would read what is left of a body.
        limit("jdk.httpserver.maxConnections", CONNECTIONS_MAX);
        limit("sun.net.httpserver.maxReqTime", REQUEST_SECONDS_MAX);
        limit("sun.net.httpserver.maxReqHeaderSize", HEADERS_BYTES_MAX);
        limit("sun.net.httpserver.drainAmount", 0);
    }

    private final HttpServer server;
    private final ExecutorService executor;
    private final Semaphore running = new Semaphore(REQUESTS_MAX);
    private final Supplier<NodeStatus> status;
    private final MetricsPage metrics;
    private final Operations operations;
    private final Watch watch;
    private final byte @Nullable [] authorization;

    /** Writes all metrics in the Prometheus text format. */
    public interface MetricsPage {
        /** Writes and flushes, does not close. */
        void writeTo(OutputStream out) throws IOException;
    }

    /** What a node's page shows, as JSON; from any thread. */
    public interface Watch {
        /** What the node has done lately, without any row. Does not block. */
        String history();

        /** What all nodes have, as far as they say. May block for a second. */
        String cluster();

        /** Its lost transactions and slowest statements, which may name rows. Does not block. */
        String activity();
    }

    /** What operators may have a node do; from any thread, several at a time. What fails says why, for people. */
    public interface Operations {
        /**
         * Writes a flight recording. May block.
         *
         * @return the file
         * @throws IOException if there is nothing to write or it cannot be written
         */
        Path writeFlightRecording() throws IOException;

        /**
         * How the secondaries are. Does not block.
         *
         * @throws IOException if the node has none now
         */
        NodeStatus.Secondaries secondaries() throws IOException;

        /**
         * Makes secondaries, or gives some up, until there are so many. Blocks meanwhile, and while another call does it.
         *
         * @param count 0 to {@link NodeConfig.InProcess#SECONDARIES_MAX}
         * @return how they are then
         * @throws IOException if the node cannot have any now, or one cannot be filled; then it says how many there are
         */
        NodeStatus.Secondaries secondaries(int count) throws IOException;

        /**
         * Positions of the order that some node could not apply: those that are open, and the last ones that were decided. Blocks
         * shortly.
         *
         * @throws IOException if the node knows of none now
         */
        List<NodeStatus.Position> positions() throws IOException;

        /**
         * Decides about one that is open. Blocks shortly.
         *
         * @param holds whether its effects hold; if not, they are left out at all nodes
         * @return how it stood
         * @throws IOException if it is not open, or nothing can be ordered now
         */
        List<NodeStatus.Position> decide(long position, boolean holds) throws IOException;

        /**
         * Reads its configuration again.
         *
         * @return which changes count now, and which when it is started again
         * @throws IOException if it cannot be used; then the node goes on as before
         */
        String reload() throws IOException;

        /**
         * The members of the cluster. Does not block.
         *
         * @throws IOException if the node does not know them now
         */
        NodeStatus.Members members() throws IOException;

        /**
         * Changes them. Blocks shortly.
         *
         * @return how they are then
         * @throws IOException if that cannot be
         */
        NodeStatus.Members change(ReplicaNode.MemberChange change) throws IOException;

        /**
         * The parameters of the protocol that the order can change. Does not block.
         *
         * @throws IOException if the node does not know them now
         */
        NodeStatus.Parameters parameters() throws IOException;

        /**
         * Changes them, at all nodes. Blocks shortly.
         *
         * @param wanted values by name, of those that change
         * @return how they are then
         * @throws IOException if that cannot be
         */
        NodeStatus.Parameters change(Map<String, String> wanted) throws IOException;

        /**
         * The tables that some nodes lack. Does not block.
         *
         * @throws IOException if the node does not know them now
         */
        List<NodeStatus.PlacedTable> tables() throws IOException;

        /**
         * Keeps tables on some nodes only. Blocks while clients are in the way.
         *
         * @param tables at least one, as people name them
         * @param nodes that keep them; none to forget that they are placed
         * @return how it is then
         * @throws IOException if that cannot be
         */
        List<NodeStatus.PlacedTable> place(List<String> tables, Set<Integer> nodes) throws IOException;

        /**
         * Takes a step of a comparison of all nodes' databases. May block for as long as the database takes to be read.
         *
         * @param step what is asked for, by name
         * @return JSON
         * @throws IOException if it cannot be taken now
         */
        String comparison(Map<String, String> step) throws IOException;

        /**
         * Takes a step of telling what was changed. May block for as long as was asked for.
         *
         * @param step what is asked for, by name
         * @return JSON, line by line
         * @throws IOException if it cannot be taken now
         */
        String changes(Map<String, String> step) throws IOException;

        /**
         * Begins a backup of the node. May block.
         *
         * @param after position behind which what was ordered is wanted; negative for all that a node begins with
         * @return must be used, once
         * @throws IOException if there is none now
         */
        Download backup(long after) throws IOException;
    }

    /** Something large. */
    @FunctionalInterface
    public interface Download {
        /** Writes it. What ends early says so itself. */
        void writeTo(OutputStream out) throws IOException;
    }

    /** Of a node that can only be looked at. */
    public static final Operations NONE = new Operations() {
        @Override
        public Path writeFlightRecording() throws IOException {
            throw new IOException("this node has no flight recorder");
        }

        @Override
        public NodeStatus.Secondaries secondaries() throws IOException {
            throw new IOException("this node has no secondaries");
        }

        @Override
        public NodeStatus.Secondaries secondaries(int count) throws IOException {
            return secondaries();
        }

        @Override
        public List<NodeStatus.Position> positions() throws IOException {
            throw new IOException("this node knows of no positions");
        }

        @Override
        public List<NodeStatus.Position> decide(long position, boolean holds) throws IOException {
            return positions();
        }

        @Override
        public String reload() throws IOException {
            throw new IOException("this node has no configuration");
        }

        @Override
        public String comparison(Map<String, String> step) throws IOException {
            throw new IOException("this node has nothing to compare");
        }

        @Override
        public String changes(Map<String, String> step) throws IOException {
            throw new IOException("this node does not tell what is changed");
        }

        @Override
        public Download backup(long after) throws IOException {
            throw new IOException("this node has nothing to back up");
        }

        @Override
        public NodeStatus.Members members() throws IOException {
            throw new IOException("this node knows of no members");
        }

        @Override
        public NodeStatus.Members change(ReplicaNode.MemberChange change) throws IOException {
            return members();
        }

        @Override
        public NodeStatus.Parameters parameters() throws IOException {
            throw new IOException("this node has no parameters");
        }

        @Override
        public NodeStatus.Parameters change(Map<String, String> wanted) throws IOException {
            return parameters();
        }

        @Override
        public List<NodeStatus.PlacedTable> tables() throws IOException {
            throw new IOException("this node knows of no tables");
        }

        @Override
        public List<NodeStatus.PlacedTable> place(List<String> tables, Set<Integer> nodes) throws IOException {
            return tables();
        }
    };

    /** Of a node that is not watched. */
    public static final Watch UNWATCHED = new Watch() {
        @Override
        public String history() {
            return "{}";
        }

        @Override
        public String cluster() {
            return "{}";
        }

        @Override
        public String activity() {
            return "{}";
        }
    };

    /** Answers with what an operation brought. */
    private interface Work {
        String run() throws IOException;
    }

    private AdminServer(HttpServer server, Supplier<NodeStatus> status, MetricsPage metrics, Operations operations,
            Watch watch, @Nullable String token) {
        this.server = server;
        this.watch = watch;
        this.authorization = token == null ? null : ("Bearer " + token).getBytes(StandardCharsets.UTF_8);
        this.operations = operations;
        this.status = status;
        this.metrics = metrics;
        executor = Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("admin-", 0).factory());
        server.setExecutor(executor);
        server.createContext("/", this::handle);
    }

    /** As below, of a node that can only be looked at. */
    public static AdminServer start(InetSocketAddress address, Supplier<NodeStatus> status, MetricsPage metrics)
            throws IOException {
        return start(address, status, metrics, NONE, UNWATCHED, null);
    }

    /**
     * Begins to listen.
     *
     * @param address port 0 takes a free one, see {@link #port()}
     * @param status asked once per request, from any thread; must not block
     * @param metrics asked likewise
     * @param operations what it may be asked to do
     * @param watch what its page shows
     * @param token what whoever asks for a change must show; null if nobody need
     * @throws IOException if the address cannot be listened on; the message names it and what to do
     */
    public static AdminServer start(InetSocketAddress address, Supplier<NodeStatus> status, MetricsPage metrics,
            Operations operations, Watch watch, @Nullable String token) throws IOException {
        HttpServer server;
        try {
            server = HttpServer.create(address, BACKLOG);
        } catch (BindException e) {
            throw new IOException("cannot listen for admin HTTP on " + address.getHostString() + ":" + address.getPort()
                    + ": " + e.getMessage() + "; choose another http.port, or stop what uses this one", e);
        }
        AdminServer admin = new AdminServer(server, status, metrics, operations, watch, token);
        server.start();
        return admin;
    }

    /** The port that it listens on. */
    public int port() {
        return server.getAddress().getPort();
    }

    /** Sets a property of the virtual machine, unless its operator has. */
    private static void limit(String property, int to) {
        if (System.getProperty(property) == null) {
            System.setProperty(property, String.valueOf(to));
        }
    }

    /** Whether a request announces a body, which may never come. */
    private static boolean hasBody(HttpExchange exchange) throws IOException {
        String length = exchange.getRequestHeaders().getFirst("Content-Length");
        return exchange.getRequestHeaders().containsKey("Transfer-Encoding")
                || (length != null && Long.parseLong(length) != 0)
                // It has none, which the server notices when it is read: then the connection can be used again.
                || exchange.getRequestBody().read() >= 0;
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            if (hasBody(exchange)) {
                send(exchange, 413, "text/plain", "no request here has a body: say what you want in the path\n");
                return;
            }
            if (!running.tryAcquire()) {
                send(exchange, 503, "text/plain", "too many requests at once\n");
                return;
            }
            try {
                answer(exchange);
            } catch (RuntimeException e) {
                LOG.error("Cannot answer {}", exchange.getRequestURI(), e);
                send(exchange, 500, "text/plain", "internal error, see the node's log: " + e + "\n");
            } finally {
                running.release();
            }
        }
    }

    private void answer(HttpExchange exchange) throws IOException {
        String method = exchange.getRequestMethod();
        String path = exchange.getRequestURI().getPath();
        boolean reads = method.equals("GET") || method.equals("HEAD");
        switch (path) {
            case "/flight-recording" -> change(exchange, "POST", "text/plain",
                    () -> operations.writeFlightRecording() + "\n");
            case "/secondaries" -> {
                int wanted = count(exchange.getRequestURI().getQuery());
                if (reads) {
                    send(exchange, "application/json", () -> StatusJson.write(operations.secondaries()));
                } else if (method.equals("POST") && wanted < 0) {
                    send(exchange, 400, "text/plain", "say how many secondaries there are to be, 0 to "
                            + NodeConfig.InProcess.SECONDARIES_MAX + ", as in /secondaries?count=2\n");
                } else {
                    change(exchange, "GET, HEAD, POST", "application/json",
                            () -> StatusJson.write(operations.secondaries(wanted)));
                }
            }
            case "/positions" -> {
                Matcher wanted = DECISION.matcher(String.valueOf(exchange.getRequestURI().getQuery()));
                if (reads) {
                    // What a node could not apply may be told with rows of it.
                    permitted(exchange, "application/json", () -> StatusJson.write(operations.positions()));
                } else if (method.equals("POST") && !wanted.matches()) {
                    send(exchange, 400, "text/plain",
                            "say what is decided, as in /positions?skip=1234 or /positions?keep=1234\n");
                } else {
                    change(exchange, "GET, HEAD, POST", "application/json", () -> StatusJson.write(
                            operations.decide(Long.parseLong(wanted.group(2)), wanted.group(1).equals("keep"))));
                }
            }
            case "/reload" -> change(exchange, "POST", "text/plain", () -> operations.reload() + "\n");
            case "/comparison" -> change(exchange, "POST", "application/json",
                    () -> operations.comparison(parameters(exchange.getRequestURI().getRawQuery())));
            case "/changes" -> change(exchange, "POST", "application/x-ndjson",
                    () -> operations.changes(parameters(exchange.getRequestURI().getRawQuery())));
            case "/backup" -> {
                Matcher wanted = AFTER.matcher(String.valueOf(exchange.getRequestURI().getQuery()));
                if (mayChange(exchange) && exchange.getRequestMethod().equals("POST")
                        && !exchange.getRequestHeaders().containsKey("Origin")) {
                    sendBackup(exchange, wanted.matches() ? Long.parseLong(wanted.group(1)) : -1);
                } else {
                    change(exchange, "POST", "text/plain", () -> "");
                }
            }
            case "/members" -> {
                ReplicaNode.MemberChange wanted = memberChange(exchange.getRequestURI().getQuery());
                if (reads) {
                    send(exchange, "application/json", () -> StatusJson.write(operations.members()));
                } else if (method.equals("POST") && wanted == null) {
                    send(exchange, 400, "text/plain", "say what is to change, as in /members?add=3&order=host:7400,"
                            + " /members?remove=3 or /members?move=3&order=host:7400\n");
                } else {
                    change(exchange, "GET, HEAD, POST", "application/json",
                            () -> StatusJson.write(operations.change(Objects.requireNonNull(wanted))));
                }
            }
            case "/parameters" -> {
                Map<String, String> wanted = parameters(exchange.getRequestURI().getRawQuery());
                if (reads) {
                    send(exchange, "application/json", () -> StatusJson.write(operations.parameters()));
                } else if (method.equals("POST") && wanted.isEmpty()) {
                    send(exchange, 400, "text/plain", "say what is to change, as in /parameters?logs=128\n");
                } else {
                    change(exchange, "GET, HEAD, POST", "application/json",
                            () -> StatusJson.write(operations.change(wanted)));
                }
            }
            case "/tables" -> tables(exchange, exchange.getRequestURI().getRawQuery(), reads);
            default -> {
                if (reads) {
                    show(exchange, path);
                } else {
                    notAllowed(exchange, "GET, HEAD");
                }
            }
        }
    }

    private void tables(HttpExchange exchange, @Nullable String query, boolean reads) throws IOException {
        List<String> tables = all(query, "table");
        Matcher nodes = KEEPERS.matcher(String.join("&", all(query, "nodes")));
        if (reads) {
            send(exchange, "application/json", () -> StatusJson.writeTables(operations.tables()));
        } else if (exchange.getRequestMethod().equals("POST") && (tables.isEmpty() || !nodes.matches())) {
            send(exchange, 400, "text/plain",
                    "say which tables are to be where, as in /tables?nodes=0,2&table=public.events; nodes=all forgets where they are\n");
        } else {
            change(exchange, "GET, HEAD, POST", "application/json",
                    () -> StatusJson.writeTables(operations.place(tables, keepers(nodes.group()))));
        }
    }

    private static Set<Integer> keepers(String nodes) {
        return nodes.equals("all")
                ? Set.of()
                : Stream.of(nodes.split(",", -1)).map(Integer::valueOf).collect(Collectors.toUnmodifiableSet());
    }

    /** What a request wants to change, or null if it does not say. */
    private static ReplicaNode.@Nullable MemberChange memberChange(@Nullable String query) {
        Matcher wanted = MEMBER.matcher(query == null ? "" : query);
        if (!wanted.matches() || Integer.parseInt(wanted.group(2)) > 255
                || wanted.group(1).equals("remove") != (wanted.group(3) == null)) {
            return null;
        }
        int node = Integer.parseInt(wanted.group(2));
        return switch (wanted.group(1)) {
            case "add" -> new ReplicaNode.MemberChange.Add(node, wanted.group(3));
            case "move" -> new ReplicaNode.MemberChange.Move(node, wanted.group(3));
            default -> new ReplicaNode.MemberChange.Remove(node);
        };
    }

    private void show(HttpExchange exchange, String path) throws IOException {
        switch (path) {
            case "/health/live" -> {
                NodeStatus now = status.get();
                boolean live = now.state() != NodeStatus.State.FAILED;
                send(exchange, live ? 200 : 503, "text/plain", health(now, live));
            }
            case "/health/ready" -> {
                NodeStatus now = status.get();
                boolean ready = now.state() == NodeStatus.State.READY;
                send(exchange, ready ? 200 : 503, "text/plain", health(now, ready));
            }
            case "/status" -> send(exchange, 200, "application/json", StatusJson.write(status.get()));
            case "/metrics" -> {
                ByteArrayOutputStream page = new ByteArrayOutputStream(16 << 10);
                metrics.writeTo(page);
                send(exchange, 200, "text/plain; version=0.0.4", page.toByteArray());
            }
            case "/history" -> send(exchange, 200, "application/json", watch.history());
            case "/cluster" -> send(exchange, 200, "application/json", watch.cluster());
            case "/activity" -> permitted(exchange, "application/json", watch::activity);
            default -> {
                ClusterPage.Part part = ClusterPage.part(path);
                if (part == null) {
                    send(exchange, 404, "text/plain",
                            "nothing here; there are /health/live, /health/ready, /metrics, /status, /history, /cluster,"
                                    + " /activity, /secondaries, /positions, /members, /parameters, /tables, /comparison, /changes, /backup, /reload,"
                                    + " /flight-recording and /\n");
                } else {
                    exchange.getResponseHeaders().set("Content-Security-Policy", ClusterPage.POLICY);
                    exchange.getResponseHeaders().set("X-Content-Type-Options", "nosniff");
                    exchange.getResponseHeaders().set("Referrer-Policy", "no-referrer");
                    send(exchange, 200, part.type(), part.content());
                }
            }
        }
    }

    private static void notAllowed(HttpExchange exchange, String allowed) throws IOException {
        exchange.getResponseHeaders().set("Allow", allowed);
        send(exchange, 405, "text/plain", "only " + allowed + "\n");
    }

    /**
     * Has the node do something that changes it, for whoever may ask for that.
     *
     * @param allowed the methods of the path
     */
    private void change(HttpExchange exchange, String allowed, String type, Work work) throws IOException {
        if (!exchange.getRequestMethod().equals("POST")) {
            notAllowed(exchange, allowed);
        } else if (exchange.getRequestHeaders().containsKey("Origin")) {
            send(exchange, 403, "text/plain", "not for pages in a browser\n");
        } else {
            permitted(exchange, type, work);
        }
    }

    /** Does something for whoever shows the token. */
    private void permitted(HttpExchange exchange, String type, Work work) throws IOException {
        if (!mayChange(exchange)) {
            exchange.getResponseHeaders().set("WWW-Authenticate", "Bearer");
            send(exchange, 401, "text/plain",
                    "this asks for the token in the file http-token in the node's data directory:"
                            + " Authorization: Bearer TOKEN\n");
        } else {
            send(exchange, type, work);
        }
    }

    private boolean mayChange(HttpExchange exchange) {
        String shown = exchange.getRequestHeaders().getFirst("Authorization");
        return authorization == null
                || (shown != null && MessageDigest.isEqual(authorization, shown.getBytes(StandardCharsets.UTF_8)));
    }

    /** Sends what work brings, or why it brings nothing. */
    private static void send(HttpExchange exchange, String type, Work work) throws IOException {
        String done;
        try {
            done = work.run();
        } catch (IOException refused) {
            send(exchange, 409, "text/plain", refused.getMessage() + "\n");
            return;
        }
        send(exchange, 200, type, done);
    }

    private void sendBackup(HttpExchange exchange, long after) throws IOException {
        Download backup;
        try {
            backup = operations.backup(after);
        } catch (IOException refused) {
            send(exchange, 409, "text/plain", refused.getMessage() + "\n");
            return;
        }
        exchange.getResponseHeaders().set("Content-Type", "application/octet-stream");
        exchange.sendResponseHeaders(200, 0);
        try (OutputStream out = exchange.getResponseBody()) {
            backup.writeTo(out);
        } catch (IOException broken) {
            LOG.warn("a backup was not completed", broken);
            throw broken;
        }
    }

    /** What stands behind the question mark; of those of one name the last. */
    private static Map<String, String> parameters(@Nullable String query) {
        Map<String, String> parameters = new TreeMap<>();
        each(query, parameters::put);
        return parameters;
    }

    /** Likewise, all of one name. */
    private static List<String> all(@Nullable String query, String name) {
        List<String> all = new ArrayList<>();
        each(query, (key, value) -> {
            if (key.equals(name)) {
                all.add(value);
            }
        });
        return all;
    }

    private static void each(@Nullable String query, BiConsumer<String, String> to) {
        for (String each : query == null ? new String[0] : query.split("&", -1)) {
            int equals = each.indexOf('=');
            if (equals > 0) {
                to.accept(each.substring(0, equals),
                        URLDecoder.decode(each.substring(equals + 1), StandardCharsets.UTF_8));
            }
        }
    }

    /** How many secondaries a request wants, or -1 if it does not say, or wants too many. */
    private static int count(@Nullable String query) {
        Matcher wanted = COUNT.matcher(query == null ? "" : query);
        int count = wanted.matches() ? Integer.parseInt(wanted.group(1)) : -1;
        return count > NodeConfig.InProcess.SECONDARIES_MAX ? -1 : count;
    }

    private static String health(NodeStatus now, boolean good) {
        String state = now.state().name().toLowerCase(Locale.ROOT);
        return (good || now.reason() == null ? state : state + ": " + now.reason()) + "\n";
    }

    private static void send(HttpExchange exchange, int code, String type, String body) throws IOException {
        send(exchange, code, type, body.getBytes(StandardCharsets.UTF_8));
    }

    private static void send(HttpExchange exchange, int code, String type, byte[] body) throws IOException {
        exchange.getResponseHeaders().set("Content-Type",
                type.contains("charset") ? type : type + "; charset=utf-8");
        exchange.getResponseHeaders().set("Cache-Control", "no-store");
        if (exchange.getRequestMethod().equals("HEAD")) {
            exchange.getResponseHeaders().set("Content-Length", String.valueOf(body.length));
            exchange.sendResponseHeaders(code, -1);
            return;
        }
        exchange.sendResponseHeaders(code, body.length);
        // Closed here, not with the exchange, which would keep to itself that the other end has gone: the server would count its connection for ever.
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(body);
        }
    }

    /** Stops listening; requests under way are cut off. */
    @Override
    public void close() {
        server.stop(0);
        executor.shutdownNow();
    }
}
