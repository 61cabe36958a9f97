package tutti.server.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** What becomes of an operator's keys in a file that is written anew. */
class OwnKeysTest {
    private static final String FIRST = """
            # made
            node: 0
            listen: {host: 127.0.0.1, port: 6432}
            members:
              - {id: 0}
            flight-recorder: {enabled: true}
            """;
    private static final String SECOND = """
            # made
            node: 0
            listen: {host: 127.0.0.1, port: 7000}
            members:
              - {id: 0}
              - {id: 1}
            """;

    private static Object read(String yaml) {
        return new Load(LoadSettings.builder().build()).loadFromString(yaml);
    }

    @Test
    void whatNobodyHasTouchedIsWrittenAnew() throws OwnKeys.RefusedException {
        assertEquals(SECOND, OwnKeys.kept(FIRST, FIRST, SECOND));
        assertEquals(SECOND, OwnKeys.kept(FIRST.replace("# made", "# looked at"), FIRST, SECOND));
    }

    @Test
    void addedKeysAreKeptAtEveryDepthAndForGood() throws OwnKeys.RefusedException {
        String edited = FIRST.replace("port: 6432}", "port: 6432, tls: {certificate: a.crt, key: a.key}}")
                + "limits:\n  sessions: 50\nlog: {format: json}\n";
        String kept = OwnKeys.kept(edited, FIRST, SECOND);
        Object expected = Map.of("node", 0, "listen",
                Map.of("host", "127.0.0.1", "port", 7000, "tls", Map.of("certificate", "a.crt", "key", "a.key")),
                "members", List.of(Map.of("id", 0), Map.of("id", 1)), "limits", Map.of("sessions", 50), "log",
                Map.of("format", "json"));
        assertEquals(expected, read(kept), kept);
        assertEquals(expected, read(OwnKeys.kept(kept, SECOND, SECOND)), "the next time");
        assertEquals(SECOND, OwnKeys.kept(SECOND, SECOND, SECOND), "they were taken out again");
    }

    @Test
    void withoutKnowingWhatWasWrittenLastOnlyKeysThatAreNotWrittenCount() throws OwnKeys.RefusedException {
        String kept = OwnKeys.kept(FIRST + "limits: {sessions: 50}\n", null, SECOND);
        assertEquals(7000, ((Map<?, ?>) ((Map<?, ?>) read(kept)).get("listen")).get("port"));
        assertEquals(Map.of("sessions", 50), ((Map<?, ?>) read(kept)).get("limits"));
    }

    @Test
    void whatTheProgramDecidesIsNotChangedUnseen() {
        OwnKeys.RefusedException refused = assertThrows(OwnKeys.RefusedException.class,
                () -> OwnKeys.kept(FIRST.replace("6432", "6000"), FIRST, FIRST));
        assertTrue(String.valueOf(refused.getMessage()).contains("listen.port says 6000"), refused.getMessage());
        assertThrows(OwnKeys.RefusedException.class, () -> OwnKeys.kept("node: [", FIRST, FIRST));
    }
}
