package tutti.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import tutti.command.Program;
import tutti.server.http.AdminServer;
import tutti.server.http.NodeStatus;

class TuttiTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private final List<AdminServer> servers = new ArrayList<>();

    private int run(String... arguments) {
        CommandLine line = new Tutti().commandLine();
        line.setOut(new PrintWriter(out));
        line.setErr(new PrintWriter(err));
        return line.execute(arguments);
    }

    @AfterEach
    void stopServers() {
        servers.forEach(AdminServer::close);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "start", "status", "node", "sim", "calibrate", "validate"})
    void everyCommandExplainsItself(String command) {
        assertEquals(Program.OK, command.isEmpty() ? run("--help") : run(command, "--help"));
        assertTrue(out.toString().startsWith("Usage: tutti" + (command.isEmpty() ? "" : " " + command)),
                out.toString());
    }

    @Test
    void aWrongOptionIsAUsageErrorWithASuggestion() {
        assertEquals(Program.USAGE, run("start", "--node", "3"));
        assertTrue(err.toString().contains("--nodes"), err.toString());
        assertTrue(err.toString().contains("tutti start --help"), err.toString());
    }

    @Test
    void whatCannotBeSimulatedIsAUsageError(@TempDir Path directory) throws Exception {
        assertEquals(Program.USAGE, run("sim", "check", "--protocol", "is"));
        assertTrue(err.toString().contains("nearest: si"), err.toString());
        assertEquals(Program.USAGE, run("sim", "check", "--protocol", "si", "--faults", "los"));
        assertEquals(Program.USAGE, run("sim", "check", "--protocol", "si", "--seeds", "0"));
        assertEquals(Program.USAGE, run("sim", "check", "--protocol", "si", "--mutant", "unicorn"));
        assertEquals(Program.USAGE, run("sim", "mutants", "--mutant", "unicorn"));
        assertEquals(Program.USAGE, run("sim", "replay", directory.resolve("none").toString()));
        Path wrong = Files.writeString(directory.resolve("wrong"), "protocol si\n");
        assertEquals(Program.USAGE, run("sim", "replay", wrong.toString()));
        assertTrue(err.toString().contains("tutti-scenario"), err.toString());
    }

    @Test
    void aCommandIsNeeded() {
        assertEquals(Program.USAGE, run());
        assertEquals(Program.USAGE, run("node"));
        assertTrue(err.toString().contains("--print-config"), err.toString());
    }

    @Test
    void thePrintedConfigurationIsAccepted(@TempDir Path directory) throws Exception {
        assertEquals(Program.OK, run("node", "--print-config"));
        String printed = out.toString();
        Path file = Files.writeString(directory.resolve("node.yaml"), printed);
        assertEquals(Program.OK, run("node", "--config", file.toString(), "--check"));
        assertEquals("", err.toString());
        Files.writeString(file, printed.replaceAll("(?m)^( *)password: .*$", "$1password: another"));
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
        assertEquals(Program.OK, run("node", "--config", file.toString(), "--check"));
        assertTrue(err.toString().contains("others may read or change it"), err.toString());
    }

    @Test
    void anImpossibleConfigurationIsRefusedWithItsLine(@TempDir Path directory) throws Exception {
        Path file = Files.writeString(directory.resolve("node.yaml"), "node: 0\nmembres: []\n");
        assertEquals(Program.FAILURE, run("node", "--config", file.toString()));
        assertTrue(err.toString().contains("node.yaml:2: membres is no key; did you mean members?"), err.toString());
        assertFalse(err.toString().contains("\tat "), "no stack trace without --verbose");
    }

    @Test
    void verboseShowsWhere(@TempDir Path directory) {
        assertEquals(Program.FAILURE, run("status", "--data", directory.toString(), "--verbose"));
        assertTrue(err.toString().contains("\tat tutti.cli.StatusCommand"), err.toString());
    }

    @Test
    void statusFindsAllNodesThroughOne() throws Exception {
        AdminServer second = serve(1, null, true);
        AdminServer first = serve(0, "127.0.0.1:" + second.port(), true);
        assertEquals(Program.OK, run("status", "--url", "http://127.0.0.1:" + first.port()), () -> out + "\n" + err);
        assertTrue(out.toString().contains("0 node-0"), out.toString());
        assertTrue(out.toString().contains("1 node-1"), out.toString());
        assertFalse(out.toString().contains("\033"), "no colours where there is no terminal");
    }

    @Test
    void statusWithoutAMajorityIsAFailure() throws Exception {
        AdminServer first = serve(0, "127.0.0.1:1", false);
        assertEquals(Program.FAILURE, run("status", "--json", "--url", "http://127.0.0.1:" + first.port()));
        assertTrue(out.toString().contains("\"majority\" : false"), out.toString());
        assertTrue(out.toString().contains("\"url\" : \"http://127.0.0.1:1\""), out.toString());
    }

    private AdminServer serve(int node, @Nullable String other, boolean majority) throws Exception {
        NodeStatus status = new NodeStatus(node, "node-" + node, "tutti", NodeStatus.State.READY, null, "si", "0",
                "none",
                "127.0.0.1:5432", new NodeStatus.Positions(9, 9, 9, 9), 0, majority,
                List.of(new NodeStatus.Member(node, "node-" + node, null, true),
                        new NodeStatus.Member(1 - node, "other", other, true)),
                0, 0, 0, Map.of(), new NodeStatus.OrderStatus(0, 0, 1, List.of(), 0, null), 0, 0, null, List.of());
        AdminServer server = AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                () -> status, _ -> {});
        servers.add(server);
        return server;
    }
}
