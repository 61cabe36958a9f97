package tutti.check.listappend;

import tutti.check.column.IntColumn;
import tutti.check.column.LongIndex;
import tutti.workload.listappend.ListAppendHistory;

/**
 * Who appended which value to which key, and which of a transaction's appends to a key was its last. Keys are numbered;
 * an append is found by key and value in constant time.
 */
final class Appends {
    private final ListAppendHistory history;
    private final LongIndex keys = new LongIndex();
    private final LongIndex appends = new LongIndex();
    private final IntColumn transactions = new IntColumn();
    private final IntColumn operations = new IntColumn();
    /** Appends that were tried twice, as pairs of operations: the history cannot be judged by them. */
    private final IntColumn ambiguous = new IntColumn();

    Appends(ListAppendHistory history) {
        this.history = history;
        for (int t = 0; t < history.size(); t++) {
            for (int i = history.operationsFrom(t); i < history.operationsTo(t); i++) {
                int key = keys.add(history.key(i));
                if (history.isAppend(i)) {
                    int known = appends.size();
                    int append = appends.add(packed(key, history.appended(i)));
                    if (append == known) {
                        transactions.add(t);
                        operations.add(i);
                    } else {
                        ambiguous.add(operations.get(append));
                        ambiguous.add(i);
                    }
                }
            }
        }
    }

    private static long packed(int key, int value) {
        return (long) key << 32 | (value & 0xffff_ffffL);
    }

    int keys() {
        return keys.size();
    }

    /** The number of a key that occurs. */
    int key(long key) {
        return keys.find(key);
    }

    long keyOf(int number) {
        return keys.value(number);
    }

    /** The append of this value to this key, or -1 if nobody tried one. */
    int find(int key, int value) {
        return appends.find(packed(key, value));
    }

    /** How many different ones there are. */
    int size() {
        return transactions.size();
    }

    int transaction(int append) {
        return transactions.get(append);
    }

    int operation(int append) {
        return operations.get(append);
    }

    int keyOfAppend(int append) {
        return (int) (appends.value(append) >>> 32);
    }

    IntColumn ambiguous() {
        return ambiguous;
    }

    /** The transaction's next append to the same key after this one, or -1. */
    int following(int append) {
        int t = transaction(append);
        int operation = operation(append);
        for (int i = operation + 1; i < history.operationsTo(t); i++) {
            if (history.isAppend(i) && history.key(i) == history.key(operation)) {
                return find(keyOfAppend(append), history.appended(i));
            }
        }
        return -1;
    }
}
