package tutti.server.watch;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.WebSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A Chromium without a screen with one page, driven by its DevTools protocol. */
final class Browser implements AutoCloseable {
    private static final Pattern LISTENING = Pattern.compile("DevTools listening on ws://([^/]+)/.*");
    private static final int PATIENCE_SECONDS = 30;

    private final Process process;
    private final HttpClient http = HttpClient.newHttpClient();
    private final WebSocket socket;
    private final AtomicInteger last = new AtomicInteger();
    private final Map<Integer, CompletableFuture<JsonNode>> asked = new ConcurrentHashMap<>();

    private Browser(Process process, String address) throws Exception {
        this.process = process;
        HttpRequest page = HttpRequest.newBuilder(URI.create("http://" + address + "/json/new?about:blank"))
                .PUT(HttpRequest.BodyPublishers.noBody()).build();
        JsonNode made = JsonMapper.shared().readTree(http.send(page, HttpResponse.BodyHandlers.ofString()).body());
        socket = http.newWebSocketBuilder().buildAsync(URI.create(made.get("webSocketDebuggerUrl").asString()),
                new Answers()).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private final class Answers implements WebSocket.Listener {
        private final StringBuilder message = new StringBuilder();

        @Override
        public CompletionStage<?> onText(WebSocket from, CharSequence data, boolean isLast) {
            message.append(data);
            if (isLast) {
                JsonNode told = JsonMapper.shared().readTree(message.toString());
                message.setLength(0);
                CompletableFuture<JsonNode> waits = told.has("id") ? asked.remove(told.get("id").asInt()) : null;
                if (waits != null) {
                    waits.complete(told);
                }
            }
            from.request(1);
            return CompletableFuture.completedFuture(null);
        }
    }

    /** Starts one, if there is a Chromium or a Chrome. */
    static Optional<Browser> start(Path profile) throws Exception {
        Optional<Path> program = Stream.of("chromium", "chromium-browser", "google-chrome")
                .map(name -> Path.of("/usr/bin", name)).filter(Files::isExecutable).findFirst();
        if (program.isEmpty()) {
            return Optional.empty();
        }
        Process process = new ProcessBuilder(
                List.of(program.get().toString(), "--headless=new", "--no-sandbox", "--disable-gpu",
                        "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
                        "--window-size=1280,1400",
                        "--remote-debugging-port=0", "--user-data-dir=" + profile))
                .redirectErrorStream(true).start();
        BufferedReader said = new BufferedReader(
                new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        for (String line = said.readLine(); line != null; line = said.readLine()) {
            Matcher listening = LISTENING.matcher(line);
            if (listening.matches()) {
                Thread.ofVirtual().start(() -> said.lines().forEach(_ -> {}));
                return Optional.of(new Browser(process, listening.group(1)));
            }
        }
        throw new IOException(program.get() + " does not listen");
    }

    /** Has the browser do something, by the DevTools protocol. */
    JsonNode call(String method, Map<String, Object> parameters) throws Exception {
        int id = last.incrementAndGet();
        CompletableFuture<JsonNode> answer = new CompletableFuture<>();
        asked.put(id, answer);
        socket.sendText(JsonMapper.shared().writeValueAsString(
                Map.of("id", id, "method", method, "params", parameters)), true)
                .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        JsonNode told = answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        if (told.has("error")) {
            throw new IOException(method + ": " + told.get("error"));
        }
        return told.get("result");
    }

    /** What an expression is in the page, awaited if it is a promise. */
    String value(String expression) throws Exception {
        JsonNode result = call("Runtime.evaluate",
                Map.of("expression", "(async () => String(await (" + expression + ")))()", "awaitPromise", true,
                        "returnByValue", true));
        if (result.has("exceptionDetails")) {
            throw new IOException(expression + ": " + result.get("exceptionDetails"));
        }
        return result.get("result").get("value").asString();
    }

    /** Waits until a condition holds in the page. */
    void until(String condition) throws Exception {
        String held = value("new Promise(done => { const end = Date.now() + " + PATIENCE_SECONDS * 500
                + "; const look = () => "
                + "{ if (" + condition + ") done('held'); else if (Date.now() > end) done(document.body.innerText);"
                + " else requestAnimationFrame(look); }; look(); })");
        if (!held.equals("held")) {
            throw new AssertionError("not before long: " + condition + ", but the page says\n" + held);
        }
    }

    /** Opens a page, and waits until it is there. */
    void open(String url) throws Exception {
        call("Page.navigate", Map.of("url", url));
    }

    /** A key that is pressed: its name, and the character that it gives, if any. */
    void press(String key, String text) throws Exception {
        call("Input.dispatchKeyEvent", text.isEmpty()
                ? Map.of("type", "keyDown", "key", key)
                : Map.of("type", "keyDown", "key", key, "text", text));
        call("Input.dispatchKeyEvent", Map.of("type", "keyUp", "key", key));
    }

    /** Whether the system asks for dark colours. */
    void dark(boolean is) throws Exception {
        call("Emulation.setEmulatedMedia", Map.of("features",
                List.of(Map.of("name", "prefers-color-scheme", "value", is ? "dark" : "light"))));
    }

    @Override
    public void close() {
        // So that it takes its files away; killed if it does not.
        socket.sendText("{\"id\":0,\"method\":\"Browser.close\"}", true);
        process.onExit().completeOnTimeout(process, PATIENCE_SECONDS, TimeUnit.SECONDS).join();
        process.destroyForcibly();
        socket.abort();
        http.shutdownNow();
        process.onExit().join();
    }
}
