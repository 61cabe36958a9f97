package tutti.check.isolation;

import java.util.ArrayList;
import java.util.List;
import tutti.check.CheckResult;
import tutti.check.column.IndexSort;
import tutti.check.column.IntColumn;
import tutti.check.history.History;

/**
 * The order in which the versions of each key were written: that of the positions of the transactions that wrote them.
 * Sorting apart, linear; immutable.
 */
final class VersionOrder {
    private final History history;
    /** Writers of key k, by position: from starts[k] to starts[k + 1] exclusive. */
    private final int[] starts;
    private final int[] writers;
    /** Transactions with a position that wrote something, by position. */
    private final int[] byPosition;

    VersionOrder(History history) {
        this.history = history;
        IntColumn writing = new IntColumn();
        starts = new int[history.keys() + 1];
        for (int t = 0; t < history.transactions(); t++) {
            if (history.position(t) > 0 && history.writes(t)) {
                writing.add(t);
                for (int write = history.writesFrom(t); write < history.writesTo(t); write++) {
                    starts[history.writeKey(write) + 1]++;
                }
            }
        }
        for (int key = 0; key < history.keys(); key++) {
            starts[key + 1] += starts[key];
        }
        byPosition = writing.toArray();
        long[] positions = new long[history.transactions()];
        for (int t = 0; t < positions.length; t++) {
            positions[t] = history.position(t);
        }
        IndexSort.sort(byPosition, positions);
        writers = new int[starts[history.keys()]];
        int[] next = starts.clone();
        for (int t : byPosition) {
            for (int write = history.writesFrom(t); write < history.writesTo(t); write++) {
                writers[next[history.writeKey(write)]++] = t;
            }
        }
    }

    int from(int key) {
        return starts[key];
    }

    int to(int key) {
        return starts[key + 1];
    }

    /** The writer of a version, by index between {@link #from} and {@link #to} of its key. */
    int writer(int version) {
        return writers[version];
    }

    /**
     * The version of a key that this transaction wrote; that before the first one for the initial version; -2 if the
     * transaction wrote none that is in the history.
     */
    int version(int key, int writer) {
        if (writer == History.INITIAL) {
            return starts[key] - 1;
        }
        int low = starts[key];
        int high = starts[key + 1] - 1;
        long position = history.position(writer);
        while (low <= high) {
            int middle = (low + high) >>> 1;
            if (history.position(writers[middle]) < position) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return low < starts[key + 1] && writers[low] == writer ? low : -2;
    }

    /** What makes positions and reads unfit to be compared, whatever the isolation level. */
    List<CheckResult.Violation> contradictions() {
        List<CheckResult.Violation> found = new ArrayList<>();
        for (int i = 1; i < byPosition.length; i++) {
            long position = history.position(byPosition[i]);
            if (position == history.position(byPosition[i - 1])) {
                found.add(CheckResult.Violation.of("one position each",
                        history.name(byPosition[i - 1]) + ", " + history.name(byPosition[i]),
                        "both have position " + position));
            }
        }
        for (int t = 0; t < history.transactions(); t++) {
            if (!history.committed(t)) {
                continue;
            }
            for (int read = history.readsFrom(t); read < history.readsTo(t); read++) {
                int writer = history.readWriter(read);
                if (writer == t || version(history.readKey(read), writer) != -2) {
                    continue;
                }
                String subject = history.name(t) + ", " + history.name(writer);
                String key = history.keyName(history.readKey(read));
                if (history.position(writer) > 0) {
                    found.add(CheckResult.Violation.of("read of nothing", subject, history.name(t) + " read " + key
                            + " as written by " + history.name(writer) + ", which did not write it"));
                } else {
                    found.add(CheckResult.Violation.of("G1a (aborted read)", subject,
                            history.name(t) + " committed and had read what " + history.name(writer) + " wrote to "
                                    + key + ", but " + history.name(writer) + " never committed at any position"));
                }
            }
        }
        return found;
    }
}
