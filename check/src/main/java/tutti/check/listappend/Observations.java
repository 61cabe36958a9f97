package tutti.check.listappend;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.check.CheckResult;
import tutti.workload.client.ClientOutcome;
import tutti.workload.listappend.ListAppendHistory;

/**
 * What the reads of a list-append history tell for certain: which transactions committed, in which order values were
 * appended to each key, and what each read saw of it. Finds whatever contradicts that there is such an order at all:
 * lists that are no prefixes of each other, values that nobody appended, that were rolled back, doubled, torn apart or
 * lost, and transactions that do not find again what they did or read themselves. Linear in the values read.
 */
final class Observations {
    private static final int VIOLATIONS_MAX = 20;

    private final ListAppendHistory history;
    private final Appends appends;
    private final boolean repeatsReads;
    private final ListAppendText words;
    private final List<CheckResult.Violation> violations = new ArrayList<>();
    private final boolean[] committed;
    // By operation: how much of the list that it read was there before the transaction's own appends; -1 if it is not a
    // read, is not one of a committed transaction, or is not fit to draw conclusions from.
    private final int[] before;
    // By key: the operation that read the longest list, or -1.
    private final int[] longest;
    // By append: its place in the longest list of its key, or -1 if it is not there.
    private final int[] places;

    Observations(ListAppendHistory history, Appends appends, boolean repeatsReads) {
        this.history = history;
        this.appends = appends;
        this.repeatsReads = repeatsReads;
        words = new ListAppendText(history, appends);
        committed = new boolean[history.size()];
        before = new int[history.size() == 0 ? 0 : history.operationsTo(history.size() - 1)];
        longest = new int[appends.keys()];
        places = new int[appends.size()];
        Arrays.fill(before, -1);
        Arrays.fill(longest, -1);
        Arrays.fill(places, -1);
        whoCommitted();
        internal();
        orders();
        prefixes();
        lost();
    }

    /** Whether it committed for certain: its client was told so, or another that committed saw an append of it. */
    boolean committed(int transaction) {
        return committed[transaction];
    }

    /** Length of the known order of a key's appends. */
    int length(int key) {
        return longest[key] < 0 ? 0 : history.length(longest[key]);
    }

    /** The transaction whose append is at this place of a key's order; -1 if it is not one that committed. */
    int writer(int key, int place) {
        int append = appends.find(key, history.value(longest[key], place));
        return append >= 0 && committed[appends.transaction(append)] ? appends.transaction(append) : -1;
    }

    /** Values that a read saw and that were not the transaction's own; -1 if the read is of no use. */
    int before(int operation) {
        return before[operation];
    }

    /** Whether an append is in the known order of its key. */
    boolean seen(int append) {
        return places[append] >= 0;
    }

    List<CheckResult.Violation> violations() {
        return violations;
    }

    // An unknown outcome is known once somebody who committed has read it.
    private void whoCommitted() {
        boolean unknown = false;
        for (int t = 0; t < history.size(); t++) {
            committed[t] = history.outcome(t) == ClientOutcome.OK;
            unknown |= history.outcome(t) == ClientOutcome.UNKNOWN;
        }
        for (int t = 0; unknown && t < history.size(); t++) {
            if (history.outcome(t) != ClientOutcome.OK) {
                continue;
            }
            for (int i = history.operationsFrom(t); i < history.operationsTo(t); i++) {
                if (!history.isAppend(i)) {
                    infer(i);
                }
            }
        }
    }

    private void infer(int read) {
        int key = appends.key(history.key(read));
        for (int place = history.length(read) - 1; place >= 0; place--) {
            int append = appends.find(key, history.value(read, place));
            if (append >= 0 && history.outcome(appends.transaction(append)) == ClientOutcome.UNKNOWN) {
                committed[appends.transaction(append)] = true;
            }
        }
    }

    // Within a transaction: its own appends stand at the end of what it reads, behind what it read before.
    private void internal() {
        int[] lastTransaction = new int[appends.keys()];
        int[] earlierRead = new int[appends.keys()];
        int[] ownAppends = new int[appends.keys()];
        Arrays.fill(lastTransaction, -1);
        for (int t = 0; t < history.size(); t++) {
            if (!committed[t]) {
                continue;
            }
            for (int i = history.operationsFrom(t); i < history.operationsTo(t); i++) {
                int key = appends.key(history.key(i));
                if (lastTransaction[key] != t) {
                    lastTransaction[key] = t;
                    earlierRead[key] = -1;
                    ownAppends[key] = 0;
                }
                if (history.isAppend(i)) {
                    ownAppends[key]++;
                    continue;
                }
                if (!endsWithOwn(t, i, ownAppends[key])) {
                    add("internal", t, -1, words.transaction(t) + " does not find its own appends at the end of list "
                            + history.key(i) + ": it read " + words.list(i));
                    continue;
                }
                before[i] = history.length(i) - ownAppends[key];
                int earlier = earlierRead[key];
                if (earlier >= 0 && repeatsReads
                        && (before[earlier] != before[i] || !samePrefix(earlier, i, before[i]))) {
                    add("internal", t, -1, words.transaction(t) + " read list " + history.key(i) + " as "
                            + words.list(earlier) + ", and later as " + words.list(i));
                }
                if (earlier < 0) {
                    earlierRead[key] = i;
                }
            }
        }
    }

    private boolean endsWithOwn(int t, int read, int own) {
        int place = history.length(read) - own;
        if (own == 0) {
            return true;
        }
        if (place < 0) {
            return false;
        }
        for (int i = history.operationsFrom(t); i < read; i++) {
            if (history.isAppend(i) && history.key(i) == history.key(read)
                    && history.value(read, place++) != history.appended(i)) {
                return false;
            }
        }
        return true;
    }

    private boolean samePrefix(int read, int other, int length) {
        for (int place = 0; place < length; place++) {
            if (history.value(read, place) != history.value(other, place)) {
                return false;
            }
        }
        return true;
    }

    private void orders() {
        for (int i = 0; i < before.length; i++) {
            if (before[i] >= 0) {
                int key = appends.key(history.key(i));
                if (longest[key] < 0 || history.length(i) > history.length(longest[key])) {
                    longest[key] = i;
                }
            }
        }
        for (int key = 0; key < longest.length; key++) {
            if (longest[key] >= 0) {
                values(longest[key], places);
                contiguous(key);
            }
        }
    }

    /** Looks at every value of a list: somebody must have appended it, once, and committed. */
    private void values(int read, int @Nullable [] placesFound) {
        int key = appends.key(history.key(read));
        for (int place = 0; place < history.length(read); place++) {
            int value = history.value(read, place);
            int append = appends.find(key, value);
            if (append < 0) {
                add("value from nowhere", readerOf(read), -1, words.transaction(readerOf(read)) + " read " + value
                        + " in list " + history.key(read) + ", which nobody appended: " + words.list(read));
                continue;
            }
            int writer = appends.transaction(append);
            if (history.outcome(writer) == ClientOutcome.FAILED) {
                add("G1a (aborted read)", readerOf(read), writer, words.transaction(readerOf(read)) + " read " + value
                        + " in list " + history.key(read) + ", but " + words.transaction(writer)
                        + ", which appended it, was rolled back");
            }
            if (placesFound != null) {
                if (placesFound[append] >= 0) {
                    add("duplicate append", readerOf(read), writer, words.transaction(readerOf(read)) + " read " + value
                            + " twice in list " + history.key(read) + ", at places " + placesFound[append] + " and "
                            + place + "; " + words.transaction(writer) + " appended it once");
                } else {
                    placesFound[append] = place;
                }
            }
        }
    }

    // A transaction's appends to a key become visible together, so nothing can lie between them.
    private void contiguous(int key) {
        int read = longest[key];
        for (int place = 0; place + 1 < history.length(read); place++) {
            int append = appends.find(key, history.value(read, place));
            int following = append < 0 ? -1 : appends.following(append);
            if (following >= 0 && appends.find(key, history.value(read, place + 1)) != following) {
                add("G0 (dirty write)", readerOf(read), appends.transaction(append), words.transaction(
                        appends.transaction(append)) + " appended " + history.value(read, place) + " and then "
                        + history.appended(appends.operation(following)) + " to list " + history.key(read)
                        + ", but between them lies something else: " + words.list(read));
            }
        }
    }

    private void prefixes() {
        for (int t = 0; t < history.size(); t++) {
            for (int i = history.operationsFrom(t); i < history.operationsTo(t); i++) {
                if (before[i] < 0) {
                    continue;
                }
                int key = appends.key(history.key(i));
                int read = longest[key];
                if (read != i && !samePrefix(read, i, history.length(i))) {
                    add("incompatible orders", t, readerOf(read), words.transaction(t) + " read list " + history.key(i)
                            + " as " + words.list(i) + ", " + words.transaction(readerOf(read)) + " as "
                            + words.list(read) + ": neither is the beginning of the other, " + difference(i, read));
                    before[i] = -1;
                    values(i, null);
                } else if (before[i] > 0) {
                    intermediate(t, i, key);
                }
            }
        }
    }

    private String difference(int read, int longer) {
        for (int place = 0; place < history.length(read); place++) {
            if (history.value(read, place) != history.value(longer, place)) {
                return "at place " + place + " stand " + history.value(read, place) + " and "
                        + history.value(longer, place);
            }
        }
        throw new IllegalArgumentException("one is the beginning of the other");
    }

    private void intermediate(int t, int read, int key) {
        int append = appends.find(key, history.value(read, before[read] - 1));
        int following = append < 0 ? -1 : appends.following(append);
        if (following >= 0 && appends.transaction(append) != t) {
            int writer = appends.transaction(append);
            add("G1b (intermediate read)", t, writer,
                    words.transaction(t) + " read list " + history.key(read) + " up to "
                            + history.value(read, before[read] - 1) + ", without "
                            + history.appended(appends.operation(following)) + ", which "
                            + words.transaction(writer) + " appended after it in the same transaction");
        }
    }

    // What was acknowledged is in every list that was read after everything had come to rest.
    private void lost() {
        int[] shortestLast = new int[appends.keys()];
        Arrays.fill(shortestLast, -1);
        for (int t = 0; t < history.size(); t++) {
            for (int i = history.operationsFrom(t); history.last(t) && i < history.operationsTo(t); i++) {
                int key = appends.key(history.key(i));
                if (before[i] >= 0 && (shortestLast[key] < 0
                        || history.length(i) < history.length(shortestLast[key]))) {
                    shortestLast[key] = i;
                }
            }
        }
        for (int append = 0; append < appends.size(); append++) {
            int writer = appends.transaction(append);
            int read = shortestLast[appends.keyOfAppend(append)];
            if (read >= 0 && history.outcome(writer) == ClientOutcome.OK && !history.last(writer)
                    && (places[append] < 0 || places[append] >= history.length(read))) {
                add("lost append", writer, readerOf(read), words.transaction(writer) + " appended "
                        + history.appended(appends.operation(append)) + " to list " + history.key(read)
                        + " and committed, but " + words.transaction(readerOf(read))
                        + ", which read it after the end at node " + history.node(readerOf(read))
                        + ", did not find it: " + words.list(read));
            }
        }
    }

    /** The transaction of an operation. */
    private int readerOf(int operation) {
        int low = 0;
        int high = history.size() - 1;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (history.operationsTo(middle) <= operation) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    private void add(String rule, int transaction, int other, String text) {
        if (violations.size() < VIOLATIONS_MAX) {
            violations.add(new CheckResult.Violation(rule,
                    words.transaction(transaction) + (other < 0 ? "" : ", " + words.transaction(other)), text, 1,
                    other < 0 || other == transaction
                            ? List.of(words.row(transaction))
                            : List.of(words.row(transaction), words.row(other))));
        }
    }
}
