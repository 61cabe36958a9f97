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
    private final Duration patience;
    private final HttpClient http;

    /** Asks nobody yet; each node may take two seconds to answer. */
    public StatusClient() {
        this(Duration.ofSeconds(2));
    }

    /**
     * Asks nobody yet.
     *
     * @param patience how long a node may take to answer
     */
    public StatusClient(Duration patience) {
        this.patience = patience;
        http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(patience).build();
    }

    /** What asking a node brought: a status, or why there is none. */
    public sealed interface Answer {
        /** It answered. */
        record Status(NodeStatus status) implements Answer {}

        /** It did not, or with something else. */
        record Silence(String why) implements Answer {}
    }

    /**
     * Asks one node; waits as long as its patience lasts.
     *
     * @param httpUrl its address, {@code http://host:port}
     */
    public Answer ask(String httpUrl) {
        try {
            HttpRequest request = HttpRequest.newBuilder(URI.create(httpUrl).resolve("/status")).timeout(patience)
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
