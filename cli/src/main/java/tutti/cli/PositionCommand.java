package tutti.cli;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tutti.cluster.AdminClient;
import tutti.cluster.ChosenNodes;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.server.http.NodeStatus;
import tutti.server.http.StatusJson;

/** Shows positions of the order that some node could not apply, and decides about those at which nodes wait for each other. */
@Command(name = "position", subcommands = {PositionCommand.Show.class, PositionCommand.Skip.class,
        PositionCommand.Keep.class}, description = "Positions of the total order that some node could not apply. What most"
                + " nodes can apply holds, what most cannot is left out at all; where too many are silent to tell, the nodes"
                + " wait until more of them are back, or until you decide.")
final class PositionCommand {
    private static final Duration PATIENCE = Duration.ofSeconds(15);

    /** Shows them. */
    @Command(name = "show", description = "Show what nodes say of such positions, open ones and the last that were decided."
            + " Exit status 1 if no node has answered.")
    static final class Show implements Callable<Integer> {
        @Mixin
        private ChosenNodes nodes = new ChosenNodes();

        @Option(names = "--json", description = "Print JSON, as the first node that answers has it.")
        private boolean json;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws InterruptedException {
            Screen screen = Screen.standard(spec.commandLine().getOut());
            Map<Long, NodeStatus.Position> positions = new TreeMap<>();
            List<String> silent = new ArrayList<>();
            boolean answered = false;
            try (AdminClient client = new AdminClient(PATIENCE)) {
                for (ChosenNodes.Chosen node : nodes.all()) {
                    AdminClient.Answer answer = client.get(node.url(), "/positions", node.token());
                    if (!answer.well()) {
                        silent.add("node " + node.name() + ": " + answer.text());
                        continue;
                    }
                    if (json) {
                        screen.line(answer.text());
                        return Program.OK;
                    }
                    answered = true;
                    // A node that is behind may not know yet what another one knows.
                    for (NodeStatus.Position each : StatusJson.readPositions(answer.text())) {
                        positions.merge(each.position(), each,
                                (one, other) -> other.votes().size() > one.votes().size() ? other : one);
                    }
                }
            }
            if (!answered) {
                throw new Failure("no node says which positions it could not apply: " + String.join("; ", silent), "");
            }
            silent.forEach(screen::line);
            show(positions.values(), screen);
            return Program.OK;
        }

        private static void show(Iterable<NodeStatus.Position> positions, Screen screen) {
            List<List<String>> rows = new ArrayList<>();
            rows.add(List.of("position", "of", "what became of it", "made at", "refused at", "in trouble", "error"));
            for (NodeStatus.Position each : positions) {
                rows.add(List.of(String.valueOf(each.position()),
                        (each.everywhere() ? "statement " : "transaction ") + each.transaction(),
                        switch (each.verdict()) {
                            case "HOLDS" -> "it holds";
                            case "SKIPPED" -> "left out";
                            default -> "open";
                        }, who(each, "made"), who(each, "refused"), who(each, "trouble"),
                        each.sqlState() + " " + each.message()));
            }
            if (rows.size() == 1) {
                screen.line("there is no position that a node could not apply");
            } else {
                Screen.table(rows).forEach(screen::line);
            }
        }

        private static String who(NodeStatus.Position position, String vote) {
            String nodes = new TreeMap<>(position.votes()).entrySet().stream()
                    .filter(each -> each.getValue().equals(vote))
                    .map(each -> String.valueOf(each.getKey())).collect(Collectors.joining(", "));
            return nodes.isEmpty() ? "-" : nodes;
        }
    }

    /** Leaves one out. */
    @Command(name = "skip", description = "Have all nodes leave out what an open position would change. Nodes that have made"
            + " it serve nobody any more until they are given a copy of another node's database.")
    static final class Skip extends Decision {
        Skip() {
            super("skip");
        }
    }

    /** Keeps one. */
    @Command(name = "keep", description = "Have what an open position changes hold. Nodes that cannot make it serve nobody"
            + " until they can, or are given a copy of another node's database.")
    static final class Keep extends Decision {
        Keep() {
            super("keep");
        }
    }

    /** Decides about one, through the first node that can have it ordered. */
    abstract static class Decision implements Callable<Integer> {
        private final String word;

        @Parameters(paramLabel = "POSITION", description = "As `tutti position show` has it.")
        private long position;

        @Mixin
        private ChosenNodes nodes = new ChosenNodes();

        @Spec
        private CommandSpec spec;

        Decision(String word) {
            this.word = word;
        }

        @Override
        public final Integer call() throws InterruptedException {
            ChosenNodes.Said said = nodes.first(true, "/positions?" + word + "=" + position, PATIENCE,
                    "nothing was decided");
            spec.commandLine().getOut()
                    .println("decided through node " + said.node().name() + "; `tutti position show` tells when");
            return Program.OK;
        }
    }
}
