package tutti.cli.cluster;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import tutti.node.http.NodeStatus;
import tutti.node.http.StatusJson;

/** Asks nodes for their status over admin HTTP. Safe for several threads. */
public final class StatusClient implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(PATIENCE).build();

    /** What asking a node brought: a status, or why there is none. */
    public sealed interface Answer {
        /** It answered. */
        record Status(NodeStatus status) implements Answer {}

        /** It did not, or with something else. */
        record Silence(String why) implements Answer {}
    }

    /**
     * Asks one node; waits at most two seconds.
     *
     * @param httpUrl its address, {@code http://host:port}
     */
    public Answer ask(String httpUrl) {
        try {
            HttpRequest request = HttpRequest.newBuilder(URI.create(httpUrl).resolve("/status")).timeout(PATIENCE)
                    .build();
            HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
            if (response.statusCode() != 200) {
                return new Answer.Silence("HTTP status " + response.statusCode());
            }
            return new Answer.Status(StatusJson.read(response.body()));
        } catch (IOException e) {
            return new Answer.Silence(e.getMessage() == null ? "cannot be reached" : e.getMessage());
        } catch (IllegalArgumentException e) {
            return new Answer.Silence(e.getMessage());
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
            return new Answer.Silence("interrupted");
        }
    }

    @Override
    public void close() {
        http.shutdownNow();
    }
}
