package tutti.check.model;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tutti.check.CheckResult;
import tutti.check.isolation.Isolation;
import tutti.check.isolation.IsolationCheck;
import tutti.check.isolation.PrefixSnapshotCheck;
import tutti.check.isolation.PrefixSnapshotCheck.Freshness;
import tutti.check.listappend.ListAppendCheck;
import tutti.check.model.ReplicatedModel.Fault;
import tutti.check.model.ReplicatedModel.Run;
import tutti.check.model.ReplicatedModel.Snapshots;
import tutti.check.replica.AcknowledgedHistoryCheck;
import tutti.check.replica.CommitSequenceCheck;
import tutti.check.replica.KeySequenceCheck;

/** Whatever a right store does passes; what a store that is wrong on purpose does is caught, and by whom. */
class ReplicatedModelTest {
    private static final int RIGHT_SEEDS = 150;
    private static final int WRONG_SEEDS = 20;

    private static List<CheckResult> all(Run run, List<Isolation> levels, List<Freshness> freshness) {
        List<CheckResult> results = new ArrayList<>();
        results.add(CommitSequenceCheck.check(run.history()));
        results.add(KeySequenceCheck.check(run.history()));
        results.add(AcknowledgedHistoryCheck.check(run.history()));
        levels.forEach(level -> results.add(IsolationCheck.check(run.history(), level)));
        levels.forEach(level -> results.add(ListAppendCheck.check(run.clients(), level)));
        freshness.forEach(fresh -> results.add(PrefixSnapshotCheck.check(run.history(), fresh)));
        return results;
    }

    private static void passes(boolean readsCertified, Snapshots snapshots, List<Isolation> levels,
            List<Freshness> freshness) {
        for (int seed = 0; seed < RIGHT_SEEDS; seed++) {
            Run run = ReplicatedModel.run(seed, 150, 4 + seed % 12, readsCertified, snapshots, Fault.NONE);
            for (CheckResult result : all(run, levels, freshness)) {
                assertTrue(result.passed(), "seed " + seed + ": " + result.text());
            }
        }
    }

    @Test
    void lazySnapshotsPass() {
        passes(false, Snapshots.OLD, List.of(Isolation.READ_COMMITTED, Isolation.SNAPSHOT_ISOLATION),
                List.of(Freshness.PLAIN));
    }

    @Test
    void snapshotsThatFollowTheSessionPass() {
        passes(false, Snapshots.SESSION,
                List.of(Isolation.SNAPSHOT_ISOLATION, Isolation.STRONG_SESSION_SNAPSHOT_ISOLATION),
                List.of(Freshness.PLAIN, Freshness.STRONG_SESSION));
    }

    @Test
    void latestSnapshotsPass() {
        passes(false, Snapshots.LATEST,
                List.of(Isolation.STRONG_SESSION_SNAPSHOT_ISOLATION, Isolation.STRONG_SNAPSHOT_ISOLATION),
                List.of(Freshness.values()));
    }

    @Test
    void certifiedReadsPass() {
        passes(true, Snapshots.OLD, List.of(Isolation.SERIALIZABLE), List.of(Freshness.PLAIN));
    }

    @Test
    void certifiedReadsOfLatestSnapshotsPass() {
        passes(true, Snapshots.LATEST, List.of(Isolation.values()), List.of(Freshness.values()));
    }

    /** In how many of the seeds somebody finds something. */
    private static int caught(Fault fault, boolean readsCertified, Snapshots snapshots,
            Function<Run, CheckResult> check) {
        int caught = 0;
        for (int seed = 0; seed < WRONG_SEEDS; seed++) {
            CheckResult result = check
                    .apply(ReplicatedModel.run(seed, 150, 4 + seed % 12, readsCertified, snapshots, fault));
            caught += result.passed() ? 0 : 1;
        }
        return caught;
    }

    private static final Map<String, Function<Run, CheckResult>> CHECKS = Map.ofEntries(
            Map.entry("sequences", run -> CommitSequenceCheck.check(run.history())),
            Map.entry("acknowledged", run -> AcknowledgedHistoryCheck.check(run.history())),
            Map.entry("prefix", run -> PrefixSnapshotCheck.check(run.history(), Freshness.PLAIN)),
            Map.entry("prefix strong", run -> PrefixSnapshotCheck.check(run.history(), Freshness.STRONG)),
            Map.entry("si", run -> IsolationCheck.check(run.history(), Isolation.SNAPSHOT_ISOLATION)),
            Map.entry("session si",
                    run -> IsolationCheck.check(run.history(), Isolation.STRONG_SESSION_SNAPSHOT_ISOLATION)),
            Map.entry("strong si", run -> IsolationCheck.check(run.history(), Isolation.STRONG_SNAPSHOT_ISOLATION)),
            Map.entry("serializable", run -> IsolationCheck.check(run.history(), Isolation.SERIALIZABLE)),
            Map.entry("clients si", run -> ListAppendCheck.check(run.clients(), Isolation.SNAPSHOT_ISOLATION)),
            Map.entry("clients session si",
                    run -> ListAppendCheck.check(run.clients(), Isolation.STRONG_SESSION_SNAPSHOT_ISOLATION)),
            Map.entry("clients strong si",
                    run -> ListAppendCheck.check(run.clients(), Isolation.STRONG_SNAPSHOT_ISOLATION)),
            Map.entry("clients serializable",
                    run -> ListAppendCheck.check(run.clients(), Isolation.SERIALIZABLE)),
            Map.entry("clients strict",
                    run -> ListAppendCheck.check(run.clients(), Isolation.STRICT_SERIALIZABLE)));

    @ParameterizedTest
    @CsvSource({
            "NO_FIRST_COMMITTER_WINS, false, LATEST, prefix", "NO_FIRST_COMMITTER_WINS, false, LATEST, si",
            "NO_FIRST_COMMITTER_WINS, false, LATEST, clients si",
            // Reads of snapshots that are not certified: write skew, which snapshot isolation allows.
            "NONE, false, LATEST, serializable", "NONE, false, LATEST, clients serializable",
            // Lazy snapshots where fresh ones are wanted.
            "NONE, false, OLD, prefix strong", "NONE, false, OLD, strong si", "NONE, false, OLD, clients strong si",
            "NONE, true, OLD, clients strict", "STALE_SNAPSHOT, false, SESSION, session si",
            "STALE_SNAPSHOT, false, SESSION, clients session si", "STALE_SNAPSHOT, false, LATEST, prefix strong",
            "READS_OF_SEVERAL_SNAPSHOTS, false, LATEST, prefix", "READS_OF_SEVERAL_SNAPSHOTS, false, LATEST, si",
            "READS_OF_SEVERAL_SNAPSHOTS, false, LATEST, clients si", "DIRTY_READ, false, LATEST, prefix",
            "DIRTY_READ, false, LATEST, si", "DIRTY_READ, false, LATEST, clients si",
            "LOST_WRITE, false, LATEST, sequences", "LOST_WRITE, false, LATEST, si",
            "LOST_WRITE, false, LATEST, clients si", "LOST_WRITE, false, LATEST, clients strong si",
            "APPLIED_TWICE, false, LATEST, clients si", "APPLIED_OUT_OF_ORDER, false, OLD, sequences",
            "APPLIED_OUT_OF_ORDER, false, OLD, prefix", "APPLIED_OUT_OF_ORDER, false, OLD, si",
            "APPLIED_OUT_OF_ORDER, false, OLD, clients si", "REPLY_BEFORE_ORDER, false, LATEST, acknowledged",
            "REPLY_BEFORE_ORDER, false, LATEST, clients si", "ABORTED_YET_APPLIED, false, LATEST, acknowledged",
            "ABORTED_YET_APPLIED, false, LATEST, clients si"})
    void whatIsWrongIsCaught(Fault fault, boolean readsCertified, Snapshots snapshots, String checker) {
        int caught = caught(fault, readsCertified, snapshots, CHECKS.get(checker));
        assertTrue(caught > 0, () -> "nothing found in " + WRONG_SEEDS + " seeds");
    }

    @Test
    void levelsSayHowFarItWentWrong() {
        Run right = ReplicatedModel.run(3, 300, 6, true, Snapshots.LATEST, Fault.NONE);
        assertTrue(IsolationCheck.levels(right.history()).values().stream().allMatch(holds -> holds));
        Map<Isolation, Boolean> skewed = IsolationCheck
                .levels(ReplicatedModel.run(3, 300, 6, false, Snapshots.LATEST, Fault.NONE).history());
        assertAll(() -> assertEquals(true, skewed.get(Isolation.STRONG_SNAPSHOT_ISOLATION)),
                () -> assertEquals(false, skewed.get(Isolation.SERIALIZABLE)),
                () -> assertEquals(false, skewed.get(Isolation.STRICT_SERIALIZABLE)));
    }
}
