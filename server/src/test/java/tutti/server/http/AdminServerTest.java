package tutti.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.node.ReplicaNode;
import tutti.server.metrics.PrometheusNodeMetrics;

class AdminServerTest {
    private final AtomicReference<NodeStatus> status = new AtomicReference<>(status(NodeStatus.State.READY, null));
    private final PrometheusNodeMetrics metrics = new PrometheusNodeMetrics(status::get);
    private final HttpClient client = HttpClient.newHttpClient();
    private AdminServer server;

    @BeforeEach
    void start() throws IOException {
        server = AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), status::get, metrics);
    }

    @AfterEach
    void stop() {
        server.close();
        client.close();
    }

    static NodeStatus status(NodeStatus.State state, @Nullable String reason) {
        return new NodeStatus(1, "b", "shop<", state, reason, "si", "0.1", "PostgreSQL 18.6", "127.0.0.1:5432",
                new NodeStatus.Positions(110, 105, 100, 90), 0, true,
                List.of(new NodeStatus.Member(0, "a", "127.0.0.1:8008", true),
                        new NodeStatus.Member(1, "b", null, true)),
                7, 2, 40, Map.of("certification", 3L), new NodeStatus.OrderStatus(1000, 2000, 50, List.of(2), 3, null),
                1 << 20, 12,
                new NodeStatus.Secondaries(100, List.of(100L, 97L), 1, 30, 4, 1, "23505 <twice>"),
                List.of("public.events"));
    }

    @Test
    void aReadyNodeSaysSo() throws Exception {
        assertEquals(200, get("/health/ready").statusCode());
        assertEquals("ready\n", get("/health/ready").body());
        assertEquals(200, get("/health/live").statusCode());
    }

    private static final Watch WATCH = new Watch() {
        @Override
        public String history() {
            return "{\"h\":1}";
        }

        @Override
        public String cluster() {
            return "{\"c\":1}";
        }

        @Override
        public String activity() {
            return "{\"secret\":1}";
        }
    };

    /** What a node's page shows; what may name rows, only to those who have the token. */
    @Test
    void thePageHasNothingOfRowsWithoutTheToken() throws Exception {
        try (AdminServer watched = AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                status::get, metrics, new Obeying(), WATCH, "sesame")) {
            String url = "http://localhost:" + watched.port();
            HttpRequest.Builder ask = HttpRequest.newBuilder(URI.create(url + "/activity"));
            assertEquals(401, send(ask.copy()).statusCode());
            assertEquals("{\"secret\":1}", send(ask.header("Authorization", "Bearer sesame")).body());
            assertEquals("{\"h\":1}", send(HttpRequest.newBuilder(URI.create(url + "/history"))).body());
            assertEquals("{\"c\":1}", send(HttpRequest.newBuilder(URI.create(url + "/cluster"))).body());
            for (String part : List.of("/", "/page.js", "/page.css")) {
                HttpResponse<String> page = send(HttpRequest.newBuilder(URI.create(url + part)));
                assertEquals(200, page.statusCode());
                assertTrue(page.headers().firstValue("Content-Security-Policy").orElseThrow()
                        .startsWith("default-src 'none';"));
                assertFalse(page.body().contains("://") && !part.equals("/page.js"), "it loads nothing from elsewhere");
            }
        }
    }

    /** Does what it is asked, unless it is broken. */
    private static final class Obeying implements Operations {
        @Override
        public String reload() {
            return "counts now: copies.automatic";
        }

        private final AtomicReference<@Nullable String> broken = new AtomicReference<>();
        private final AtomicReference<String> decided = new AtomicReference<>("");
        private NodeStatus.Secondaries secondaries = new NodeStatus.Secondaries(7, List.of(), 0, 0, 0, 0, null);

        @Override
        public Path writeFlightRecording() throws IOException {
            requireWhole();
            return Path.of("incident");
        }

        @Override
        public NodeStatus.Secondaries secondaries() throws IOException {
            requireWhole();
            return secondaries;
        }

        @Override
        public NodeStatus.Secondaries secondaries(int count) {
            secondaries = new NodeStatus.Secondaries(7, Collections.nCopies(count, 7L), 0, 0, 0, 0, null);
            return secondaries;
        }

        @Override
        public List<NodeStatus.Position> positions() throws IOException {
            requireWhole();
            return List.of(new NodeStatus.Position(17, "0:1.4", false, "23514", "check (secret row)",
                    Map.of(0, "made", 1, "refused"), decided.get()));
        }

        @Override
        public List<NodeStatus.Position> decide(long position, boolean holds) throws IOException {
            requireWhole();
            decided.updateAndGet(before -> before + position + holds);
            return positions();
        }

        @Override
        public String comparison(Map<String, String> step) {
            return new TreeMap<>(step).toString();
        }

        @Override
        public String changes(Map<String, String> step) {
            return new TreeMap<>(step).toString();
        }

        @Override
        public Operations.Download backup(long after) throws IOException {
            requireWhole();
            return out -> out.write(("after " + after).getBytes(StandardCharsets.UTF_8));
        }

        @Override
        public NodeStatus.Members members() throws IOException {
            requireWhole();
            return new NodeStatus.Members(40, List.of(new NodeStatus.Place(0, "a:7400", false),
                    new NodeStatus.Place(3, "d:7400", true)), List.of(2));
        }

        @Override
        public NodeStatus.Parameters parameters() {
            return new NodeStatus.Parameters(7, new TreeMap<>(Map.of("logs", "64")));
        }

        @Override
        public NodeStatus.Parameters change(Map<String, String> wanted) throws IOException {
            if (wanted.containsKey("log")) {
                throw new IOException("nearest: logs");
            }
            decided.set(wanted.toString());
            return new NodeStatus.Parameters(9, new TreeMap<>(wanted));
        }

        @Override
        public NodeStatus.Members change(ReplicaNode.MemberChange change) throws IOException {
            requireWhole();
            decided.set(change.toString());
            return members();
        }

        @Override
        public List<NodeStatus.PlacedTable> tables() {
            return List.of(new NodeStatus.PlacedTable("public.events", List.of(0, 2), true, 41));
        }

        @Override
        public List<NodeStatus.PlacedTable> place(List<String> tables, Set<Integer> nodes) throws IOException {
            requireWhole();
            decided.set(tables + " on " + new TreeSet<>(nodes));
            return tables();
        }

        private void requireWhole() throws IOException {
            String why = broken.get();
            if (why != null) {
                throw new IOException(why);
            }
        }
    }

    /** They name keys of rows, and cost the database something. */
    @Test
    void stepsOfAComparisonAreTakenForThoseWhoHaveTheToken() throws Exception {
        try (AdminServer obeying = AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                status::get, metrics, new Obeying(), WATCH, "sesame")) {
            HttpRequest.Builder step = HttpRequest.newBuilder(URI.create("http://localhost:" + obeying.port()
                    + "/comparison?do=parts&id=-7&table=public.%22a+b%22%26c&rate=1"));
            assertEquals(405, send(step.copy().header("Authorization", "Bearer sesame")).statusCode());
            step.POST(HttpRequest.BodyPublishers.noBody());
            assertEquals(401, send(step.copy()).statusCode());
            HttpResponse<String> taken = send(step.header("Authorization", "Bearer sesame"));
            assertEquals("{do=parts, id=-7, rate=1, table=public.\"a b\"&c}", taken.body());
        }
    }

    /** They are rows. */
    @Test
    void whatIsChangedIsToldToThoseWhoHaveTheToken() throws Exception {
        try (AdminServer obeying = AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                status::get, metrics, new Obeying(), WATCH, "sesame")) {
            HttpRequest.Builder step = HttpRequest.newBuilder(URI.create("http://localhost:" + obeying.port()
                    + "/changes?do=read&after=0/1C2"));
            assertEquals(405, send(step.copy().header("Authorization", "Bearer sesame")).statusCode());
            step.POST(HttpRequest.BodyPublishers.noBody());
            assertEquals(401, send(step.copy()).statusCode());
            assertEquals("{after=0/1C2, do=read}", send(step.header("Authorization", "Bearer sesame")).body());
        }
    }

    /** It is all rows and all that was ordered. */
    @Test
    void aBackupIsSentToThoseWhoHaveTheToken() throws Exception {
        Obeying operations = new Obeying();
        try (AdminServer obeying = AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                status::get, metrics, operations, WATCH, "sesame")) {
            HttpRequest.Builder ask = HttpRequest.newBuilder(URI.create("http://localhost:" + obeying.port()
                    + "/backup?after=17"));
            assertEquals(405, send(ask.copy().header("Authorization", "Bearer sesame")).statusCode());
            ask.POST(HttpRequest.BodyPublishers.noBody());
            assertEquals(401, send(ask.copy()).statusCode());
            ask.header("Authorization", "Bearer sesame");
            assertEquals("after 17", send(ask.copy()).body());
            assertEquals("after -1",
                    send(ask.copy().uri(URI.create("http://localhost:" + obeying.port() + "/backup"))).body());
            operations.broken.set("not now");
            assertEquals(409, send(ask.copy()).statusCode());
        }
    }

    /** An error names rows, which not everybody may see. */
    @Test
    void positionsAreShownAndDecidedForThoseWhoHaveTheToken() throws Exception {
        try (AdminServer obeying = AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                status::get, metrics, new Obeying(), WATCH, "sesame")) {
            String url = "http://localhost:" + obeying.port() + "/positions";
            HttpRequest.Builder look = HttpRequest.newBuilder(URI.create(url));
            HttpResponse<String> unknown = send(look.copy());
            assertEquals(401, unknown.statusCode());
            assertFalse(unknown.body().contains("secret"), unknown.body());
            HttpRequest.Builder known = look.header("Authorization", "Bearer sesame");
            assertEquals(17, StatusJson.readPositions(send(known.copy()).body()).getFirst().position());
            for (String wrong : List.of("", "?skip=", "?skip=-1", "?skip=1x", "?drop=1", "?skip=1&keep=2")) {
                assertEquals(400, send(known.copy().uri(URI.create(url + wrong))
                        .POST(HttpRequest.BodyPublishers.noBody())).statusCode(), wrong);
            }
            HttpResponse<String> skipped = send(known.copy().uri(URI.create(url + "?skip=17"))
                    .POST(HttpRequest.BodyPublishers.noBody()));
            assertEquals("17false", StatusJson.readPositions(skipped.body()).getFirst().verdict());
            HttpResponse<String> kept = send(known.copy().uri(URI.create(url + "?keep=18"))
                    .POST(HttpRequest.BodyPublishers.noBody()));
            assertEquals("17false18true", StatusJson.readPositions(kept.body()).getFirst().verdict());
        }
    }

    @Test
    void membersAreShownToAllAndChangedForThoseWhoHaveTheToken() throws Exception {
        Obeying node = new Obeying();
        try (AdminServer obeying = AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                status::get, metrics, node, WATCH, "sesame")) {
            String url = "http://localhost:" + obeying.port() + "/members";
            NodeStatus.Members members = StatusJson
                    .readMembers(send(HttpRequest.newBuilder(URI.create(url))).body());
            assertEquals(new NodeStatus.Place(3, "d:7400", true), members.nodes().get(1));
            assertEquals(List.of(2), members.removed());
            for (String wrong : List.of("", "?add=3", "?remove=3&order=d:7400", "?remove=256", "?move=1",
                    "?add=3&order=d", "?add=3&order=d:74000", "?move=3&order=d:0",
                    "?drop=1")) {
                assertEquals(400, send(HttpRequest.newBuilder(URI.create(url + wrong))
                        .header("Authorization", "Bearer sesame").POST(HttpRequest.BodyPublishers.noBody()))
                        .statusCode(), wrong);
            }
            HttpRequest.Builder add = HttpRequest.newBuilder(URI.create(url + "?add=3&order=d%3A7400"))
                    .POST(HttpRequest.BodyPublishers.noBody());
            assertEquals(401, send(add.copy()).statusCode());
            assertEquals("", node.decided.get());
            assertEquals(200, send(add.copy().header("Authorization", "Bearer sesame")).statusCode());
            assertEquals(new ReplicaNode.MemberChange.Add(3, "d:7400").toString(), node.decided.get());
        }
    }

    @Test
    void parametersAreShownToAllAndChangedForThoseWhoHaveTheToken() throws Exception {
        Obeying node = new Obeying();
        try (AdminServer obeying = AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                status::get, metrics, node, WATCH, "sesame")) {
            String url = "http://localhost:" + obeying.port() + "/parameters";
            assertEquals(node.parameters(),
                    StatusJson.readParameters(send(HttpRequest.newBuilder(URI.create(url))).body()));
            HttpRequest.Builder change = HttpRequest.newBuilder(URI.create(url + "?logs=7&owners=0%2C1"))
                    .POST(HttpRequest.BodyPublishers.noBody());
            assertEquals(401, send(change.copy()).statusCode());
            assertEquals("", node.decided.get());
            change.header("Authorization", "Bearer sesame");
            assertEquals(403, send(change.copy().header("Origin", "http://elsewhere")).statusCode());
            assertEquals(400, send(change.copy().uri(URI.create(url))).statusCode());
            HttpResponse<String> unknown = send(change.copy().uri(URI.create(url + "?log=7")));
            assertEquals(409, unknown.statusCode());
            assertEquals("nearest: logs\n", unknown.body());
            assertEquals(9, StatusJson.readParameters(send(change.copy()).body()).since());
            assertEquals("{logs=7, owners=0,1}", node.decided.get());
        }
    }

    @Test
    void tablesAreShownToAllAndPlacedForThoseWhoHaveTheToken() throws Exception {
        Obeying node = new Obeying();
        try (AdminServer obeying = AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                status::get, metrics, node, WATCH, "sesame")) {
            String url = "http://localhost:" + obeying.port() + "/tables";
            assertEquals(node.tables(), StatusJson.readTables(send(HttpRequest.newBuilder(URI.create(url))).body()));
            HttpRequest.Builder place = HttpRequest
                    .newBuilder(URI.create(url + "?nodes=2,0&table=public.events&table=%22a%2Cb%22"))
                    .POST(HttpRequest.BodyPublishers.noBody());
            assertEquals(401, send(place.copy()).statusCode());
            place.header("Authorization", "Bearer sesame");
            for (String wrong : List.of("", "?nodes=0,2", "?table=a", "?nodes=0,&table=a",
                    "?nodes=0&nodes=1&table=a")) {
                assertEquals(400, send(place.copy().uri(URI.create(url + wrong))).statusCode(), wrong);
            }
            assertEquals("", node.decided.get());
            assertEquals(node.tables(), StatusJson.readTables(send(place.copy()).body()));
            assertEquals("[public.events, \"a,b\"] on [0, 2]", node.decided.get());
            assertEquals(200, send(place.copy().uri(URI.create(url + "?nodes=all&table=a"))).statusCode());
            assertEquals("[a] on []", node.decided.get());
        }
    }

    @Test
    void secondariesAreShownToAllAndChangedForThoseWhoPost() throws Exception {
        Obeying node = new Obeying();
        try (AdminServer obeying = AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                status::get, metrics, node, WATCH, "sesame")) {
            String url = "http://localhost:" + obeying.port() + "/secondaries";
            HttpRequest.Builder three = HttpRequest.newBuilder(URI.create(url + "?count=3"))
                    .POST(HttpRequest.BodyPublishers.noBody());
            for (String wrong : List.of("Bearer sesam", "sesame", "Basic sesame", "")) {
                HttpResponse<String> refused = send(three.copy().header("Authorization", wrong));
                assertEquals(401, refused.statusCode(), wrong);
            }
            assertEquals(200, send(three.copy().uri(URI.create(url + "?count=0")).header("Authorization",
                    "Bearer sesame")).statusCode());
            HttpResponse<String> unknown = send(three.copy());
            assertEquals(401, unknown.statusCode());
            assertTrue(unknown.body().contains("http-token"), unknown.body());
            three.header("Authorization", "Bearer sesame");
            assertEquals(403, send(three.copy().header("Origin", "http://elsewhere")).statusCode());
            assertEquals(405, send(three.copy().method("DELETE", HttpRequest.BodyPublishers.noBody())).statusCode());
            for (String wrong : List.of("", "?count=", "?count=-1", "?count=17", "?count=99999999999", "?n=1")) {
                HttpResponse<String> refused = send(three.copy().uri(URI.create(url + wrong)));
                assertEquals(400, refused.statusCode(), wrong);
                assertTrue(refused.body().contains("0 to 16"), refused.body());
            }
            assertEquals(List.of(), StatusJson.readSecondaries(send(three.copy().GET()).body()).secondaries(),
                    "only looked at until now");
            assertEquals(200, send(three).statusCode());
            assertEquals(List.of(7L, 7L, 7L),
                    StatusJson.readSecondaries(send(HttpRequest.newBuilder(URI.create(url))).body()).secondaries());
            node.broken.set("the node is starting");
            HttpResponse<String> silent = send(HttpRequest.newBuilder(URI.create(url)));
            assertEquals(409, silent.statusCode());
            assertEquals("the node is starting\n", silent.body());
        }
        assertEquals(409, get("/secondaries").statusCode(), "a node that can only be looked at");
    }

    private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
        return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    @Test
    void aFlightRecordingIsWrittenForThoseWhoPost() throws Exception {
        Obeying node = new Obeying();
        try (AdminServer recorded = AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                status::get, metrics, node, WATCH, "sesame")) {
            HttpRequest.Builder request = HttpRequest
                    .newBuilder(URI.create("http://localhost:" + recorded.port() + "/flight-recording"))
                    .POST(HttpRequest.BodyPublishers.noBody());
            assertEquals(401, send(request.copy()).statusCode());
            request.header("Authorization", "Bearer sesame");
            HttpResponse<String> written = client.send(request.build(), HttpResponse.BodyHandlers.ofString());
            assertEquals(200, written.statusCode());
            assertEquals("incident\n", written.body());
            node.broken.set("the recorder is off");
            HttpResponse<String> refused = client.send(request.build(), HttpResponse.BodyHandlers.ofString());
            assertEquals(409, refused.statusCode());
            assertEquals("the recorder is off\n", refused.body());
            assertEquals(405, client.send(request.copy().GET().build(), HttpResponse.BodyHandlers.ofString())
                    .statusCode());
            assertEquals(403, client.send(request.copy().header("Origin", "http://elsewhere").build(),
                    HttpResponse.BodyHandlers.ofString()).statusCode());
        }
    }

    @Test
    void aRecoveringNodeIsLiveButNotReadyAndSaysWhy() throws Exception {
        status.set(status(NodeStatus.State.RECOVERING, "10 positions behind"));
        assertEquals(503, get("/health/ready").statusCode());
        assertEquals("recovering: 10 positions behind\n", get("/health/ready").body());
        assertEquals(200, get("/health/live").statusCode());
    }

    @Test
    void aFailedNodeIsNotLive() throws Exception {
        status.set(status(NodeStatus.State.FAILED, "disk full"));
        assertEquals(503, get("/health/live").statusCode());
        assertEquals("failed: disk full\n", get("/health/live").body());
    }

    @Test
    void theStatusReadsBackAsItWas() throws Exception {
        HttpResponse<String> response = get("/status");
        assertEquals("application/json; charset=utf-8", response.headers().firstValue("Content-Type").orElse(""));
        assertEquals(status.get(), StatusJson.read(response.body()));
        assertTrue(response.body().contains("\"lag\" : 10"), response.body());
        assertThrows(IllegalArgumentException.class, () -> StatusJson.read("[]"));
    }

    @Test
    void metricsAreInPrometheusTextFormat() throws Exception {
        metrics.committed(1_500_000);
        metrics.committed(30_000_000);
        metrics.aborted("certification");
        metrics.applied(12, 2_000_000);
        String page = get("/metrics").body();
        for (String line : List.of("tutti_transactions_committed_total 2.0",
                "tutti_transactions_aborted_total{cause=\"certification\"} 1.0", "tutti_position_applied 100.0",
                "tutti_lag_positions 10.0", "tutti_commit_latency_seconds_bucket{le=\"0.002\"} 1",
                "tutti_commit_latency_seconds_count 2", "tutti_apply_batch_size_bucket{le=\"16.0\"} 1",
                "tutti_secondaries 2.0", "tutti_secondaries_dropped_total 1.0",
                "tutti_transactions_read_only_total{place=\"primary\"} 4.0",
                "tutti_transactions_read_only_total{place=\"secondary\"} 30.0", "tutti_order_queue_bytes 1000.0",
                "tutti_sessions 7.0", "# TYPE tutti_commit_latency_seconds histogram",
                "tutti_info{database=\"PostgreSQL 18.6\",node=\"b\",protocol=\"si\",version=\"0.1\"} 1.0")) {
            assertTrue(page.contains(line + "\n"), () -> line + " is not in\n" + page);
        }
        assertTrue(page.contains("jvm_memory_used_bytes{area=\"heap\"}"));
        assertEquals(Map.of("certification", 1L), metrics.abortedByCause());
        assertEquals(2, metrics.committedCount());
    }

    @Test
    void otherPathsAndMethodsAreRefused() throws Exception {
        assertEquals(404, get("/nothing").statusCode());
        HttpRequest post = HttpRequest.newBuilder(uri("/status")).POST(HttpRequest.BodyPublishers.noBody()).build();
        assertEquals(405, client.send(post, HttpResponse.BodyHandlers.ofString()).statusCode());
        HttpRequest head = HttpRequest.newBuilder(uri("/status")).HEAD().build();
        assertEquals(200, client.send(head, HttpResponse.BodyHandlers.ofString()).statusCode());
    }

    /** Waiting for a body would hold one of the places for requests. */
    @Test
    void whoPromisesABodyAndDoesNotSendItKeepsNobodyOut() throws Exception {
        List<Socket> silent = new ArrayList<>();
        try {
            for (int i = 0; i < 2 * AdminServer.REQUESTS_MAX; i++) {
                Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
                silent.add(socket);
                String body = i % 2 == 0 ? "Content-Length: 9" : "Transfer-Encoding: chunked";
                socket.getOutputStream().write(("HEAD /status HTTP/1.1\r\nHost: localhost\r\n" + body + "\r\n\r\n")
                        .getBytes(StandardCharsets.US_ASCII));
                String answer = "HTTP/1.1 413 ";
                assertEquals(answer, new String(socket.getInputStream().readNBytes(answer.length()),
                        StandardCharsets.US_ASCII));
            }
            assertEquals("ready\n", get("/health/ready").body());
        } finally {
            for (Socket socket : silent) {
                socket.close();
            }
        }
    }

    /** Asks again and again and reads nothing, until the system keeps no more for it. */
    private static Socket silent(int port) throws IOException {
        Socket socket = new Socket();
        socket.setReceiveBufferSize(4096);
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        askOften(socket);
        return socket;
    }

    private static void askOften(Socket socket) throws IOException {
        socket.getOutputStream().write("GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(1000)
                .getBytes(StandardCharsets.US_ASCII));
    }

    private AdminServer patient(Duration reading) throws IOException {
        return AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), status::get, metrics,
                Operations.NONE, WATCH, null, Set.of(), reading);
    }

    private HttpResponse<String> get(AdminServer from, String path) throws Exception {
        return client.send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + from.port() + path)).build(),
                HttpResponse.BodyHandlers.ofString());
    }

    @Test
    @Timeout(60)
    void whoTakesAllPlacesKeepsNobodyFromHearingOfTheNodesHealth() throws Exception {
        List<Socket> silent = new ArrayList<>();
        try (AdminServer asked = patient(Duration.ofHours(1))) {
            for (int i = 0; i < AdminServer.REQUESTS_MAX; i++) {
                silent.add(silent(asked.port()));
            }
            int code = 200;
            while (code == 200) {
                code = get(asked, "/status").statusCode();
            }
            assertEquals(503, code);
            assertEquals("ready\n", get(asked, "/health/ready").body());
        } finally {
            for (Socket socket : silent) {
                socket.close();
            }
        }
    }

    @Test
    @Timeout(60)
    void whoDoesNotReadIsCutOff() throws Exception {
        try (AdminServer asked = patient(Duration.ofMillis(100)); Socket socket = silent(asked.port())) {
            assertThrows(IOException.class, () -> {
                while (true) {
                    askOften(socket);
                }
            });
            assertEquals(200, get(asked, "/status").statusCode());
        }
    }

    /** Its owner may have any name stand for this machine, and a browser here ask in it. */
    @Test
    void aStrangersNameForThisMachineIsNotAnswered() throws Exception {
        try (AdminServer named = AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                status::get, metrics, Operations.NONE, WATCH, null, Set.of("db1.example.org"))) {
            for (Map.Entry<String, Integer> host : Map.of("rebound.example.com", 421, "localhost.example.com:80", 421,
                    "localhost", 200, "LOCALHOST:8008", 200, "127.0.0.1", 200, "[::1]:8008", 200,
                    "DB1.example.org:8008", 200).entrySet()) {
                try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), named.port())) {
                    socket.getOutputStream().write(("GET /status HTTP/1.1\r\nHost: " + host.getKey()
                            + "\r\nConnection: close\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
                    String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                    assertTrue(answer.startsWith("HTTP/1.1 " + host.getValue() + " "), host + ": " + answer);
                    assertEquals(host.getValue() == 200, answer.contains("\"state\""), answer);
                }
            }
        }
    }

    @Test
    void aConnectionServesSeveralRequests() throws Exception {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
            for (String connection : List.of("keep-alive", "close")) {
                socket.getOutputStream()
                        .write(("GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: " + connection
                                + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
            }
            String answers = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertEquals(3, answers.split("ready\n", -1).length, answers);
        }
    }

    @Test
    void aTakenPortIsReportedWithARemedy() {
        IOException taken = assertThrows(IOException.class,
                () -> AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()),
                        status::get, metrics));
        assertTrue(taken.getMessage().contains("choose another http.port"), taken.getMessage());
    }

    private HttpResponse<String> get(String path) throws Exception {
        return client.send(HttpRequest.newBuilder(uri(path)).build(), HttpResponse.BodyHandlers.ofString());
    }

    private URI uri(String path) {
        return URI.create("http://127.0.0.1:" + server.port() + path);
    }
}
