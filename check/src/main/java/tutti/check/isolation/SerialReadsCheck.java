package tutti.check.isolation;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;
import tutti.check.CheckResult;
import tutti.check.history.History;

/**
 * Checks that some transactions are serializable though others need not be: each of them that has a position read, of every key, the last version
 * before it. Then it has read what it would have read had it run alone there, and the total order is the serial one. Transactions that changed nothing
 * have no position: for them {@link PrefixSnapshotCheck} says the same of a place behind their snapshot (docs/decisions/0040).
 *
 * <p>
 * O(r log v) for r reads and v versions of a key.
 */
public final class SerialReadsCheck {
    private static final int VIOLATIONS_MAX = 20;

    private SerialReadsCheck() {}

    /**
     * Checks.
     *
     * @param serializable which transactions are to be, by their numbers
     */
    public static CheckResult check(History history, IntPredicate serializable) {
        long begun = System.nanoTime();
        VersionOrder versions = new VersionOrder(history);
        List<CheckResult.Violation> violations = new ArrayList<>(versions.contradictions());
        int examined = 0;
        for (int t = 0; t < history.transactions() && violations.size() < VIOLATIONS_MAX; t++) {
            if (history.position(t) > 0 && serializable.test(t)) {
                examined++;
                violations.addAll(stale(history, versions, t));
            }
        }
        return new CheckResult("serializable transactions read what was before them", examined + " transactions",
                violations, List.of(), (System.nanoTime() - begun) / 1e9);
    }

    private static List<CheckResult.Violation> stale(History history, VersionOrder versions, int t) {
        List<CheckResult.Violation> found = new ArrayList<>();
        for (int read = history.readsFrom(t); read < history.readsTo(t); read++) {
            int key = history.readKey(read);
            int version = versions.version(key, history.readWriter(read));
            if (history.readWriter(read) == t || version == -2 || version + 1 == versions.to(key)) {
                continue;
            }
            int overwrote = versions.writer(version + 1);
            if (overwrote != t && history.position(overwrote) < history.position(t)) {
                found.add(CheckResult.Violation.of("stale read", history.name(t) + ", " + history.name(overwrote),
                        history.name(t) + " committed at " + history.position(t) + " and had read "
                                + history.keyName(key)
                                + " before " + history.name(overwrote) + " wrote it at "
                                + history.position(overwrote)));
            }
        }
        return found;
    }
}
