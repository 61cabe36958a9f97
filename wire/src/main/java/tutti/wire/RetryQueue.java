package tutti.wire;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntSupplier;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;

/**
 * Lets transactions of a node that have lost the same key run one after the other, so that they do not go on losing it to each
 * other. Those that have lost different keys, and those that have not lost, run side by side.
 *
 * <p>
 * <b>The rule.</b> A transaction gets its number when it loses for the first time, and keeps it. Its turn has come as soon as no
 * transaction with a smaller number stands in line for one of the keys that it has lost itself.
 *
 * <p>
 * <b>Why nobody waits for ever.</b> Whoever waits, waits for smaller numbers only. So among those who have not ended the one with the
 * smallest number waits for nobody, and whoever is first leaves when it is over. A transaction that loses a further key may come to
 * stand before one whose turn had come: both run then, which can cost a repetition and nothing else.
 *
 * <p>
 * Safe for use from any thread; what it runs, it runs in the call of whoever lets it. A session stands in line once, for as many keys as it
 * has lost in one transaction.
 */
public final class RetryQueue {
    /** A transaction's place in the lines of all keys that it has lost. */
    public final class Place {
        /* All of these are guarded by the lines. */
        private long number;
        private long[] keys = {};
        /** What is run when its turn has come; null if it has come. */
        private @Nullable Runnable then;

        private Place() {}

        /**
         * It has lost these keys, beside those that it had lost before. Runs this once when its turn has come, perhaps at once; quick, and on
         * any thread. In place of what was to be run.
         */
        public void whenItsTurn(long[] lost, Runnable run) {
            boolean now;
            synchronized (lines) {
                if (number == 0) {
                    number = ++last;
                }
                for (long key : lost) {
                    if (lines.computeIfAbsent(key, _ -> new TreeMap<>()).putIfAbsent(number, this) == null) {
                        keys = Arrays.copyOf(keys, keys.length + 1);
                        keys[keys.length - 1] = key;
                    }
                }
                now = isFirst();
                then = now ? null : run;
            }
            if (now) {
                run.run();
            }
        }

        private boolean isFirst() {
            for (long key : keys) {
                TreeMap<Long, Place> line = lines.get(key);
                if (line != null && line.firstKey() < number) {
                    return false;
                }
            }
            return true;
        }

        /** It is over, or does not want to wait any longer. More than once does nothing. */
        public void leave() {
            List<Runnable> next = new ArrayList<>(keys.length);
            synchronized (lines) {
                for (long key : keys) {
                    TreeMap<Long, Place> line = lines.get(key);
                    if (line != null) {
                        line.remove(number);
                    }
                    if (line != null && line.isEmpty()) {
                        lines.remove(key);
                    }
                }
                for (long key : keys) {
                    TreeMap<Long, Place> line = lines.get(key);
                    Place first = line == null ? null : line.firstEntry().getValue();
                    if (first != null && first.then != null && first.isFirst()) {
                        next.add(first.then);
                        first.then = null;
                    }
                }
                keys = new long[0];
                then = null;
            }
            next.forEach(Runnable::run);
        }
    }

    /** For each key that has been lost by somebody who is not over: who, by number. Guards everything. */
    private final Map<Long, TreeMap<Long, Place>> lines = new HashMap<>();
    private long last;

    /** By which keys somebody loses who has looked for this: of rows, and of tables that were looked through. */
    public static long[] keys(ReadSet reads) {
        KeySet keys = reads.tableKeys();
        LongStream.Builder lost = LongStream.builder();
        for (int i = 0; i < keys.size(); i++) {
            if (keys.kind(i) == KeyKind.SCAN) {
                lost.add(keys.hash(i));
            }
        }
        return LongStream.concat(lost.build(), LongStream.of(reads.rowKeys())).toArray();
    }

    /**
     * Under which key a statement is booked ({@link tutti.node.Transactions#book}).
     *
     * @param text a hash of its text, which is the upper half
     * @param looked what it looks for, null if that is not known
     * @param values a hash of its values; the lower half is of the rows, if they are known by their keys, and of these otherwise
     */
    public static long booking(int text, @Nullable ReadSet looked, IntSupplier values) {
        long[] rows = looked == null ? new long[0] : looked.rowKeys();
        boolean known = looked != null && rows.length > 0 && keys(looked).length == rows.length;
        int what = known ? Arrays.hashCode(rows) : values.getAsInt();
        return (long) text << Integer.SIZE | (what & 0xffff_ffffL);
    }

    /** A place that is in no line yet. */
    public Place enter() {
        return new Place();
    }

    /** The keys that somebody stands in line for. */
    long[] keys() {
        synchronized (lines) {
            return lines.keySet().stream().mapToLong(Long::longValue).sorted().toArray();
        }
    }
}
