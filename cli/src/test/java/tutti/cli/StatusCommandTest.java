package tutti.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import tutti.command.Program;
import tutti.server.http.NodeStatus;
import tutti.server.http.StatusJson;

/** What {@code tutti status} tells of nodes that it can ask, and of those that it cannot. */
class StatusCommandTest {
    private HttpServer node;
    /** Where the node says that its neighbour answers. */
    private String other = "";
    private String url = "";

    @BeforeEach
    void listen() throws Exception {
        node = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        url = "http://127.0.0.1:" + node.getAddress().getPort();
        node.createContext("/", exchange -> {
            byte[] answer = StatusJson
                    .write(new NodeStatus(0, "node-0", "tutti", NodeStatus.State.READY, null, "si", "0",
                            "H2", "localhost:1", new NodeStatus.Positions(7, 7, 7, 0), 0, true,
                            List.of(new NodeStatus.Member(0, "node-0", url.substring("http://".length()), true),
                                    new NodeStatus.Member(3, "node-3", other.isEmpty() ? null : other, true),
                                    new NodeStatus.Member(4, "node-4", null, false)),
                            0, 0, 0, Map.of(), new NodeStatus.OrderStatus(0, 0, 1, List.of(), 0, null), 0, 1, null,
                            List.of("public.events")))
                    .getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        node.start();
    }

    @AfterEach
    void stop() {
        node.stop(0);
    }

    private String status(int expected, String... options) {
        StringWriter out = new StringWriter();
        String[] all = new String[options.length + 3];
        all[0] = "status";
        all[1] = "--url";
        all[2] = url;
        System.arraycopy(options, 0, all, 3, options.length);
        assertEquals(expected, new CommandLine(new Tutti()).setOut(new PrintWriter(out)).execute(all), out::toString);
        return out.toString();
    }

    /** Their HTTP may be bound to loopback, as it is unless it is told otherwise. */
    @Test
    void aMajorityIsWhomNodesReachAndNotWhomWeReach() {
        other = "127.0.0.1:1";
        String told = status(Program.OK);
        assertTrue(told.contains("http://127.0.0.1:1 "), told);
        assertTrue(told.contains("majority: writes are accepted"), told);
    }

    /** As those that were added by command: nobody's configuration says where they can be asked. */
    @Test
    void membersThatCannotBeAskedAreNamed() {
        String told = status(Program.OK);
        assertTrue(told.lines().anyMatch(line -> line.matches("0 node-0 +ready +7 +0 .*")), told);
        assertTrue(told.lines().anyMatch(line -> line.matches("3 node-3 +reached .*--url http://host:port does")),
                told);
        assertTrue(told.lines().anyMatch(line -> line.matches("4 node-4 +silent .*--url http://host:port does")), told);
        assertTrue(status(Program.OK, "--json").contains("\"unasked\""), told);
    }
}
