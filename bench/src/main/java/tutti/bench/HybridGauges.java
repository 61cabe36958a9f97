package tutti.bench;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.cluster.ClusterFile;
import tutti.command.Failure;

/** What the nodes of a cluster tell of requests that wait and of positions they are behind in; of another system, nothing. For one thread at a time. */
final class HybridGauges implements AutoCloseable {
    private static final Pattern BACKLOG = metric("tutti_request_backlog");
    private static final Pattern LAG = metric("tutti_lag_positions");
    private static final Pattern REQUESTS = metric("tutti_requests_undertaken_total");
    private static final Pattern TRANSACTIONS = metric("tutti_requests_transactions_total");

    private final List<ClusterFile.Node> nodes;
    private final HttpClient client = HttpClient.newHttpClient();
    private final ScheduledExecutorService every = Executors.newSingleThreadScheduledExecutor();
    private final List<Sample> samples = new ArrayList<>();
    private @Nullable Future<?> watching;

    /**
     * How it stood.
     *
     * @param second since the first
     * @param backlog requests that had been logged and not executed, of all nodes
     * @param lag positions that were ordered and not visible, at the node that had most
     */
    record Sample(int second, long backlog, long lag) {}

    HybridGauges(Contender.Running system) {
        this.nodes = system instanceof ClusterContender.Started cluster ? cluster.nodes() : List.of();
    }

    private static Pattern metric(String name) {
        return Pattern.compile("(?m)^" + name + "(?:\\{[^}]*\\})? (\\S+)$");
    }

    private static double value(Pattern metric, String page) {
        Matcher found = metric.matcher(page);
        return found.find() ? Double.parseDouble(found.group(1)) : 0;
    }

    private List<String> pages() {
        List<String> pages = new ArrayList<>();
        try {
            for (ClusterFile.Node node : nodes) {
                pages.add(client.send(HttpRequest.newBuilder(URI.create(node.httpUrl() + "/metrics")).build(),
                        HttpResponse.BodyHandlers.ofString()).body());
            }
        } catch (IOException lost) {
            throw new Failure("a node does not tell its metrics: " + lost.getMessage(), "see the logs of the nodes",
                    lost);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new Failure("interrupted while a node was asked for its metrics", "", interrupted);
        }
        return pages;
    }

    /** How it stands. */
    Sample now() {
        return sample(0);
    }

    private Sample sample(int second) {
        long backlog = 0;
        long lag = 0;
        for (String page : pages()) {
            backlog += Math.round(value(BACKLOG, page));
            lag = Math.max(lag, Math.round(value(LAG, page)));
        }
        return new Sample(second, backlog, lag);
    }

    /** Mean number of requests that owners have executed in one transaction since the nodes were started. */
    double together() {
        double requests = 0;
        double transactions = 0;
        for (String page : pages()) {
            requests += value(REQUESTS, page);
            transactions += value(TRANSACTIONS, page);
        }
        return transactions == 0 ? 0 : requests / transactions;
    }

    /** Looks once a second from now on. */
    void watch() {
        if (!nodes.isEmpty()) {
            watching = every.scheduleAtFixedRate(this::look, 1, 1, TimeUnit.SECONDS);
        }
    }

    private void look() {
        synchronized (samples) {
            samples.add(sample(samples.size() + 1));
        }
    }

    /** What was seen since {@link #watch}; looks no more. */
    List<Sample> watched() {
        Future<?> running = watching;
        if (running != null) {
            running.cancel(false);
        }
        synchronized (samples) {
            return List.copyOf(samples);
        }
    }

    @Override
    public void close() {
        every.shutdownNow();
        client.close();
    }
}
