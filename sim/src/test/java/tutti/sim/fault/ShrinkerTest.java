package tutti.sim.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import tutti.sim.kernel.Nanos;

class ShrinkerTest {
    private static final List<String> HOSTS = List.of("n1", "n2", "n3");

    private static FaultPlan plan() {
        FaultPlan random = FaultPlan.random(5, FaultProfile.parse("network").withFaultsMax(60), HOSTS,
                10 * Nanos.SECOND);
        List<Fault> faults = new ArrayList<>(random.faults());
        faults.addAll(FaultPlan.parse("""
                fault-plan 1
                seed 5
                hosts n1,n2,n3
                safety 10s
                f101 at 1234567us for 3s loss from * to n2,n3 rate 0.2
                f102 at 2345ms for 3s crash host n2 unsynced torn
                f103 at 3456ms for 5s pause host n3
                """).faults());
        return random.withFaults(faults);
    }

    private static boolean has(FaultPlan plan, Predicate<Fault> wanted) {
        return plan.faults().stream().anyMatch(wanted);
    }

    /** Fails if n2 crashes, and n1's datagrams to n3 are lost at least sometimes. */
    private static boolean fails(FaultPlan plan) {
        return has(plan, fault -> fault.action() instanceof Action.Crash crash && crash.host().equals("n2"))
                && has(plan, fault -> fault.number() == 101 && fault.action() instanceof Action.Loss loss
                        && (loss.from().contains("n1") || loss.from().contains("*")) && loss.to().contains("n3")
                        && loss.rate() > 0.02 && fault.forNanos() >= 200 * Nanos.MILLI);
    }

    @Test
    void onlyWhatIsNeededIsLeftAndAsSimpleAsCanBe() {
        Shrinker.Result result = Shrinker.shrink(plan(), ShrinkerTest::fails, 1000);
        assertTrue(result.complete());
        assertEquals("""
                f101 at 1s for 375ms loss from n1 to n3 rate 0.025
                f102 at 2s for 1ms crash host n2 unsynced kept
                """, lines(result.plan()));
        assertTrue(result.runs() < 200, result.runs() + " runs");
    }

    private static String lines(FaultPlan plan) {
        StringBuilder text = new StringBuilder();
        plan.faults().forEach(fault -> text.append(fault).append('\n'));
        return text.toString();
    }

    @Test
    void whatFailsWithoutFaultsNeedsNone() {
        Shrinker.Result result = Shrinker.shrink(plan(), _ -> true, 1000);
        assertEquals(List.of(), result.plan().faults());
        assertEquals(1, result.runs());
    }

    @Test
    void theBoundOnRunsIsKept() {
        int[] runs = {0};
        Shrinker.Result result = Shrinker.shrink(plan(), plan -> {
            runs[0]++;
            return fails(plan);
        }, 7);
        assertEquals(7, runs[0]);
        assertEquals(7, result.runs());
        assertFalse(result.complete());
        assertTrue(fails(result.plan()));
    }

    @Test
    void everyStepIsStillAPlanThatCanBeReadAndComesToAnEnd() {
        for (long seed = 0; seed < 50; seed++) {
            FaultPlan plan = FaultPlan.random(seed, FaultProfile.parse("all"), HOSTS, 10 * Nanos.SECOND);
            int number = plan.faults().getFirst().number();
            Shrinker.Result result = Shrinker.shrink(plan, candidate -> {
                assertEquals(candidate, FaultPlan.parse(candidate.toString()));
                return has(candidate, fault -> fault.number() == number);
            }, 1000);
            assertEquals(1, result.plan().faults().size());
            assertTrue(result.complete(), result.toString());
        }
    }
}
