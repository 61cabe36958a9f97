package tutti.check.replica;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.check.CheckResult;
import tutti.check.column.IntColumn;
import tutti.check.history.History;
import tutti.check.history.ReplicaLog;

/**
 * Checks that all replicas wrote each key in the same order. For protocols without a total order (locking with
 * two-phase commit, genuine partial replication), where transactions that do not meet may be applied in different
 * orders. Positions are not looked at. One that was down at the end may have less, but a prefix, of each key. Replicas
 * that started more than once are left out, since what a start brought with it is not known by key.
 *
 * <p>
 * O(w) for w writes applied in all.
 */
public final class KeySequenceCheck {
    private static final int VIOLATIONS_MAX = 20;

    private KeySequenceCheck() {}

    /** Checks. */
    public static CheckResult check(History history) {
        long begun = System.nanoTime();
        List<CheckResult.Violation> violations = new ArrayList<>();
        List<String> notes = new ArrayList<>();
        @Nullable
        IntColumn[] longest = new @Nullable IntColumn[history.keys()];
        int[] longestAt = new int[history.keys()];
        List<ReplicaLog> compared = new ArrayList<>();
        for (ReplicaLog replica : history.replicas()) {
            if (replica.lives().size() > 1) {
                notes.add("replica " + replica.replica() + " started more than once and is left out");
                continue;
            }
            compared.add(replica);
            @Nullable
            IntColumn[] sequences = sequences(history, replica);
            for (int key = 0; key < sequences.length; key++) {
                IntColumn sequence = sequences[key];
                IntColumn other = longest[key];
                if (sequence != null && other != null) {
                    compare(history, key, longestAt[key], other, replica.replica(), sequence, violations);
                }
                if (sequence != null && (other == null || sequence.size() > other.size())) {
                    longest[key] = sequence;
                    longestAt[key] = replica.replica();
                }
            }
        }
        for (ReplicaLog replica : compared) {
            if (!replica.crashed()) {
                complete(history, replica, longest, violations);
            }
        }
        return new CheckResult("equal sequences of each key", compared.size() + " replicas, " + history.keys()
                + " keys", violations, notes, (System.nanoTime() - begun) / 1e9);
    }

    private static @Nullable IntColumn[] sequences(History history, ReplicaLog replica) {
        @Nullable
        IntColumn[] sequences = new @Nullable IntColumn[history.keys()];
        for (int transaction : replica.lives().getFirst().transactions()) {
            for (int write = history.writesFrom(transaction); write < history.writesTo(transaction); write++) {
                int key = history.writeKey(write);
                IntColumn sequence = sequences[key];
                if (sequence == null) {
                    sequence = new IntColumn(4);
                    sequences[key] = sequence;
                }
                sequence.add(transaction);
            }
        }
        return sequences;
    }

    private static void compare(History history, int key, int replica, IntColumn one, int otherReplica, IntColumn other,
            List<CheckResult.Violation> violations) {
        for (int i = 0; i < Math.min(one.size(), other.size()); i++) {
            if (one.get(i) != other.get(i)) {
                add(violations, "same order", history.keyName(key), "write number " + (i + 1) + " was "
                        + history.name(one.get(i)) + " at replica " + replica + ", " + history.name(other.get(i))
                        + " at replica " + otherReplica);
                return;
            }
        }
    }

    private static void complete(History history, ReplicaLog replica, @Nullable IntColumn[] longest,
            List<CheckResult.Violation> violations) {
        @Nullable
        IntColumn[] sequences = sequences(history, replica);
        for (int key = 0; key < longest.length; key++) {
            IntColumn all = longest[key];
            IntColumn sequence = sequences[key];
            int size = sequence == null ? 0 : sequence.size();
            if (all != null && size < all.size()) {
                add(violations, "complete", history.keyName(key), "replica " + replica.replica() + " is up, but lacks "
                        + history.name(all.get(size)) + " and " + (all.size() - size - 1) + " later writes");
            }
        }
    }

    private static void add(List<CheckResult.Violation> violations, String rule, String subject, String text) {
        if (violations.size() < VIOLATIONS_MAX) {
            violations.add(CheckResult.Violation.of(rule, subject, text));
        }
    }
}
