package tutti.server.watch;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tutti.server.http.NodeStatus;
import tutti.server.http.Watch;

/**
 * What a node's page shows: the node itself from its {@link History} and {@link Activity}, the others as they tell of themselves over HTTP when they
 * are asked, which is once a second at most, however many look. From any thread.
 */
public final class ClusterWatch implements Watch, AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(1);
    private static final long FRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(900);
    private static final int ANSWER_BYTES_MAX = 1 << 20;
    private static final JsonMapper JSON = JsonMapper.shared();

    private final History history;
    private final Activity activity;
    /** Guards what is below. */
    private final ReentrantLock asking = new ReentrantLock();
    private @Nullable String gathered;
    private long gatheredNanos;
    /** Made when somebody looks. */
    private @Nullable HttpClient client;

    /**
     * A node of the cluster.
     *
     * @param id its id
     * @param name its name
     * @param http where it is asked; null if the configuration does not say
     * @param told what it told; null if it did not
     * @param silence why not; null if it did
     */
    public record Seen(int id, String name, @Nullable String http, @Nullable JsonNode told, @Nullable String silence) {}

    /**
     * The cluster.
     *
     * @param by id of the node that tells
     * @param nodes ascending
     */
    public record Cluster(int by, List<Seen> nodes) {}

    /** A watch of a node that has these. */
    public ClusterWatch(History history, Activity activity) {
        this.history = history;
        this.activity = activity;
    }

    @Override
    public String history() {
        return JSON.writeValueAsString(history.told());
    }

    @Override
    public String activity() {
        return JSON.writeValueAsString(activity.seen());
    }

    @Override
    public String cluster() {
        asking.lock();
        try {
            String recent = gathered;
            if (recent == null || System.nanoTime() - gatheredNanos > FRESH_NANOS) {
                recent = gather();
                gathered = recent;
                gatheredNanos = System.nanoTime();
            }
            return recent;
        } finally {
            asking.unlock();
        }
    }

    private String gather() {
        History.Told own = history.told();
        List<CompletableFuture<Seen>> asked = new ArrayList<>();
        for (NodeStatus.Member member : own.status().members()) {
            asked.add(member.id() == own.status().node()
                    ? CompletableFuture.completedFuture(new Seen(member.id(), member.name(), member.http(),
                            JSON.valueToTree(own), null))
                    : ask(member));
        }
        return JSON.writeValueAsString(
                new Cluster(own.status().node(), asked.stream().map(CompletableFuture::join).toList()));
    }

    private CompletableFuture<Seen> ask(NodeStatus.Member member) {
        if (member.http() == null) {
            return CompletableFuture
                    .completedFuture(silent(member, "the configuration does not say where its HTTP is"));
        }
        HttpRequest request;
        try {
            request = HttpRequest.newBuilder(URI.create("http://" + member.http() + "/history")).timeout(PATIENCE)
                    .build();
        } catch (IllegalArgumentException invalid) {
            return CompletableFuture
                    .completedFuture(silent(member, "its HTTP address is none: " + invalid.getMessage()));
        }
        HttpClient present = client;
        if (present == null) {
            present = HttpClient.newBuilder().connectTimeout(PATIENCE).version(HttpClient.Version.HTTP_1_1)
                    .executor(task -> Thread.ofVirtual().name("tutti-watch").start(task)).build();
            client = present;
        }
        return present.sendAsync(request,
                HttpResponse.BodyHandlers.limiting(HttpResponse.BodyHandlers.ofString(), ANSWER_BYTES_MAX))
                .handle((answer, failed) -> {
                    if (failed != null || answer.statusCode() != 200) {
                        return silent(member, "its HTTP does not answer");
                    }
                    try {
                        return new Seen(member.id(), member.name(), member.http(), JSON.readTree(answer.body()), null);
                    } catch (JacksonException other) {
                        return silent(member, "its HTTP is not that of a node: " + other.getOriginalMessage());
                    }
                });
    }

    private static Seen silent(NodeStatus.Member member, String why) {
        return new Seen(member.id(), member.name(), member.http(), null, why);
    }

    /** Asks nobody any more. */
    @Override
    public void close() {
        history.close();
        asking.lock();
        try {
            if (client != null) {
                client.shutdownNow();
                client = null;
            }
        } finally {
            asking.unlock();
        }
    }
}
