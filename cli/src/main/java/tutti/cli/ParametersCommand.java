package tutti.cli;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tutti.cluster.ChosenNodes;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.server.http.NodeStatus;
import tutti.server.http.StatusJson;

/** Shows the parameters of a cluster's protocol that count from one position of the order on at all nodes, and changes them while it serves. */
@Command(name = "parameters", subcommands = {ParametersCommand.ListAll.class,
        ParametersCommand.Change.class}, description = "The parameters of a cluster's protocol that change while it serves, at all nodes at one"
                + " position of the order: execution, logs and owners of protocol hybrid. Those of each node by itself are changed in its"
                + " configuration (`tutti reload`).")
final class ParametersCommand {
    private static final String PATH = "/parameters";

    private ParametersCommand() {}

    private static void show(Screen screen, NodeStatus.Parameters now) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("parameter", "value"));
        now.values().forEach((name, value) -> rows.add(List.of(name, value)));
        Screen.table(rows).forEach(screen::line);
        screen.line(now.since() == 0 ? "as the cluster began" : "since position " + now.since());
    }

    /** Shows them. */
    @Command(name = "list", description = "Show them, as the first node that answers knows them. Exit status 1 if none does.")
    static final class ListAll extends ShowingCommand<NodeStatus.Parameters> {
        ListAll() {
            super(PATH, "no node says what the parameters are");
        }

        @Override
        NodeStatus.Parameters read(String text) {
            return StatusJson.readParameters(text);
        }

        @Override
        void show(Screen screen, NodeStatus.Parameters now) {
            if (now.values().isEmpty()) {
                screen.line("the cluster's protocol has no parameter that changes while it serves");
            } else {
                ParametersCommand.show(screen, now);
            }
        }
    }

    /** Changes them. */
    @Command(name = "set", description = "Change some: they count at all nodes from one position of the order on, and nothing under way is lost or"
            + " executed twice. Configurations keep the values with which the cluster began. Exit status 1 if they stay as they are.")
    static final class Change implements Callable<Integer> {
        @Mixin
        private ChosenNodes nodes = new ChosenNodes();

        @Parameters(paramLabel = "NAME=VALUE", arity = "1..*", description = "Such as logs=128, owners=0,1,1 or execution=passive.")
        private Map<String, String> wanted = new LinkedHashMap<>();

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws InterruptedException {
            String query = wanted.entrySet().stream()
                    .map(each -> encoded(each.getKey()) + "=" + encoded(each.getValue()))
                    .collect(Collectors.joining("&"));
            show(Screen.standard(spec.commandLine().getOut()), StatusJson.readParameters(
                    nodes.first(true, PATH + "?" + query, ShowingCommand.PATIENCE, "the parameters stay as they are")
                            .text()));
            return Program.OK;
        }

        private static String encoded(String text) {
            return URLEncoder.encode(text, StandardCharsets.UTF_8);
        }
    }
}
