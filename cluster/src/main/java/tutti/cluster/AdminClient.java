package tutti.cluster;

import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import tutti.command.Failure;

/** Asks nodes to do something, over admin HTTP. Safe for several threads. */
public final class AdminClient implements AutoCloseable {
    private static final int UNANSWERED = 504;
    private static final Duration CONNECTING_MAX = Duration.ofSeconds(5);

    private final Duration patience;
    private final HttpClient http;

    /**
     * Asks nobody yet.
     *
     * @param patience how long a node may take to answer
     */
    public AdminClient(Duration patience) {
        this.patience = patience;
        http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(patience.compareTo(CONNECTING_MAX) < 0 ? patience : CONNECTING_MAX).build();
    }

    /**
     * What a node answered.
     *
     * @param well whether it did what it was asked
     * @param perhaps whether it may have done so, or do so yet, although it was not heard to
     * @param text what it said, or why it could not be reached, without a line break at the end
     */
    public record Answer(boolean well, boolean perhaps, String text) {}

    /**
     * Looks at something.
     *
     * @param url of the node's admin HTTP
     * @throws Failure if that is no address
     */
    public Answer get(String url, String path) throws InterruptedException {
        return get(url, path, "");
    }

    /**
     * Likewise, at what not everybody may see.
     *
     * @param token of the node; nothing if it is not known
     */
    public Answer get(String url, String path, String token) throws InterruptedException {
        return send(url, path, with(token, HttpRequest.newBuilder()));
    }

    /**
     * Has it do something; likewise.
     *
     * @param token of the node; nothing if it is not known
     */
    public Answer post(String url, String path, String token) throws InterruptedException {
        return send(url, path, with(token, HttpRequest.newBuilder().POST(HttpRequest.BodyPublishers.noBody())));
    }

    /** Takes what a node sends. */
    @FunctionalInterface
    public interface Receiver {
        /** All of it, up to the end of the stream. */
        void receive(InputStream from) throws IOException;
    }

    /**
     * Has it send something large.
     *
     * @return why it does not; nothing if it was received
     * @throws IOException if it was not received whole
     */
    public String download(String url, String path, String token, Receiver receiver)
            throws IOException, InterruptedException {
        HttpResponse<InputStream> answer;
        try {
            answer = http.send(with(token, HttpRequest.newBuilder(URI.create(url).resolve(path)).timeout(patience)
                    .POST(HttpRequest.BodyPublishers.noBody())).build(), HttpResponse.BodyHandlers.ofInputStream());
        } catch (ConnectException | HttpTimeoutException silent) {
            return "cannot be reached" + why(silent);
        }
        try (InputStream in = answer.body()) {
            if (answer.statusCode() != 200) {
                return new String(in.readAllBytes(), StandardCharsets.UTF_8).strip();
            }
            receiver.receive(in);
            return "";
        }
    }

    private static HttpRequest.Builder with(String token, HttpRequest.Builder request) {
        return token.isEmpty() ? request : request.header("Authorization", "Bearer " + token);
    }

    private static String why(IOException silence) {
        return silence.getMessage() == null ? "" : ": " + silence.getMessage();
    }

    private Answer send(String url, String path, HttpRequest.Builder request) throws InterruptedException {
        try {
            HttpResponse<String> answer = http.send(
                    request.uri(URI.create(url).resolve(path)).timeout(patience).build(),
                    HttpResponse.BodyHandlers.ofString());
            return new Answer(answer.statusCode() == 200, answer.statusCode() == UNANSWERED, answer.body().strip());
        } catch (ConnectException | HttpConnectTimeoutException silent) {
            return new Answer(false, false, "cannot be reached" + why(silent));
        } catch (IOException broken) {
            return new Answer(false, true, "does not answer" + why(broken));
        } catch (IllegalArgumentException wrong) {
            throw Failure.usage(url + " is no address of a node: " + wrong.getMessage(), "give http://host:port");
        }
    }

    @Override
    public void close() {
        http.shutdownNow();
    }
}
