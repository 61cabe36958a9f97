package tutti.server.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What of a changed file counts while the node runs. */
class ConfigChangesTest {
    @TempDir
    private Path directory;

    private NodeConfig config(String... more) throws Exception {
        return ConfigReader.read(Files.writeString(directory.resolve("node.yaml"),
                "node: 0\nmembers: [{id: 0, name: a, order: \"127.0.0.1:7400\"}]\n" + String.join("\n", more) + "\n"));
    }

    @Test
    void someKeysCountAtOnceAndTheOthersLater() throws Exception {
        NodeConfig before = config("limits: {sessions: 50}");
        assertEquals(List.of(), ConfigChanges.between(before, config("limits: {sessions: 50}")).later());
        ConfigChanges changes = ConfigChanges.between(before, config("limits: {sessions: 60, stop-grace: 3s}",
                "copies: {automatic: false}", "listen: {port: 7000}", "order: {retention-bytes: 1 GiB}",
                "apply: {appliers: 9, linger: 3ms, code-time: 5s}"));
        assertEquals(Set.of("limits.stop-grace", "copies.automatic", "order.retention-bytes", "apply.appliers",
                "apply.linger"),
                Set.copyOf(changes.taken()));
        assertEquals(Set.of("limits.sessions", "listen.port", "apply.code-time"), Set.copyOf(changes.later()));
        assertEquals(Duration.ofSeconds(3), changes.config().limits().stopGrace());
        assertEquals(50, changes.config().limits().sessions(), "what is not taken stays as it was");
        assertEquals(5432, changes.config().listen().port());
        assertEquals(Set.of(), ConfigChanges.between(changes.config(), changes.config()).taken().stream()
                .collect(Collectors.toSet()));
    }

    @Test
    void parametersOfTheProtocolThatAreANodesOwnCountAtOnce() throws Exception {
        NodeConfig before = config("protocol: hybrid", "protocol-parameters: {executors: 4, batch-requests: 8}");
        ConfigChanges changes = ConfigChanges.between(before,
                config("protocol: hybrid", "protocol-parameters: {executors: auto, logs: 9}"));
        assertEquals(List.of("protocol-parameters.batch-requests", "protocol-parameters.executors"), changes.taken());
        assertEquals(List.of("protocol-parameters.logs"), changes.later());
        assertEquals(Map.of("executors", "auto"), changes.config().protocolParameters());
    }

    @Test
    void theKeysAreThoseOfTheManual() {
        String manual = ConfigManual.yaml();
        ConfigChanges.AT_ONCE
                .forEach(key -> assertTrue(manual.contains(key.substring(key.indexOf('.') + 1) + ":"), key));
    }
}
