package tutti.cli;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.cluster.ChosenNodes;
import tutti.cluster.StatusClient;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.server.http.NodeStatus;

/** Shows again and again how running nodes are, and what they do per second. */
@Command(name = "top", description = "Show what running nodes do, again and again until Ctrl-C: transactions per second, aborts by"
        + " cause, lag, sessions, log and memory. On a terminal in place; otherwise one block after the other.")
final class TopCommand implements Callable<Integer> {
    private static final Duration PATIENCE = Duration.ofSeconds(2);
    private static final int CAUSES_MAX = 3;

    @Mixin
    private ChosenNodes nodes = new ChosenNodes();

    @Option(names = "--interval", paramLabel = "SECONDS", defaultValue = "1", description = "From one look to the next (default: ${DEFAULT-VALUE}).")
    private int interval;

    @Option(names = "--count", paramLabel = "N", defaultValue = "0", description = "End after so many; 0 to go on (default: ${DEFAULT-VALUE}).")
    private int count;

    @Spec
    private CommandSpec spec;

    /**
     * A look at a node.
     *
     * @param name of the node, for people
     * @param status null if it did not answer
     * @param nanos when
     */
    record Look(String name, @Nullable NodeStatus status, long nanos) {}

    @Override
    public Integer call() throws InterruptedException {
        if (interval < 1 || interval > 3600 || count < 0) {
            throw Failure.usage("--interval must be from 1 to 3600 seconds, and --count 0 or more", "");
        }
        Screen screen = Screen.standard(spec.commandLine().getOut());
        List<ChosenNodes.Chosen> chosen = nodes.all();
        CountDownLatch never = new CountDownLatch(1);
        List<Look> before = List.of();
        try (StatusClient client = new StatusClient(PATIENCE)) {
            for (int shown = 0; count == 0 || shown < count; shown++) {
                List<Look> now = look(client, chosen);
                List<String> lines = lines(before, now, screen);
                if (screen.isTerminal()) {
                    screen.live(lines);
                } else {
                    lines.forEach(screen::line);
                }
                before = now;
                if (shown + 1 != count) {
                    boolean _ = never.await(interval, TimeUnit.SECONDS);
                }
            }
        }
        return before.stream().anyMatch(look -> look.status() != null) ? Program.OK : Program.FAILURE;
    }

    /** All are asked at the same time: a lag is the difference between what two of them say. */
    private static List<Look> look(StatusClient client, List<ChosenNodes.Chosen> chosen) throws InterruptedException {
        List<Future<Look>> asked = new ArrayList<>();
        try (ExecutorService all = Executors.newVirtualThreadPerTaskExecutor()) {
            for (ChosenNodes.Chosen node : chosen) {
                asked.add(all.submit(() -> switch (client.ask(node.url())) {
                    case StatusClient.Answer.Status(NodeStatus status) -> new Look(
                            status.node() + " " + status.name(), status, System.nanoTime());
                    case StatusClient.Answer.Silence _ -> new Look(node.name(), null, System.nanoTime());
                }));
            }
        }
        List<Look> looks = new ArrayList<>();
        for (Future<Look> each : asked) {
            try {
                looks.add(each.get());
            } catch (ExecutionException failed) {
                throw new IllegalStateException(failed.getCause());
            }
        }
        return looks;
    }

    /** What is shown: a line for each node, one for all, and the causes of aborts since the last look. */
    static List<String> lines(List<Look> before, List<Look> now, Screen screen) {
        long known = now.stream().filter(look -> look.status() != null)
                .mapToLong(look -> look.status().positions().known()).max().orElse(0);
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("node", "state", "commits/s", "aborts/s", "position", "lag", "sessions", "in flight", "queue",
                "log", "heap", ""));
        Map<String, Double> causes = new TreeMap<>();
        double commits = 0;
        double aborts = 0;
        int sessions = 0;
        for (int i = 0; i < now.size(); i++) {
            Look look = now.get(i);
            NodeStatus status = look.status();
            if (status == null) {
                rows.add(List.of(look.name(), "silent"));
                continue;
            }
            Look last = i < before.size() ? before.get(i) : null;
            NodeStatus earlier = last == null ? null : last.status();
            double seconds = last == null ? 0 : (look.nanos() - last.nanos()) / 1e9;
            // A node that was started anew counts from the beginning.
            boolean goesOn = earlier != null && earlier.uptimeSeconds() <= status.uptimeSeconds();
            double committed = goesOn ? (status.committed() - earlier.committed()) / seconds : Double.NaN;
            double aborted = 0;
            for (Map.Entry<String, Long> cause : status.aborted().entrySet()) {
                double rate = goesOn
                        ? (cause.getValue() - earlier.aborted().getOrDefault(cause.getKey(), 0L)) / seconds
                        : Double.NaN;
                aborted += rate;
                if (rate > 0) {
                    causes.merge(cause.getKey(), rate, Double::sum);
                }
            }
            if (!goesOn) {
                aborted = Double.NaN;
            }
            commits += Double.isNaN(committed) ? 0 : committed;
            aborts += Double.isNaN(aborted) ? 0 : aborted;
            sessions += status.sessions();
            boolean leads = status.leader() != null && status.leader() == status.node();
            rows.add(List.of(look.name(), status.state().name().toLowerCase(Locale.ROOT), rate(committed),
                    rate(aborted), String.valueOf(status.positions().applied()),
                    String.valueOf(Math.max(0, known - status.positions().applied())),
                    String.valueOf(status.sessions()), String.valueOf(status.inFlight()),
                    bytes(status.order().queuedBytes()), bytes(status.order().logBytes()),
                    bytes(status.heapUsedBytes()),
                    (leads ? "leads " : "") + (status.reason() == null ? "" : status.reason())));
        }
        rows.add(List.of("all", "", rate(commits), rate(aborts), String.valueOf(known), "", String.valueOf(sessions)));
        List<String> lines = new ArrayList<>(Screen.table(rows));
        lines.set(0, screen.bold(lines.getFirst()));
        String why = causes.entrySet().stream().sorted(Map.Entry.<String, Double>comparingByValue().reversed())
                .limit(CAUSES_MAX).map(cause -> cause.getKey() + " " + rate(cause.getValue()))
                .reduce((one, other) -> one + ", " + other).orElse("none");
        lines.add(screen.dim("aborts per second by cause: " + why));
        return lines;
    }

    private static String rate(double perSecond) {
        return Double.isNaN(perSecond) ? "-" : String.format(Locale.ROOT, perSecond < 10 ? "%.1f" : "%.0f", perSecond);
    }

    private static String bytes(long bytes) {
        return bytes >= 10L << 30
                ? (bytes >> 30) + " GiB"
                : bytes >= 10L << 20 ? (bytes >> 20) + " MiB" : (bytes >> 10) + " KiB";
    }
}
