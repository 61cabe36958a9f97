package tutti.cli;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tutti.cluster.ChosenNodes;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.server.http.NodeStatus;
import tutti.server.http.StatusJson;

/** Shows the members of a cluster, and changes them while it serves. */
@Command(name = "nodes", subcommands = {NodesCommand.ListAll.class, NodesCommand.Add.class, NodesCommand.Remove.class,
        NodesCommand.Move.class,
        NodesCommand.Replace.class}, description = "The members of a cluster, which come and go"
                + " while it serves, one at a time.")
final class NodesCommand {
    private static final Duration PATIENCE = Duration.ofSeconds(15);

    /** Shows them. */
    @Command(name = "list", description = "Show the members, as the first node that answers knows them. Exit status 1 if none"
            + " does.")
    static final class ListAll implements Callable<Integer> {
        @Mixin
        private ChosenNodes nodes = new ChosenNodes();

        @Option(names = "--json", description = "Print JSON.")
        private boolean json;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws InterruptedException {
            Screen screen = Screen.standard(spec.commandLine().getOut());
            String told = look(nodes);
            if (json) {
                screen.line(told);
                return Program.OK;
            }
            NodeStatus.Members members = StatusJson.readMembers(told);
            List<List<String>> rows = new ArrayList<>();
            rows.add(List.of("node", "order at", "state"));
            members.nodes().forEach(each -> rows.add(List.of(String.valueOf(each.id()), each.order(),
                    each.catchesUp() ? "catches up" : "decides")));
            Screen.table(rows).forEach(screen::line);
            screen.line(members.since() == 0
                    ? "as the cluster began"
                    : "since position " + members.since() + (members.removed().isEmpty()
                            ? ""
                            : "; removed: " + members.removed().stream().map(String::valueOf)
                                    .collect(Collectors.joining(", "))));
            return Program.OK;
        }
    }

    private static String look(ChosenNodes nodes) throws InterruptedException {
        return nodes.first(false, "/members", PATIENCE, "no node says who the members are").text();
    }

    /** What those that change them have in common. */
    abstract static class Change implements Callable<Integer> {
        @Mixin
        private ChosenNodes nodes = new ChosenNodes();

        @Spec
        private CommandSpec spec;

        /** Has one node change the members; the first that can. */
        final void change(String query) throws InterruptedException {
            var _ = nodes.first(true, "/members?" + query, PATIENCE, "the members stay as they are");
        }

        /** The members, as the first node that answers knows them. */
        final String look() throws InterruptedException {
            return NodesCommand.look(nodes);
        }

        final void say(String what) {
            spec.commandLine().getOut().println(what);
        }
    }

    private static String order(String address) {
        return "&order=" + URLEncoder.encode(address, StandardCharsets.UTF_8);
    }

    private static final String START = "start it with a configuration that lists all members, and it gets a copy by itself"
            + " (or `tutti node --config FILE --copy-from any`); `tutti nodes list` tells when it has caught up";

    /** One comes. */
    @Command(name = "add", description = "Add a node. It gets a copy of what the others hold when it is started, and decides"
            + " with them as soon as it has caught up.")
    static final class Add extends Change {
        @Parameters(index = "0", paramLabel = "ID", description = "Its number, which no other node has or had.")
        private int id;

        @Parameters(index = "1", paramLabel = "HOST:PORT", description = "Where the others reach its order.")
        private String address = "";

        @Override
        public Integer call() throws InterruptedException {
            change("add=" + id + order(address));
            say("node " + id + " is a member: " + START);
            return Program.OK;
        }
    }

    /** One goes. */
    @Command(name = "remove", description = "Remove a node, for good. If it runs, it serves nobody any more and stops; its"
            + " number is never given again.")
    static final class Remove extends Change {
        @Parameters(paramLabel = "ID", description = "Its number.")
        private int id;

        @Override
        public Integer call() throws InterruptedException {
            change("remove=" + id);
            say("node " + id + " is no member any more");
            return Program.OK;
        }
    }

    /** One is somewhere else. */
    @Command(name = "move", description = "Tell all nodes that one is somewhere else: stop it, give this command, and start it"
            + " there with its data directory, and its new address in its configuration.")
    static final class Move extends Change {
        @Parameters(index = "0", paramLabel = "ID", description = "Its number.")
        private int id;

        @Parameters(index = "1", paramLabel = "HOST:PORT", description = "Where the others reach its order from now on.")
        private String address = "";

        @Override
        public Integer call() throws InterruptedException {
            change("move=" + id + order(address));
            say("the others look for node " + id + " at " + address);
            return Program.OK;
        }
    }

    /** One takes the place of another. */
    @Command(name = "replace", description = "Have a new node take the place of another: add it, and remove the other when the"
            + " new one has caught up. Give the command again until it says that all is done. A node that has only lost its"
            + " data needs no new number: it gets a copy when it is started.")
    static final class Replace extends Change {
        @Parameters(index = "0", paramLabel = "OLD", description = "Number of the one that goes.")
        private int old;

        @Parameters(index = "1", paramLabel = "ID", description = "Number of the one that comes.")
        private int id;

        @Parameters(index = "2", paramLabel = "HOST:PORT", description = "Where the others reach its order.")
        private String address = "";

        @Override
        public Integer call() throws InterruptedException {
            List<NodeStatus.Place> members = StatusJson.readMembers(look()).nodes();
            List<NodeStatus.Place> there = members.stream().filter(each -> each.id() == id).toList();
            if (there.isEmpty()) {
                change("add=" + id + order(address));
                return notYet("node " + id + " is a member: " + START);
            }
            if (there.getFirst().catchesUp()) {
                return notYet("node " + id + " has not caught up yet: " + START);
            }
            if (members.stream().anyMatch(each -> each.id() == old)) {
                change("remove=" + old);
            }
            say("node " + id + " has taken the place of node " + old);
            return Program.OK;
        }

        private int notYet(String what) {
            say(what + ". Then give this command again");
            return Program.FAILURE;
        }
    }
}
