package tutti.core.protocol.world;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.TwoPhaseCommit;

/** Every protocol that can be chosen can be recorded and replayed. */
class RegistryFlightTest {
    /** What is not as by default: the test world has no time for long timeouts. */
    private static final Map<String, Map<String, String>> CHOSEN = Map.of(TwoPhaseCommit.NAME,
            Map.of("tick", "1ms", "lock-ticks", "5", "inquire-ticks", "2"));

    static List<String> names() {
        return Protocols.STANDARD.names();
    }

    @ParameterizedTest
    @MethodSource("names")
    void isReplayedToTheSameEffects(String name) {
        Map<String, String> chosen = CHOSEN.getOrDefault(name, Map.of());
        Flights flights = new Flights(Subject.of(Protocols.STANDARD.choose(name, chosen)));
        for (long seed = 0; seed < 3; seed++) {
            flights.check(seed, 1_000);
        }
    }
}
