package tutti.server.http;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers operators and their tools: {@code /health/live}, {@code /health/ready}, {@code /metrics}, {@code /status} and a
 * {@linkplain ClusterPage page} for people at {@code /}, which asks {@code /cluster} and, with the token, {@code /activity}; nodes ask each
 * other's {@code /history} for it. What a node can be made to do besides has {@linkplain OperationAnswers paths of its own}; nothing else can be changed
 * here. Who asks for a change, or for positions, shows the node's token, {@code Authorization: Bearer TOKEN}; everything else is for everybody who
 * reaches it, which belongs on loopback or behind a firewall. A change that a page of another site has a browser ask for is refused, and so is what a page
 * asks for in a name of its own that it has a browser on this machine take for this machine's.
 *
 * <p>
 * Every request runs on a virtual thread of its own, at most {@value #REQUESTS_MAX} at a time; one more is answered 503, unless it asks for the node's health.
 * Who does not read its answer is cut off. None has a body: one that
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
    private static final String HEALTH = "/health/";
    private static final Duration READING_MAX = Duration.ofSeconds(30);

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
    private final OperationAnswers operations;
    private final Watch watch;
    private final byte @Nullable [] authorization;
    private final Set<String> names;
    private final SlowReaders slow;

    private AdminServer(HttpServer server, Supplier<NodeStatus> status, MetricsPage metrics, Operations operations,
            Watch watch, @Nullable String token, Set<String> names, SlowReaders slow) {
        this.server = server;
        this.watch = watch;
        this.names = names;
        this.slow = slow;
        this.authorization = token == null ? null : ("Bearer " + token).getBytes(StandardCharsets.UTF_8);
        this.operations = new OperationAnswers(operations);
        this.status = status;
        this.metrics = metrics;
        executor = Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("admin-", 0).factory());
        server.setExecutor(executor);
        server.createContext("/", this::handle);
    }

    /** As below, of a node that can only be looked at. */
    public static AdminServer start(InetSocketAddress address, Supplier<NodeStatus> status, MetricsPage metrics)
            throws IOException {
        return start(address, status, metrics, Operations.NONE, Watch.NONE, null);
    }

    /** As below, of a node that has no name besides localhost. */
    public static AdminServer start(InetSocketAddress address, Supplier<NodeStatus> status, MetricsPage metrics,
            Operations operations, Watch watch, @Nullable String token) throws IOException {
        return start(address, status, metrics, operations, watch, token, Set.of());
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
     * @param names besides localhost, by which it may be asked on this machine, in small letters
     * @throws IOException if the address cannot be listened on; the message names it and what to do
     */
    public static AdminServer start(InetSocketAddress address, Supplier<NodeStatus> status, MetricsPage metrics,
            Operations operations, Watch watch, @Nullable String token, Set<String> names) throws IOException {
        return start(address, status, metrics, operations, watch, token, names, READING_MAX);
    }

    /** @param reading how long a small answer may take to be read */
    static AdminServer start(InetSocketAddress address, Supplier<NodeStatus> status, MetricsPage metrics,
            Operations operations, Watch watch, @Nullable String token, Set<String> names, Duration reading)
            throws IOException {
        HttpServer server;
        try {
            server = HttpServer.create(address, BACKLOG);
        } catch (BindException e) {
            throw new IOException("cannot listen for admin HTTP on " + address.getHostString() + ":" + address.getPort()
                    + ": " + e.getMessage() + "; choose another http.port, or stop what uses this one", e);
        }
        AdminServer admin = new AdminServer(server, status, metrics, operations, watch, token, names,
                new SlowReaders(reading));
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

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            Request request = new Request(exchange, authorization, slow);
            if (request.hasBody()) {
                request.send(413, "text/plain", "no request here has a body: say what you want in the path\n");
                return;
            }
            String stranger = request.stranger(names);
            if (stranger != null) {
                request.send(421, "text/plain", "this node is not called " + stranger
                        + ": on its own machine ask localhost, its address, or a host that members have in node.yaml\n");
                return;
            }
            // Whoever supervises the node is answered when others hold all places.
            boolean takesPlace = !String.valueOf(request.path()).startsWith(HEALTH);
            if (takesPlace && !running.tryAcquire()) {
                request.send(503, "text/plain", "too many requests at once\n");
                return;
            }
            try {
                if (!operations.answer(request)) {
                    show(request);
                }
            } catch (RuntimeException e) {
                LOG.error("Cannot answer {}", exchange.getRequestURI(), e);
                request.send(500, "text/plain", "internal error, see the node's log: " + e + "\n");
            } finally {
                if (takesPlace) {
                    running.release();
                }
            }
        }
    }

    private void show(Request request) throws IOException {
        if (!request.reads()) {
            request.notAllowed("GET, HEAD");
            return;
        }
        switch (request.path()) {
            case "/health/live" -> {
                NodeStatus now = status.get();
                health(request, now, now.state() != NodeStatus.State.FAILED);
            }
            case "/health/ready" -> {
                NodeStatus now = status.get();
                health(request, now, now.state() == NodeStatus.State.READY);
            }
            case "/status" -> request.send(200, "application/json", StatusJson.write(status.get()));
            case "/metrics" -> {
                ByteArrayOutputStream page = new ByteArrayOutputStream(16 << 10);
                metrics.writeTo(page);
                request.send(200, "text/plain; version=0.0.4", page.toByteArray());
            }
            case "/history" -> request.send(200, "application/json", watch.history());
            case "/cluster" -> request.send(200, "application/json", watch.cluster());
            case "/activity" -> request.permitted("application/json", watch::activity);
            default -> page(request);
        }
    }

    private static void health(Request request, NodeStatus now, boolean good) throws IOException {
        String state = now.state().name().toLowerCase(Locale.ROOT);
        request.send(good ? 200 : 503, "text/plain",
                (good || now.reason() == null ? state : state + ": " + now.reason()) + "\n");
    }

    private static void page(Request request) throws IOException {
        ClusterPage.Part part = ClusterPage.part(request.path());
        if (part == null) {
            request.send(404, "text/plain",
                    "nothing here; there are /health/live, /health/ready, /metrics, /status, /history, /cluster,"
                            + " /activity, /secondaries, /positions, /members, /parameters, /tables, /comparison, /changes, /backup, /reload,"
                            + " /flight-recording and /\n");
            return;
        }
        request.header("Content-Security-Policy", ClusterPage.POLICY);
        request.header("X-Content-Type-Options", "nosniff");
        request.header("Referrer-Policy", "no-referrer");
        request.send(200, part.type(), part.content());
    }

    /** Stops listening; requests under way are cut off. */
    @Override
    public void close() {
        server.stop(0);
        executor.shutdownNow();
        slow.close();
    }
}
