package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;

/** A node of a group of three, which hears the others or does not. */
class AbsenceTest {
    private static final long SECOND = Duration.ofSeconds(1).toNanos();

    private final GridConfig config = GridConfig
            .of("test", 0, Map.of(0, InetSocketAddress.createUnresolved("here", 1)), Set.of(0, 1, 2),
                    List.of(GridConfig.CacheConfig.of("stock", 3)), CommitProtocol.GROUPS)
            .withHeartbeat(Duration.ofMillis(50), Duration.ofSeconds(1));
    private final Absence absence = new Absence(0, _ -> List.of(0, 1, 2));
    private final Hearing hearing = new Hearing();

    private Set<Integer> givenUp(Set<Integer> unheard, boolean isTooMuch) {
        return absence.notHeard(unheard, hearing, config, _ -> isTooMuch);
    }

    private void silentFor(long nanos) {
        hearing.start(Set.of(0, 1, 2), 0, 0);
        hearing.tick(nanos, Long.MAX_VALUE);
    }

    @Test
    void whoIsNotHeardForVeryLongIsGivenUp() {
        silentFor(5 * SECOND);
        assertEquals(Set.of(), givenUp(Set.of(2), false));
        silentFor(11 * SECOND);
        assertEquals(Set.of(2), givenUp(Set.of(2), false));
        assertEquals(Set.of(), givenUp(Set.of(2), false), "once");
    }

    @Test
    void forWhomTooMuchIsKeptIsGivenUpEarlier() {
        silentFor(5 * SECOND);
        assertEquals(Set.of(), givenUp(Set.of(), true), "it is heard");
        assertEquals(Set.of(2), givenUp(Set.of(2), true));
    }

    /** It may be this node that is cut off: then nobody could give back to the others what they lose. */
    @Test
    void whoDoesNotHearMoreThanHalfOfAGroupGivesUpNobodyOfIt() {
        silentFor(11 * SECOND);
        assertEquals(Set.of(), givenUp(Set.of(1, 2), true));
    }
}
