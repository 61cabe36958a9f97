package tutti.check.replica;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.check.CheckResult;
import tutti.check.column.IntColumn;
import tutti.check.column.LongColumn;
import tutti.check.column.LongIndex;
import tutti.check.history.History;
import tutti.check.history.ReplicaLog;

/**
 * Checks that all replicas applied the same transactions in the same order, and that their state was the same after
 * each. One that was down at the end may have applied less, but nothing else: a prefix. Names the first position at
 * which something differs, and the transactions there.
 *
 * <p>
 * Positions name places in the total order. Each place belongs to one transaction, and each transaction to one place. A
 * life of a replica begins after the position whose state it started from, and then applies every place that any replica
 * has applied, in their order. States are compared where both replicas took a hash. A replica that is up at the end has
 * applied the last place. So the runs to be checked end when the replicas have come to rest.
 *
 * <p>
 * O(a + p log p) for a applications in all and p positions.
 */
public final class CommitSequenceCheck {
    private static final int VIOLATIONS_MAX = 20;

    private final History history;
    private final LongIndex places = new LongIndex();
    private final IntColumn transactions = new IntColumn();
    private final LongColumn states = new LongColumn();
    private final IntColumn statesOf = new IntColumn();
    private final IntColumn toldBy = new IntColumn();
    private final List<CheckResult.Violation> violations = new ArrayList<>();

    private CommitSequenceCheck(History history) {
        this.history = history;
    }

    /** Checks. */
    public static CheckResult check(History history) {
        long begun = System.nanoTime();
        CommitSequenceCheck check = new CommitSequenceCheck(history);
        long applications = 0;
        int lives = 0;
        for (ReplicaLog replica : history.replicas()) {
            for (ReplicaLog.Life life : replica.lives()) {
                applications += life.size();
                lives++;
            }
        }
        if (check.contents()) {
            check.sequences();
        }
        return new CheckResult("equal commit sequences", history.replicas().size() + " replicas in " + lives
                + " lives, " + check.places.size() + " positions, " + applications + " applications", check.violations,
                List.of(), (System.nanoTime() - begun) / 1e9);
    }

    /** What lies at each position; whether everybody agrees on the transactions. */
    private boolean contents() {
        long divergedAt = Long.MAX_VALUE;
        CheckResult.Violation divergence = null;
        for (ReplicaLog replica : history.replicas()) {
            for (ReplicaLog.Life life : replica.lives()) {
                for (int i = 0; i < life.size(); i++) {
                    long position = life.positions()[i];
                    int place = places.add(position);
                    if (place == transactions.size()) {
                        transactions.add(life.transactions()[i]);
                        states.add(life.states()[i]);
                        statesOf.add(replica.replica());
                        toldBy.add(replica.replica());
                    }
                    CheckResult.Violation violation = compare(replica.replica(), life, i, place);
                    if (violation != null && position < divergedAt) {
                        divergedAt = position;
                        divergence = violation;
                    }
                }
            }
        }
        if (divergence != null) {
            violations.add(divergence);
            return false;
        }
        return onePlaceEach();
    }

    private CheckResult.@Nullable Violation compare(int replica, ReplicaLog.Life life, int i,
            int place) {
        long position = life.positions()[i];
        int transaction = life.transactions()[i];
        if (transactions.get(place) != transaction) {
            return CheckResult.Violation.of("same transaction", "position " + position,
                    "the first position at which replicas differ: replica " + toldBy.get(place) + " applied "
                            + history.name(transactions.get(place)) + ", replica " + replica + " "
                            + history.name(transaction));
        }
        long state = life.states()[i];
        if (states.get(place) == 0) {
            states.set(place, state);
            statesOf.set(place, replica);
        } else if (state != 0 && state != states.get(place)) {
            return CheckResult.Violation.of("same state", "position " + position,
                    "the first position after which states differ: after " + history.name(transaction) + " replica "
                            + statesOf.get(place) + " had " + Long.toHexString(states.get(place)) + ", replica "
                            + replica + " " + Long.toHexString(state));
        }
        return null;
    }

    private boolean onePlaceEach() {
        long[] placeOf = new long[history.transactions()];
        for (int place = 0; place < places.size(); place++) {
            int transaction = transactions.get(place);
            if (placeOf[transaction] != 0) {
                add("applied once", history.name(transaction), "it was applied at position " + placeOf[transaction]
                        + " and again at position " + places.value(place));
            }
            placeOf[transaction] = places.value(place);
        }
        return violations.isEmpty();
    }

    private void sequences() {
        long[] sorted = places.toArray();
        Arrays.sort(sorted);
        for (ReplicaLog replica : history.replicas()) {
            boolean inOrder = true;
            for (ReplicaLog.Life life : replica.lives()) {
                inOrder &= sequence(replica, life, sorted);
            }
            long last = replica.lives().getLast().last();
            if (inOrder && !replica.crashed() && sorted.length > 0 && last < sorted[sorted.length - 1]) {
                add("complete", "replica " + replica.replica(), "it is up, but has applied nothing after position "
                        + last + "; next would be " + told(after(sorted, last), sorted));
            }
        }
    }

    private boolean sequence(ReplicaLog replica, ReplicaLog.Life life, long[] sorted) {
        int expected = after(sorted, life.after());
        for (int i = 0; i < life.size(); i++) {
            long position = life.positions()[i];
            if (position != sorted[Math.min(expected, sorted.length - 1)]) {
                boolean back = expected >= sorted.length || position < sorted[expected];
                add(back ? "increasing" : "no gap", "replica " + replica.replica(), "it applied "
                        + history.name(life.transactions()[i]) + " at position " + position + " after position "
                        + (i == 0 ? life.after() : life.positions()[i - 1])
                        + (back ? ", that is, back in the order" : ", and left out " + told(expected, sorted)));
                return false;
            }
            expected++;
        }
        return true;
    }

    private static int after(long[] sorted, long position) {
        int found = Arrays.binarySearch(sorted, position);
        return found >= 0 ? found + 1 : -found - 1;
    }

    private String told(int rank, long[] sorted) {
        int place = places.find(sorted[rank]);
        return history.name(transactions.get(place)) + " at position " + sorted[rank] + ", which replica "
                + toldBy.get(place) + " applied";
    }

    private void add(String rule, String subject, String text) {
        if (violations.size() < VIOLATIONS_MAX) {
            violations.add(CheckResult.Violation.of(rule, subject, text));
        }
    }
}
