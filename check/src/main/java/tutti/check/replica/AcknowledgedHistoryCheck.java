package tutti.check.replica;

import java.util.ArrayList;
import java.util.List;
import tutti.check.CheckResult;
import tutti.check.history.History;
import tutti.check.history.ReplicaLog;

/**
 * Checks that every transaction that a client was told had committed was applied by some replica, and none that a
 * client was told had failed. With {@link CommitSequenceCheck}, which finds that all replicas applied the same, this
 * makes it "by every replica". A client that was told nothing allows both. Finds answers given before the order was
 * certain, and answers that were wrong. {@link tutti.check.AcknowledgedCheck} asks the same of a TPC-C database from
 * outside.
 *
 * <p>
 * Linear in the transactions and applications.
 */
public final class AcknowledgedHistoryCheck {
    private static final int VIOLATIONS_MAX = 20;

    private AcknowledgedHistoryCheck() {}

    /** Checks. */
    public static CheckResult check(History history) {
        long begun = System.nanoTime();
        int[] appliedBy = new int[history.transactions()];
        for (ReplicaLog replica : history.replicas()) {
            for (ReplicaLog.Life life : replica.lives()) {
                for (int transaction : life.transactions()) {
                    appliedBy[transaction] = replica.replica() + 1;
                }
            }
        }
        List<CheckResult.Violation> violations = new ArrayList<>();
        int acknowledged = 0;
        int unknown = 0;
        for (int t = 0; t < history.transactions() && violations.size() < VIOLATIONS_MAX; t++) {
            switch (history.answer(t)) {
                case COMMITTED -> {
                    acknowledged++;
                    if (history.writes(t) && appliedBy[t] == 0) {
                        violations.add(CheckResult.Violation.of("acknowledged is present", history.name(t),
                                "its client was told that it had committed, but no replica applied it"));
                    }
                }
                case ABORTED -> {
                    if (appliedBy[t] != 0) {
                        violations.add(CheckResult.Violation.of("aborted is absent", history.name(t),
                                "its client was told that it had failed, but replica " + (appliedBy[t] - 1)
                                        + " applied it"));
                    }
                }
                case NONE -> unknown++;
            }
        }
        return new CheckResult("acknowledged transactions are present", acknowledged + " acknowledged, " + unknown
                + " unknown, of " + history.transactions(), violations, List.of(), (System.nanoTime() - begun) / 1e9);
    }
}
