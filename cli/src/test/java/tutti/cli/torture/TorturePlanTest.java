package tutti.cli.torture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import tutti.command.Failure;

/** What a plan of torture is made of. */
class TorturePlanTest {
    private static final List<FaultKind> ALL = List.of(FaultKind.values());

    @Test
    void theSameSeedMakesTheSamePlanAndAnotherOneAnother() {
        assertEquals(TorturePlan.of(7, ALL, 3, 600), TorturePlan.of(7, ALL, 3, 600));
        assertNotEquals(TorturePlan.of(7, ALL, 3, 600).steps(), TorturePlan.of(8, ALL, 3, 600).steps());
    }

    @Test
    void everyKindComesOnceBeforeAnyComesAgain() {
        List<TorturePlan.Step> steps = TorturePlan.of(3, ALL, 5, 1_000).steps();
        assertTrue(steps.size() > 3 * ALL.size());
        for (int from = 0; from + ALL.size() <= steps.size(); from += ALL.size()) {
            Set<FaultKind> round = EnumSet.noneOf(FaultKind.class);
            steps.subList(from, from + ALL.size()).forEach(step -> round.add(step.kind()));
            assertEquals(EnumSet.allOf(FaultKind.class), round);
        }
        assertTrue(steps.stream().allMatch(step -> step.victim() >= TorturePlan.Step.LEADER && step.victim() < 5));
    }

    @Test
    void kindsAreChosenByTheirLabels() {
        assertEquals(EnumSet.allOf(FaultKind.class), EnumSet.copyOf(FaultKind.parse("all")));
        assertEquals(List.of(FaultKind.ONE_WAY, FaultKind.KILL), List.copyOf(FaultKind.parse("one-way, kill")));
        Failure unknown = assertThrows(Failure.class, () -> FaultKind.parse("kill,earthquake"));
        assertTrue(unknown.getMessage().contains("earthquake") && unknown.getMessage().contains("lost-directory"),
                unknown.getMessage());
    }
}
