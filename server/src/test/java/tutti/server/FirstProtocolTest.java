package tutti.server;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.protocol.Protocols;
import tutti.runtime.Directory;
import tutti.runtime.real.PathDirectory;

class FirstProtocolTest {
    @TempDir
    private Path data;

    private void check(String protocol, Map<String, String> parameters) throws IOException {
        Directory directory = PathDirectory.of(data);
        FirstProtocol.check(directory, Protocols.STANDARD.choose(protocol, parameters));
    }

    @Test
    void aNodeKeepsTheParametersWithWhichTheClusterBegan() throws IOException {
        check("hybrid", Map.of("executors", "4"));
        check("hybrid", Map.of("logs", "64", "executors", "auto"));
        String refused = assertThrows(IOException.class, () -> check("hybrid", Map.of("logs", "65"))).getMessage();
        assertTrue(refused.contains("says hybrid {logs=65}: give it back the `protocol` and `protocol-parameters`"),
                refused);
        assertThrows(IOException.class, () -> check("si", Map.of()));
        check("hybrid", Map.of());
    }

    /** Its data is of none then. */
    @Test
    void aNodeWhoseClusterRunsAnotherOneMayBeGivenThat() throws IOException {
        check("hybrid", Map.of("logs", "65"));
        FirstProtocol.forget(PathDirectory.of(data));
        check("hybrid", Map.of("logs", "64"));
        assertThrows(IOException.class, () -> check("hybrid", Map.of("logs", "65")));
    }
}
