package tutti.core.certify;

import java.util.Arrays;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * A set of keys in a few bits each, that may take a key for a member that is none but never the other way round: what a
 * transaction read, in a message of bounded size (D²STM). With the false-positive rate {@code r} it was made for, a key takes
 * {@code 1.44 · log2(1/r)} bits, 9.6 for one in a hundred. Immutable.
 */
public final class BloomFilter {
    private static final double LN2 = Math.log(2);
    private static final int PROBES_MAX = 64;
    private static final int WORDS_MAX = 1 << 24;

    /** How it is written. */
    public static final Schema<BloomFilter> SCHEMA = Schema.part("bloom filter", BloomFilter.class).of(
            Field.of("probes", Types.u8(1, PROBES_MAX), filter -> filter.probes),
            Field.of("words", Types.longs(WORDS_MAX), filter -> filter.words), BloomFilter::new);

    private final int probes;
    private final long[] words;

    private BloomFilter(int probes, long[] words) {
        this.probes = probes;
        this.words = words;
    }

    /**
     * The set of these keys.
     *
     * @param keys 64-bit hashes, each once
     * @param falsePositiveRate probability with which a key that is none of them is taken for one: above 0, below 1
     */
    public static BloomFilter of(long[] keys, double falsePositiveRate) {
        if (!(falsePositiveRate > 0 && falsePositiveRate < 1)) {
            throw new IllegalArgumentException("false-positive rate " + falsePositiveRate);
        }
        if (keys.length == 0) {
            return new BloomFilter(1, new long[0]);
        }
        double bitsPerKey = -Math.log(falsePositiveRate) / (LN2 * LN2);
        long needed = (long) Math.ceil(keys.length * bitsPerKey / Long.SIZE);
        if (needed > WORDS_MAX) {
            throw new IllegalArgumentException(keys.length + " keys at rate " + falsePositiveRate + " take more than "
                    + (long) WORDS_MAX * Long.BYTES + " bytes");
        }
        long[] words = new long[(int) needed];
        int probes = Math.clamp(Math.round(bitsPerKey * LN2), 1, PROBES_MAX);
        long bits = needed * Long.SIZE;
        for (long key : keys) {
            long at = first(key);
            long step = second(key);
            for (int i = 0; i < probes; i++) {
                long bit = Math.unsignedMultiplyHigh(at, bits);
                words[(int) (bit >>> 6)] |= 1L << bit;
                at += step;
            }
        }
        return new BloomFilter(probes, words);
    }

    /** Whether a key is in the set; sometimes true for one that is not. */
    public boolean mayContain(long key) {
        if (words.length == 0) {
            return false;
        }
        long bits = (long) words.length * Long.SIZE;
        long at = first(key);
        long step = second(key);
        for (int i = 0; i < probes; i++) {
            long bit = Math.unsignedMultiplyHigh(at, bits);
            if ((words[(int) (bit >>> 6)] & 1L << bit) == 0) {
                return false;
            }
            at += step;
        }
        return true;
    }

    /** Two independent mixtures of a key: probes lie at the first, then each one {@link #second} further, modulo 2^64. */
    private static long first(long key) {
        long mixed = (key ^ key >>> 32) * 0xD6E8FEB86659FD93L;
        mixed = (mixed ^ mixed >>> 32) * 0xD6E8FEB86659FD93L;
        return mixed ^ mixed >>> 32;
    }

    private static long second(long key) {
        return first(key + 0x9E3779B97F4A7C15L) | 1;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof BloomFilter that && probes == that.probes && Arrays.equals(words, that.words);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(words);
    }
}
