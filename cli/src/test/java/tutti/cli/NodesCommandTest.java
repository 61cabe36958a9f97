package tutti.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tutti.command.Program;
import tutti.node.ReplicaNode;
import tutti.server.http.AdminServer;
import tutti.server.http.NodeStatus;
import tutti.server.http.Operations;
import tutti.server.http.Watch;

/** {@code tutti nodes}, against a node that answers as the real one does. */
class NodesCommandTest {
    @TempDir
    private Path directory;

    private final List<ReplicaNode.MemberChange> asked = new ArrayList<>();
    private final List<NodeStatus.Place> members = new ArrayList<>(List.of(new NodeStatus.Place(0, "h:1", false),
            new NodeStatus.Place(1, "h:2", false), new NodeStatus.Place(2, "h:3", false)));
    private final List<Integer> removed = new ArrayList<>();
    /** Changes are ordered, and nobody hears of it. */
    private boolean silent;
    /** So often it is still said of the new node that it catches up. */
    private int looks;
    private AdminServer node;

    @BeforeEach
    void start() throws Exception {
        Operations operations = (Operations) Proxy.newProxyInstance(
                AdminServer.class.getClassLoader(), new Class<?>[]{Operations.class},
                (_, method, arguments) -> {
                    if (method.getName().equals("members")) {
                        return look();
                    }
                    if (method.getName().equals("change")) {
                        NodeStatus.Members then = change((ReplicaNode.MemberChange) arguments[0]);
                        if (silent) {
                            throw new Operations.UnansweredException(new TimeoutException());
                        }
                        return then;
                    }
                    try {
                        return method.invoke(Operations.NONE, arguments);
                    } catch (InvocationTargetException refused) {
                        throw refused.getCause();
                    }
                });
        node = AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), () -> {
            throw new IllegalStateException("nobody asks for its status");
        }, _ -> {}, operations, Watch.NONE, "sesame");
        Files.writeString(directory.resolve("token"), "sesame\n");
    }

    @AfterEach
    void stop() {
        node.close();
    }

    private synchronized NodeStatus.Members look() {
        NodeStatus.Members now = new NodeStatus.Members(7, members, List.copyOf(removed));
        if (members.getLast().catchesUp() && looks-- == 0) {
            NodeStatus.Place last = members.removeLast();
            members.add(new NodeStatus.Place(last.id(), last.order(), false));
        }
        return now;
    }

    private synchronized NodeStatus.Members change(ReplicaNode.MemberChange change) {
        asked.add(change);
        switch (change) {
            case ReplicaNode.MemberChange.Add(int id, String order) ->
                members.add(new NodeStatus.Place(id, order, true));
            case ReplicaNode.MemberChange.Remove(int id) -> {
                members.removeIf(each -> each.id() == id);
                removed.add(id);
            }
            case ReplicaNode.MemberChange.Move _ -> throw new AssertionError("nobody moves");
        }
        return new NodeStatus.Members(8, members, List.of());
    }

    private String nodes(int status, String... arguments) {
        StringWriter out = new StringWriter();
        CommandLine command = new CommandLine(new Tutti()).setOut(new PrintWriter(out)).setErr(new PrintWriter(out));
        assertEquals(status, command.execute(Stream.of(Stream.of("nodes"), Stream.of(arguments), Stream.of("--url",
                "http://localhost:" + node.port(), "--token-file", directory.resolve("token").toString()))
                .flatMap(each -> each).toArray(String[]::new)), out::toString);
        return out.toString();
    }

    private static final List<ReplicaNode.MemberChange> REPLACED = List.of(new ReplicaNode.MemberChange.Add(3, "h:4"),
            new ReplicaNode.MemberChange.Remove(1));

    @Test
    void replacingWaitsForTheNewNodeBeforeTheOldOneGoes() {
        looks = 1;
        String said = nodes(Program.OK, "replace", "1", "3", "h:4");
        assertTrue(said.contains("node 3 is a member, and has not caught up yet"), said);
        assertTrue(said.endsWith("node 3 has taken the place of node 1\n"), said);
        assertEquals(REPLACED, asked);
    }

    @Test
    void whoDoesNotWaitGivesTheCommandAgain() {
        looks = 3;
        assertTrue(nodes(Program.FAILURE, "replace", "1", "3", "h:4", "--wait", "0").contains("node 1 stays"));
        assertEquals(REPLACED.subList(0, 1), asked);
        nodes(Program.FAILURE, "replace", "1", "3", "h:4", "--wait", "0");
        nodes(Program.OK, "replace", "1", "3", "h:4");
        nodes(Program.OK, "replace", "1", "3", "h:4");
        assertEquals(REPLACED, asked);
    }

    /** The next one would say that it is a member already, or add another one. */
    @Test
    void whoIsSilentAboutAChangeIsTheLastToBeAsked() {
        silent = true;
        String said = nodes(Program.FAILURE, "add", "3", "h:4", "--url", "http://localhost:" + node.port());
        assertTrue(said.contains("the node does not answer"), said);
        assertTrue(said.contains("may be done, or be done yet"), said);
        assertEquals(REPLACED.subList(0, 1), asked);
    }

    /** Nothing of it could be taken back. */
    @Test
    void whatCannotBeMeantChangesNothing() {
        assertTrue(nodes(Program.FAILURE, "add", "3", "host").contains("'host' is no address: must be host:port"));
        assertTrue(nodes(Program.FAILURE, "move", "3", "host:74000").contains("the port must be 1 to 65535"));
        assertTrue(nodes(Program.FAILURE, "add", "300", "h:4").contains("numbers of nodes are 0 to 255, not 300"));
        assertTrue(nodes(Program.FAILURE, "replace", "0", "0", "h:4").contains("cannot take the place of itself"));
        assertTrue(nodes(Program.FAILURE, "replace", "9", "3", "h:4")
                .contains("there is no node 9 to be replaced, only [0, 1, 2]"));
        assertTrue(
                nodes(Program.FAILURE, "replace", "9", "2", members.getLast().order()).contains("there is no node 9"));
        assertTrue(nodes(Program.FAILURE, "replace", "0", "1", "h:4").contains("node 1 is a member already, at "));
        assertEquals(List.of(), asked);
        assertEquals(List.of(0, 1, 2), members.stream().map(NodeStatus.Place::id).toList());
    }

    @Test
    void oneThatIsRemovedMeanwhileIsNotWaitedFor() {
        looks = Integer.MAX_VALUE;
        nodes(Program.FAILURE, "replace", "1", "3", "h:4", "--wait", "0");
        nodes(Program.OK, "remove", "3");
        assertEquals(List.of(0, 1, 2), members.stream().map(NodeStatus.Place::id).toList());
    }
}
