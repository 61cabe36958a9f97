package tutti.cli;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tools.jackson.databind.json.JsonMapper;
import tutti.cluster.AdminClient;
import tutti.cluster.ChosenNodes;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.server.config.NodeConfig;
import tutti.server.http.NodeStatus;
import tutti.server.http.StatusJson;

/** Shows or changes how many copies of their databases running nodes have. */
@Command(name = "secondaries", description = "Show the secondaries of running nodes with H2 or HSQLDB: copies of a node's"
        + " database in memory, which take read-only transactions off it. With COUNT, have every chosen node make some or"
        + " give some up until it has so many; clients go on meanwhile. It stays so until it is changed again; a node whose"
        + " process starts has what its configuration says. Exit status 1 if a node has refused or could not be reached, or"
        + " has fewer than COUNT.")
final class SecondariesCommand implements Callable<Integer> {
    /** A large database takes its time to be copied. */
    private static final Duration PATIENCE = Duration.ofHours(1);

    @Parameters(paramLabel = "COUNT", arity = "0..1", description = "How many there are to be, 0 to 16.")
    private @Nullable Integer wanted;

    @Mixin
    private ChosenNodes nodes = new ChosenNodes();

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    /**
     * What a node answered.
     *
     * @param node its name, or where it was asked
     * @param url where it was asked
     * @param secondaries how they are; null if it did not say
     * @param error why not; null if it did
     */
    record Line(String node, String url, NodeStatus.@Nullable Secondaries secondaries, @Nullable String error) {}

    @Override
    public Integer call() throws InterruptedException {
        Integer count = wanted;
        if (count != null && (count < 0 || count > NodeConfig.InProcess.SECONDARIES_MAX)) {
            throw Failure.usage(
                    "a node has 0 to " + NodeConfig.InProcess.SECONDARIES_MAX + " secondaries, not " + count,
                    "");
        }
        Screen screen = Screen.standard(spec.commandLine().getOut());
        List<Line> lines = new ArrayList<>();
        try (AdminClient client = new AdminClient(PATIENCE)) {
            for (ChosenNodes.Chosen node : nodes.all()) {
                if (count != null && !json) {
                    screen.live(List.of("node " + node.name() + ": making it " + count + " ..."));
                }
                lines.add(line(node, count == null
                        ? client.get(node.url(), "/secondaries")
                        : client.post(node.url(), "/secondaries?count=" + count, node.token())));
            }
        }
        screen.live(List.of());
        if (json) {
            screen.line(JsonMapper.shared().writerWithDefaultPrettyPrinter().writeValueAsString(lines));
        } else {
            show(lines, screen);
        }
        return lines.stream().allMatch(line -> well(line, count)) ? Program.OK : Program.FAILURE;
    }

    private static Line line(ChosenNodes.Chosen node, AdminClient.Answer answer) {
        if (!answer.well()) {
            return new Line(node.name(), node.url(), null, answer.text());
        }
        try {
            return new Line(node.name(), node.url(), StatusJson.readSecondaries(answer.text()), null);
        } catch (IllegalArgumentException other) {
            return new Line(node.name(), node.url(), null, String.valueOf(other.getMessage()));
        }
    }

    private static boolean well(Line line, @Nullable Integer count) {
        NodeStatus.Secondaries now = line.secondaries();
        return now != null && (count == null || now.secondaries().size() == count);
    }

    private static void show(List<Line> lines, Screen screen) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("node", "secondaries", "positions behind", "reads there", "reads at primary", ""));
        for (Line line : lines) {
            NodeStatus.Secondaries now = line.secondaries();
            if (now == null) {
                rows.add(List.of(line.node(), "-", "-", "-", "-", String.valueOf(line.error())));
            } else {
                rows.add(List.of(line.node(), now.inWords(), behind(now), String.valueOf(now.readsAtSecondaries()),
                        String.valueOf(now.readsAtPrimary()),
                        now.lastFailure() == null ? "" : "last dropped: " + now.lastFailure()));
            }
        }
        Screen.table(rows).forEach(screen::line);
    }

    private static String behind(NodeStatus.Secondaries now) {
        return now.secondaries().isEmpty()
                ? "-"
                : now.secondaries().stream().map(at -> String.valueOf(now.position() - at))
                        .collect(Collectors.joining(", "));
    }
}
