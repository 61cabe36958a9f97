package tutti.check.isolation;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongFunction;
import tutti.check.CheckResult;
import tutti.check.history.History;
import tutti.core.txn.RowLock;
import tutti.core.txn.TransactionId;

/**
 * Checks that locks exclude: of two transactions with positions whose locks on one thing conflict, the later one has a snapshot that holds the position
 * of the earlier one, so it has read and decided behind it. This is more than any level of isolation asks for: under snapshot isolation
 * two transactions that lock one row, each read what the other changes, and change different rows, are a write skew; with a lock that excludes
 * they are none (docs/decisions/0128). One pair is left out: who changes a row that an earlier one has locked {@code FOR SHARE} may not have seen that one.
 *
 * <p>
 * O(n log n + p) for n locks, and p pairs of transactions that hold one thing at the same time.
 */
public final class LockExclusionCheck {
    private static final int VIOLATIONS_MAX = 20;

    private LockExclusionCheck() {}

    /**
     * What a transaction holds.
     *
     * @param thing that it holds, by its number
     * @param lock how
     * @param changed whether it is a row that it changes; otherwise one that it has locked, or refers to
     */
    public record Hold(long thing, RowLock lock, boolean changed) {
        /** Whether a later one may not have this beside it. */
        boolean excludes(Hold later) {
            return lock.conflictsWith(later.lock)
                    && !(lock == RowLock.SHARE && later.changed && later.lock == RowLock.NO_KEY_UPDATE);
        }
    }

    private record Holder(long position, int transaction, Hold hold) {}

    /**
     * Checks.
     *
     * @param held by transaction what it holds
     * @param names of things, for people
     */
    public static CheckResult check(History history, Map<TransactionId, List<Hold>> held,
            LongFunction<String> names) {
        long begun = System.nanoTime();
        Map<Long, List<Holder>> holders = new TreeMap<>();
        int examined = 0;
        for (int t = 0; t < history.transactions(); t++) {
            List<Hold> locks = held.get(history.id(t));
            if (locks != null && history.position(t) > 0 && history.snapshot(t) != History.NO_SNAPSHOT) {
                examined++;
                for (Hold hold : locks) {
                    holders.computeIfAbsent(hold.thing, _ -> new ArrayList<>())
                            .add(new Holder(history.position(t), t, hold));
                }
            }
        }
        List<CheckResult.Violation> violations = new ArrayList<>();
        holders.forEach((thing, all) -> {
            all.sort((a, b) -> Long.compare(a.position, b.position));
            for (int i = 1; i < all.size() && violations.size() < VIOLATIONS_MAX; i++) {
                compare(history, names.apply(thing), all, i, violations);
            }
        });
        return new CheckResult("locks exclude", examined + " transactions", violations, List.of(),
                (System.nanoTime() - begun) / 1e9);
    }

    /** One of them with those whose positions its snapshot lacks. */
    private static void compare(History history, String thing, List<Holder> all, int number,
            List<CheckResult.Violation> violations) {
        Holder later = all.get(number);
        long snapshot = history.snapshot(later.transaction);
        for (int i = number - 1; i >= 0 && all.get(i).position > snapshot; i--) {
            Holder earlier = all.get(i);
            if (earlier.transaction != later.transaction && earlier.hold.excludes(later.hold)) {
                violations.add(CheckResult.Violation.of("exclusion",
                        history.name(later.transaction) + ", " + history.name(earlier.transaction),
                        "both held " + thing + ": " + history.name(earlier.transaction) + " " + earlier.hold.lock
                                + " at position " + earlier.position + ", and " + history.name(later.transaction) + " "
                                + later.hold.lock + " at position " + later.position + " with a snapshot of position "
                                + snapshot));
                return;
            }
        }
    }
}
