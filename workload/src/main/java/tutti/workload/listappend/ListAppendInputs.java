package tutti.workload.listappend;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * What list-append clients do: transactions over a window of keys that moves on as lists fill up. Low keys of the window
 * are used more often. No value is appended to a key twice, by whatever transaction, so that a value names its append. The
 * same seed and calls give the same transactions. One thread.
 */
public final class ListAppendInputs {
    private final ListAppendOptions options;
    private final SplittableRandom random;
    private final long[] keys;
    private final int[] appended;
    private long nextKey;

    /** The first transactions of this seed. */
    public ListAppendInputs(ListAppendOptions options, long seed) {
        this.options = options;
        random = new SplittableRandom(seed);
        keys = new long[options.keys()];
        appended = new int[options.keys()];
        for (int i = 0; i < keys.length; i++) {
            keys[i] = nextKey++;
        }
    }

    /** The next transaction. */
    public List<ListAppendStep> next(boolean readOnly) {
        int count = random.nextInt(options.operationsMin(), options.operationsMax() + 1);
        List<ListAppendStep> steps = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            // The lower of two draws: the lowest key is used about twice as often as on average.
            int slot = Math.min(random.nextInt(keys.length), random.nextInt(keys.length));
            if (readOnly || random.nextInt(100) >= options.appendPercent()) {
                steps.add(new ListAppendStep.Read(keys[slot]));
            } else {
                steps.add(new ListAppendStep.Append(keys[slot], ++appended[slot]));
                if (appended[slot] == options.appendsPerKey()) {
                    keys[slot] = nextKey++;
                    appended[slot] = 0;
                }
            }
        }
        return List.copyOf(steps);
    }

    /** Keys 0 to this one, exclusive, have been used. */
    public long keysUsed() {
        return nextKey;
    }
}
