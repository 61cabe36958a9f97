package tutti.grid.commit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.grid.CommitProtocol;

/** Commits whose messages come in any order, while nodes crash. {@code -Dtutti.grid.seeds=N} runs more seeds, the first of which is {@code -Dtutti.grid.seed=N}. */
@Execution(ExecutionMode.CONCURRENT)
class CommitsTest {
    private static final int SEEDS = Integer.getInteger("tutti.grid.seeds", 400);
    private static final int SEEDS_FOR_MUTANTS = 300;
    private static final long FIRST = Long.getLong("tutti.grid.seed", 1);

    @ParameterizedTest
    @EnumSource(names = {"TWO_PHASE", "TOM_2", "TOM_3"})
    void ownersAgreeAndWhatIsAnsweredIsSo(CommitProtocol protocol) {
        long committed = 0;
        long conflicts = 0;
        long locks = 0;
        int crashes = 0;
        for (long seed = FIRST; seed < FIRST + SEEDS; seed++) {
            CommitsRun run = new CommitsRun(seed, protocol);
            List<String> failures = run.run();
            assertEquals(List.of(), failures, "seed " + seed + ": " + run);
            committed += run.committed();
            conflicts += run.ended(Result.Kind.CONFLICT);
            locks += run.ended(Result.Kind.DEADLOCK) + run.ended(Result.Kind.LOCK_TIMEOUT);
            crashes += run.views() - 1;
        }
        String figures = committed + " committed, " + conflicts + " conflicts, " + locks + " for locks, " + crashes
                + " crashes";
        assertTrue(committed > 5L * SEEDS && conflicts > SEEDS / 4 && crashes > SEEDS / 4, figures);
        assertEquals(protocol == CommitProtocol.TWO_PHASE, locks > 0, figures);
    }

    /** Who enters a view at once may commit at a stamp that a reader has seen already whom the node that is gone has answered. */
    @ParameterizedTest
    @CsvSource({"TWO_PHASE,400", "TOM_2,1700", "TOM_3,1200"})
    void whoDoesNotWaitForOthersIsFound(CommitProtocol protocol, long first) {
        for (long seed = first; seed < first + SEEDS_FOR_MUTANTS; seed++) {
            List<String> failures = new CommitsRun(seed, protocol).withoutWaitingForOthers().run();
            if (!failures.isEmpty()) {
                String found = String.join("; ", failures);
                assertTrue(found.contains("a read at ") || found.contains("though what it read"), found);
                return;
            }
        }
        throw new AssertionError("not found within " + SEEDS_FOR_MUTANTS + " seeds");
    }
}
