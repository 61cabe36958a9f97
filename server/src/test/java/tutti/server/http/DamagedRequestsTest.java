package tutti.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;
import tutti.server.metrics.PrometheusNodeMetrics;

/**
 * Fuzzing of admin HTTP: requests of those who do not have the token, cut, damaged, repeated, several on a connection. Whatever it is, the server meets no
 * error of its own, has the node do nothing, tells no secret, and answers others. A seed is a whole connection; those that have found something are kept.
 * {@code -Dtutti.fuzz.seconds=N} takes so long for new ones.
 */
@Tag("long")
@Timeout(900)
class DamagedRequestsTest {
    private static final Duration TIME = Duration.ofSeconds(Integer.getInteger("tutti.fuzz.seconds", 15));
    /** Connections that have found something once. */
    private static final long[] KEPT = {9587167116345L};
    private static final String SECRET = "row-of-a-client";
    private static final int REQUESTS_PER_CONNECTION_MAX = 4;
    private static final int CONNECTIONS_PER_LOOK = 16;
    private static final int PATIENCE_MILLIS = 30_000;

    private static final List<String> METHODS = List.of("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE",
            "CONNECT", "get", "", "G\0T");
    private static final List<String> PATHS = List.of("/", "/health/ready", "/health/live", "/metrics", "/status",
            "/history", "/cluster", "/activity", "/secondaries", "/positions", "/members", "/comparison", "/changes",
            "/backup", "/reload", "/flight-recording", "/page.js", "/nothing", "", "*", "//", "/../positions",
            "/positions/", "/%70ositions", "/%00", "/%zz", "http://a/positions", "mailto:a", "http://a:b:c",
            "/a\\b", "x", "/" + "a".repeat(2000));
    private static final List<String> QUERIES = List.of("", "?", "?skip=1", "?keep=999999999999999999", "?count=2",
            "?count=9999", "?add=3&order=a:1", "?remove=0", "?move=255&order=[::1]:1", "?add=999&order=a:99999",
            "?after=1", "?do=parts&id=1", "?do=read&after=0/1", "?%", "?%zz=1", "?a=%ff%fe", "?=&=&&", "?skip=1#x",
            "?" + "a=b&".repeat(500));
    private static final List<String> HEADERS = List.of("Host: a", "Host: localhost", "Host: a\r\nHost: b",
            "Authorization: Bearer",
            "Authorization: Bearer sesam", "Authorization: bearer sesame ", "Authorization: Basic c2VzYW1l",
            "Origin: http://b", "Content-Length: 0", "Content-Length: 3", "Content-Length: -1",
            "Content-Length: 99999999999999999999", "Content-Length: 3\r\nContent-Length: 4",
            "Transfer-Encoding: chunked", "Transfer-Encoding: gzip", "Expect: 100-continue", "Connection: close",
            "Connection: upgrade\r\nUpgrade: h2c", "X: " + "y".repeat(3000), " folded", ":", "a", "\0: \0",
            "Accept: */*\n");
    private static final List<String> BODIES = List.of("", "abc", "3\r\nabc\r\n0\r\n\r\n", "ffffffff\r\n", "-1\r\n",
            "zz\r\n", "GET /status HTTP/1.1\r\n\r\n");

    /** Errors that the server has met, and what the node was asked to do. */
    private static final class Errors extends AppenderBase<ILoggingEvent> {
        final BlockingQueue<String> met = new LinkedBlockingQueue<>();

        @Override
        protected void append(ILoggingEvent event) {
            if (event.getLevel().isGreaterOrEqual(Level.WARN)) {
                met.add(event.getFormattedMessage() + ": " + event.getThrowableProxy());
            }
        }
    }

    private final Errors errors = new Errors();
    private final Logger root = (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    private AdminServer server;

    @BeforeEach
    void start() throws IOException {
        errors.setContext(root.getLoggerContext());
        errors.start();
        root.addAppender(errors);
        NodeStatus status = AdminServerTest.status(NodeStatus.State.READY, null);
        server = AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), () -> status,
                new PrometheusNodeMetrics(() -> status), doesNothing(), watch(), "sesame");
    }

    @AfterEach
    void stop() {
        server.close();
        root.detachAppender(errors);
    }

    /** Whoever does not have the token may look at members and secondaries, and at nothing else. */
    private Operations doesNothing() {
        return (Operations) Proxy.newProxyInstance(getClass().getClassLoader(),
                new Class<?>[]{Operations.class}, (_, method, arguments) -> {
                    if (arguments != null || !List.of("members", "secondaries").contains(method.getName())) {
                        errors.met.add("the node was asked for " + method.getName() + Arrays.toString(arguments));
                    }
                    throw new IOException("not now");
                });
    }

    private static Watch watch() {
        return (Watch) Proxy.newProxyInstance(DamagedRequestsTest.class.getClassLoader(),
                new Class<?>[]{Watch.class},
                (_, method, _) -> method.getName().equals("activity") ? SECRET : "{}");
    }

    private static <T> T any(SplittableRandom random, List<T> of) {
        return of.get(random.nextInt(of.size()));
    }

    private static byte[] request(SplittableRandom random) {
        StringBuilder text = new StringBuilder(any(random, METHODS)).append(' ').append(any(random, PATHS))
                .append(any(random, QUERIES)).append(' ')
                .append(any(random, List.of("HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/", ""))).append("\r\n");
        for (int i = random.nextInt(4); i > 0; i--) {
            text.append(any(random, HEADERS)).append("\r\n");
        }
        byte[] bytes = text.append("\r\n").append(any(random, BODIES)).toString()
                .getBytes(StandardCharsets.ISO_8859_1);
        if (random.nextInt(3) == 0) {
            int at = random.nextInt(bytes.length);
            switch (random.nextInt(3)) {
                case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
                case 1 -> bytes[at] = (byte) random.nextInt(256);
                default -> bytes = Arrays.copyOf(bytes, at);
            }
        }
        return bytes;
    }

    private void run(long seed) throws IOException {
        SplittableRandom random = new SplittableRandom(seed);
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
            socket.setSoTimeout(PATIENCE_MILLIS);
            try {
                for (int i = random.nextInt(REQUESTS_PER_CONNECTION_MAX); i >= 0; i--) {
                    socket.getOutputStream().write(request(random));
                }
                if (random.nextInt(4) > 0) {
                    socket.shutdownOutput();
                    String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                    assertTrue(!answer.contains(SECRET), () -> "seed " + seed + ": " + answer);
                }
            } catch (SocketTimeoutException silent) {
                throw new AssertionError("seed " + seed + ": the server does not hang up", silent);
            } catch (IOException refused) {
                assertTrue(refused.getMessage() != null, "the server may hang up");
            }
        }
        assertEquals(List.of(), new ArrayList<>(errors.met), "seed " + seed);
    }

    private String ask(String path) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
            socket.setSoTimeout(PATIENCE_MILLIS);
            socket.getOutputStream().write(("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    .getBytes(StandardCharsets.US_ASCII));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @Test
    void adminHttpMeetsNoErrorOfItsOwnAndObeysNobody() throws IOException {
        for (long seed : KEPT) {
            run(seed);
        }
        long end = System.nanoTime() + TIME.toNanos();
        long seed = System.nanoTime();
        int connections = 0;
        while (System.nanoTime() < end) {
            run(seed++);
            if (++connections % CONNECTIONS_PER_LOOK == 0) {
                assertTrue(ask("/health/ready").endsWith("\r\n\r\nready\n"), "before seed " + seed);
            }
        }
        assertTrue(connections >= CONNECTIONS_PER_LOOK, connections + " were tried");
        assertPlacesAreGivenBack();
    }

    /** Connections that end in the wrong moment, such as while the answer is sent, do not count as open. */
    private void assertPlacesAreGivenBack() throws IOException {
        List<Socket> silent = new ArrayList<>();
        try {
            for (int i = 0; i < AdminServer.CONNECTIONS_MAX - CONNECTIONS_PER_LOOK; i++) {
                silent.add(new Socket(InetAddress.getLoopbackAddress(), server.port()));
            }
            assertTrue(ask("/health/ready").endsWith("ready\n"), "places are given back");
        } finally {
            for (Socket socket : silent) {
                socket.close();
            }
        }
    }

    /** One that is never complete would keep a thread, a connection and what has come of it. */
    @Test
    void aRequestThatDoesNotEndIsCutOff() throws IOException {
        long begun = System.nanoTime();
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
            socket.setSoTimeout(PATIENCE_MILLIS);
            socket.getOutputStream().write("GET /sta".getBytes(StandardCharsets.US_ASCII));
            assertEquals(-1, socket.getInputStream().read());
        }
        assertTrue(System.nanoTime() - begun >= TimeUnit.SECONDS.toNanos(AdminServer.REQUEST_SECONDS_MAX - 1),
                "it had no time");
    }

    @Test
    void connectionsHaveABound() throws IOException {
        List<Socket> many = new ArrayList<>();
        try {
            boolean refused = false;
            for (int i = 0; i < AdminServer.CONNECTIONS_MAX + 1; i++) {
                Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
                many.add(socket);
                if (i == AdminServer.CONNECTIONS_MAX) {
                    socket.setSoTimeout(PATIENCE_MILLIS);
                    refused = socket.getInputStream().read() == -1;
                }
            }
            assertTrue(refused, "all were taken");
        } finally {
            for (Socket socket : many) {
                socket.close();
            }
        }
        assertTrue(ask("/health/ready").endsWith("ready\n"), "places are given back");
    }
}
