package tutti.node.http;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers operators and their tools: {@code /health/live}, {@code /health/ready}, {@code /metrics}, {@code /status} and a
 * page for people at {@code /}. {@code POST /flight-recording} has the node write what its flight recorder keeps to a file.
 * Nothing else can be changed here, and nothing asks for a password; it belongs on loopback or behind a firewall. A
 * request that a page of another site has a browser send is refused.
 *
 * <p>
 * Every request runs on a virtual thread of its own, at most {@value #REQUESTS_MAX} at a time; one more is answered 503.
 */
public final class AdminServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(AdminServer.class);
    private static final int REQUESTS_MAX = 32;
    private static final int BACKLOG = 32;

    private final HttpServer server;
    private final ExecutorService executor;
    private final Semaphore running = new Semaphore(REQUESTS_MAX);
    private final Supplier<NodeStatus> status;
    private final MetricsPage metrics;
    private final Recordings recordings;

    /** Writes all metrics in the Prometheus text format. */
    public interface MetricsPage {
        /** Writes and flushes, does not close. */
        void writeTo(OutputStream out) throws IOException;
    }

    /** Writes flight recordings. */
    public interface Recordings {
        /**
         * Writes one; from any thread, and may block.
         *
         * @return the file
         * @throws IOException if there is nothing to write or it cannot be written; the message says why
         */
        Path write() throws IOException;
    }

    private AdminServer(HttpServer server, Supplier<NodeStatus> status, MetricsPage metrics, Recordings recordings) {
        this.server = server;
        this.recordings = recordings;
        this.status = status;
        this.metrics = metrics;
        executor = Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("admin-", 0).factory());
        server.setExecutor(executor);
        server.createContext("/", this::handle);
    }

    /** As below, of a node without a flight recorder. */
    public static AdminServer start(InetSocketAddress address, Supplier<NodeStatus> status, MetricsPage metrics)
            throws IOException {
        return start(address, status, metrics, () -> {
            throw new IOException("this node has no flight recorder");
        });
    }

    /**
     * Begins to listen.
     *
     * @param address port 0 takes a free one, see {@link #port()}
     * @param status asked once per request, from any thread; must not block
     * @param metrics asked likewise
     * @param recordings of the flight recorder
     * @throws IOException if the address cannot be listened on; the message names it and what to do
     */
    public static AdminServer start(InetSocketAddress address, Supplier<NodeStatus> status, MetricsPage metrics,
            Recordings recordings) throws IOException {
        HttpServer server;
        try {
            server = HttpServer.create(address, BACKLOG);
        } catch (BindException e) {
            throw new IOException("cannot listen for admin HTTP on " + address.getHostString() + ":" + address.getPort()
                    + ": " + e.getMessage() + "; choose another http.port, or stop what uses this one", e);
        }
        AdminServer admin = new AdminServer(server, status, metrics, recordings);
        server.start();
        return admin;
    }

    /** The port that it listens on. */
    public int port() {
        return server.getAddress().getPort();
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
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
        if (exchange.getRequestURI().getPath().equals("/flight-recording")) {
            record(exchange, method);
            return;
        }
        if (!method.equals("GET") && !method.equals("HEAD")) {
            exchange.getResponseHeaders().set("Allow", "GET, HEAD");
            send(exchange, 405, "text/plain", "only GET and HEAD\n");
            return;
        }
        switch (exchange.getRequestURI().getPath()) {
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
            case "/" -> send(exchange, 200, "text/html", StatusPage.write(status.get()));
            default -> send(exchange, 404, "text/plain",
                    "nothing here; there are /health/live, /health/ready, /metrics, /status, /flight-recording and /\n");
        }
    }

    private void record(HttpExchange exchange, String method) throws IOException {
        if (!method.equals("POST")) {
            exchange.getResponseHeaders().set("Allow", "POST");
            send(exchange, 405, "text/plain", "only POST\n");
        } else if (exchange.getRequestHeaders().containsKey("Origin")) {
            send(exchange, 403, "text/plain", "not for pages in a browser\n");
        } else {
            String file;
            try {
                file = recordings.write().toString();
            } catch (IOException broken) {
                send(exchange, 409, "text/plain", broken.getMessage() + "\n");
                return;
            }
            send(exchange, 200, "text/plain", file + "\n");
        }
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
        exchange.getResponseBody().write(body);
    }

    /** Stops listening; requests under way are cut off. */
    @Override
    public void close() {
        server.stop(0);
        executor.shutdownNow();
    }
}
