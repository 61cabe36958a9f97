package tutti.cluster;

import java.time.Duration;
import tutti.command.Failure;
import tutti.server.http.NodeStatus;
import tutti.server.http.StatusJson;

/** Asks nodes for their status over admin HTTP. Safe for several threads. */
public final class StatusClient implements AutoCloseable {
    private final AdminClient http;

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
        http = new AdminClient(patience);
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
            AdminClient.Answer answer = http.get(httpUrl, "/status");
            return answer.well()
                    ? new Answer.Status(StatusJson.read(answer.text()))
                    : new Answer.Silence(answer.text());
        } catch (Failure | IllegalArgumentException e) {
            return new Answer.Silence(String.valueOf(e.getMessage()));
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
            return new Answer.Silence("interrupted");
        }
    }

    @Override
    public void close() {
        http.close();
    }
}
