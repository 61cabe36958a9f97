package tutti.cluster;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import tutti.server.config.ConfigReader;
import tutti.server.config.NodeConfig;
import tutti.server.http.AdminServer;
import tutti.server.http.NodeStatus;

/**
 * A process that the supervisor cannot tell from a node: reads its configuration, answers over admin HTTP, has a child
 * in its process group and one in a session of its own, as a database server does, and ends when told to. It replicates nothing.
 */
final class FakeNode {
    private FakeNode() {}

    public static void main(String[] arguments) throws Exception {
        if (System.getenv("FAKE_NODE_REFUSES") != null) {
            System.err.println("cannot start: the disk is full");
            System.exit(1);
        }
        NodeConfig config = ConfigReader.read(Path.of(arguments[2]));
        Process child = new ProcessBuilder("setsid", "sleep", "600").start();
        Process sameGroup = new ProcessBuilder("sleep", "600").start();
        try (AdminServer _ = AdminServer.start(
                new InetSocketAddress(config.http().host(), config.http().port()), () -> status(config),
                out -> out.write(
                        ("children " + child.pid() + " " + sameGroup.pid() + "\n").getBytes(StandardCharsets.UTF_8)))) {
            Runtime.getRuntime().addShutdownHook(new Thread(child::destroyForcibly));
            Runtime.getRuntime().addShutdownHook(new Thread(sameGroup::destroyForcibly));
            awaitEndOfInput();
        }
        System.exit(0);
    }

    private static void awaitEndOfInput() throws IOException {
        System.in.transferTo(OutputStream.nullOutputStream());
    }

    static NodeStatus status(NodeConfig config) {
        List<NodeStatus.Member> members = config.members().stream()
                .map(member -> new NodeStatus.Member(member.id(), member.name(), String.valueOf(member.http()), true))
                .toList();
        return new NodeStatus(config.node(), config.self().name(), config.cluster(), NodeStatus.State.READY, null,
                config.protocol(), "0", "none", config.listen().host() + ":" + config.listen().port(),
                new NodeStatus.Positions(7, 7, 7, 7), 0, true, members, 0, 0, 0, Map.of(),
                new NodeStatus.OrderStatus(0, 0, 1, List.of(), 0, null), 0, 0, null, List.of());
    }
}
