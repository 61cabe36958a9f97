package tutti.cli.compare;

import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.json.JsonMapper;
import tutti.cluster.AdminClient;
import tutti.cluster.ChosenNodes;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;

/** Compares the databases of running nodes. */
@Command(name = "compare", description = "Compare the databases of running nodes, all tables at one position of the total"
        + " order, while clients work. A difference is told by table and key. Rows do not leave their node. Exit status 0 if"
        + " all nodes were compared and are identical; otherwise 1.")
public final class CompareCommand implements Callable<Integer> {
    /** A large database takes its time to be read. */
    private static final Duration PATIENCE = Duration.ofDays(7);
    private static final int DIFFERENCES_MAX = 10_000;

    @Mixin
    private ChosenNodes nodes = new ChosenNodes();

    @Option(names = "--bytes-per-second", paramLabel = "N", defaultValue = "33554432", description = "What each node reads in a second at most (default: ${DEFAULT-VALUE}). It never reads for more than half of the time.")
    private long bytesPerSecond;

    @Option(names = "--differences", paramLabel = "N", defaultValue = "10", description = "Most rows to name per table (default: ${DEFAULT-VALUE}).")
    private int differences;

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        if (bytesPerSecond < 1 || differences < 1 || differences > DIFFERENCES_MAX) {
            throw Failure.usage("--bytes-per-second must be 1 or more, and --differences from 1 to " + DIFFERENCES_MAX,
                    "");
        }
        Screen screen = Screen.standard(spec.commandLine().getOut());
        List<ChosenNodes.Chosen> chosen = nodes.all();
        if (!json) {
            screen.live(List.of("reading the tables of " + chosen.size() + " nodes ..."));
        }
        Comparison.Result result;
        try (AdminClient client = new AdminClient(PATIENCE)) {
            result = new Comparison(client, chosen, new SecureRandom().nextLong(), bytesPerSecond, differences).run();
        } finally {
            screen.live(List.of());
        }
        if (json) {
            screen.line(JsonMapper.shared().writerWithDefaultPrettyPrinter().writeValueAsString(result));
        } else {
            show(result, screen);
        }
        return result.identical() ? Program.OK : Program.FAILURE;
    }

    private static void show(Comparison.Result result, Screen screen) {
        screen.line(
                Screen.count(result.tables(), "table") + " with " + Screen.count(result.rows(), "row") + " at position "
                        + result.position()
                        + " of nodes " + String.join(", ", result.nodes()));
        result.differences().forEach(each -> screen.line(screen.bad(text(each))));
        result.failures()
                .forEach((node, why) -> screen.line(screen.bad("not compared at node " + node + ": " + why)));
        if (result.identical()) {
            screen.line(screen.good("identical"));
        }
    }

    private static String text(Comparison.Difference difference) {
        return switch (difference.kind()) {
            case "table" -> "table " + difference.table() + ": " + groups(difference.nodes());
            case "definition" -> difference.table() + ", " + difference.key() + ": " + groups(difference.nodes());
            case "row" -> difference.table() + " " + difference.key() + ": " + groups(difference.nodes());
            default -> difference.table() + ": there are differences that are not named";
        };
    }

    /** Who has the same. */
    private static String groups(Map<String, String> nodes) {
        Map<String, List<String>> groups = new TreeMap<>();
        nodes.forEach((node, has) -> groups.computeIfAbsent(has, _ -> new ArrayList<>()).add(node));
        boolean one = groups.size() == 2 && groups.containsKey("nothing");
        List<String> texts = new ArrayList<>();
        groups.forEach((has, who) -> texts.add(
                (has.equals("nothing") ? "not there at " : one ? "there at " : "")
                        + (who.size() == 1 ? "node " : "nodes ") + String.join(", ", who)));
        return String.join(one ? "; " : " | ", texts);
    }
}
