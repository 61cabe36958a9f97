package tutti.cli;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tutti.cluster.ChosenNodes;
import tutti.cluster.MemberChanges;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.server.config.HostPort;
import tutti.server.http.NodeStatus;
import tutti.server.http.StatusJson;

/** Shows the members of a cluster, and changes them while it serves. */
@Command(name = "nodes", subcommands = {NodesCommand.ListAll.class, NodesCommand.Add.class, NodesCommand.Remove.class,
        NodesCommand.Move.class,
        NodesCommand.Replace.class}, description = "The members of a cluster, which come and go"
                + " while it serves, one at a time.")
final class NodesCommand {
    /** Shows them. */
    @Command(name = "list", description = "Show the members, as the first node that answers knows them. Exit status 1 if none"
            + " does.")
    static final class ListAll extends ShowingCommand<NodeStatus.Members> {
        ListAll() {
            super("/members", "no node says who the members are");
        }

        @Override
        NodeStatus.Members read(String text) {
            return StatusJson.readMembers(text);
        }

        @Override
        void show(Screen screen, NodeStatus.Members members) {
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
        }
    }

    /** What those that change them have in common. */
    abstract static class Change implements Callable<Integer> {
        @Mixin
        private ChosenNodes nodes = new ChosenNodes();

        @Spec
        private CommandSpec spec;

        final MemberChanges members() {
            return new MemberChanges(nodes.all());
        }

        /** Refuses what can be no place of a node, with what a node would not say so well. */
        static void checkPlace(int id, String address) {
            if (id < 0 || id > 255) {
                throw Failure.usage("numbers of nodes are 0 to 255, not " + id, "");
            }
            try {
                var _ = HostPort.parse(address);
            } catch (IllegalArgumentException wrong) {
                throw Failure.usage("'" + address + "' is no address: " + wrong.getMessage(),
                        "say where the others reach the node's order, as in 10.0.0.4:7400");
            }
        }

        final void say(String what) {
            spec.commandLine().getOut().println(what);
            spec.commandLine().getOut().flush();
        }
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
            checkPlace(id, address);
            members().add(id, address);
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
            members().remove(id);
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
            checkPlace(id, address);
            members().move(id, address);
            say("the others look for node " + id + " at " + address);
            return Program.OK;
        }
    }

    /** One takes the place of another. */
    @Command(name = "replace", description = "Have a new node take the place of another: add it, wait until it has been started and has"
            + " caught up, and remove the other. If it is given again, it goes on where it was. A node that has only lost its"
            + " data needs no new number: it gets a copy when it is started.")
    static final class Replace extends Change {
        @Parameters(index = "0", paramLabel = "OLD", description = "Number of the one that goes.")
        private int old;

        @Parameters(index = "1", paramLabel = "ID", description = "Number of the one that comes.")
        private int id;

        @Parameters(index = "2", paramLabel = "HOST:PORT", description = "Where the others reach its order.")
        private String address = "";

        @Option(names = "--wait", paramLabel = "SECONDS", defaultValue = "3600", description = "How long to wait for the new node; 0 to give the"
                + " command again instead (default: ${DEFAULT-VALUE}).")
        private int wait;

        @Override
        public Integer call() throws InterruptedException {
            if (wait < 0) {
                throw Failure.usage("--wait must be 0 or more, was " + wait, "");
            }
            checkPlace(id, address);
            MemberChanges members = members();
            Optional<NodeStatus.Place> there = members.member(id);
            check(members.members(), there);
            if (there.isEmpty()) {
                members.add(id, address);
            }
            if (there.isEmpty() || there.get().catchesUp()) {
                say("node " + id + " is a member, and has not caught up yet: " + START);
                if (!members.awaitDeciding(id, Duration.ofSeconds(wait))) {
                    say("node " + old + " stays: give this command again when node " + id + " has caught up");
                    return Program.FAILURE;
                }
            }
            if (members.member(old).isPresent()) {
                members.remove(old);
            }
            say("node " + id + " has taken the place of node " + old);
            return Program.OK;
        }

        /** What cannot be meant must be refused before a node comes or goes: neither can be taken back. */
        private void check(NodeStatus.Members now, Optional<NodeStatus.Place> there) {
            if (old == id) {
                throw Failure.usage("node " + id + " cannot take the place of itself",
                        "give the new one another number; or, if it has only lost its data, start it, and it gets a copy");
            }
            List<Integer> all = now.nodes().stream().map(NodeStatus.Place::id).toList();
            if (!all.contains(old) && (there.isEmpty() || !now.removed().contains(old))) {
                throw Failure.usage("there is no node " + old + " to be replaced, only " + all, "");
            }
            if (there.isPresent() && !there.get().order().equals(address)) {
                throw Failure.usage(
                        "node " + id + " is a member already, at " + there.get().order() + " and not at " + address,
                        "give the new one a number that no node has or had");
            }
        }
    }
}
