package tutti.sim.kernel;

import java.util.List;

/**
 * Random numbers that depend on a seed and a label and on nothing else: not on the JDK, not on the machine, not on who
 * else draws. The generator is xoshiro256++ 1.0 (Blackman and Vigna, 2019), its four words filled by SplitMix64 as its
 * authors advise. Whatever needs logarithms uses {@link StrictMath}, whose results are the same everywhere.
 *
 * <p>
 * Give each consumer its own stream ({@link #fork}): then one that draws more often does not change what the others draw,
 * and a scenario stays comparable with itself when a part of it is taken away. Not safe for use by several threads.
 */
public final class RandomStream {
    private static final double DOUBLE_UNIT = 0x1.0p-53;

    private final long seed;
    private long s0;
    private long s1;
    private long s2;
    private long s3;

    /** The stream of a seed. */
    public RandomStream(long seed) {
        this.seed = seed;
        long state = seed;
        state += BitMixer.GOLDEN;
        s0 = BitMixer.mix64(state);
        state += BitMixer.GOLDEN;
        s1 = BitMixer.mix64(state);
        state += BitMixer.GOLDEN;
        s2 = BitMixer.mix64(state);
        state += BitMixer.GOLDEN;
        s3 = BitMixer.mix64(state);
    }

    /**
     * Another stream, named by this one's seed and the label. It does not matter how much was drawn here before, and
     * nothing is drawn here: the same label gives the same stream again.
     */
    public RandomStream fork(String label) {
        return new RandomStream(BitMixer.mix64(seed + BitMixer.GOLDEN) ^ Label.digest(label));
    }

    /** Any 64 bits. */
    public long nextLong() {
        long result = Long.rotateLeft(s0 + s3, 23) + s0;
        long t = s1 << 17;
        s2 ^= s0;
        s3 ^= s1;
        s1 ^= s2;
        s0 ^= s3;
        s2 ^= t;
        s3 = Long.rotateLeft(s3, 45);
        return result;
    }

    /**
     * A number from 0 to {@code bound - 1}, all equally likely.
     *
     * @param bound at least 1
     */
    public long nextLong(long bound) {
        if (bound < 1) {
            throw new IllegalArgumentException("bound " + bound + " must be at least 1");
        }
        // Lemire's method: scale, and draw again in the rare cases that would favour some numbers.
        long bits = nextLong();
        long low = bits * bound;
        if (Long.compareUnsigned(low, bound) < 0) {
            long threshold = Long.remainderUnsigned(-bound, bound);
            while (Long.compareUnsigned(low, threshold) < 0) {
                bits = nextLong();
                low = bits * bound;
            }
        }
        return Math.unsignedMultiplyHigh(bits, bound);
    }

    /**
     * A number from 0 to {@code bound - 1}, all equally likely.
     *
     * @param bound at least 1
     */
    public int nextInt(int bound) {
        return (int) nextLong(bound);
    }

    /** A number from {@code from} to {@code to}, both included, all equally likely; the two must not span 2^63 or more. */
    public long between(long from, long to) {
        return from + nextLong(Math.addExact(Math.subtractExact(to, from), 1));
    }

    /** At least 0, less than 1, in steps of 2^-53. */
    public double nextDouble() {
        return (nextLong() >>> 11) * DOUBLE_UNIT;
    }

    /** True with this probability; 0 or less never, 1 or more always. Draws one number in any case. */
    public boolean chance(double probability) {
        return nextDouble() < probability;
    }

    /** From the exponential distribution with this mean. */
    public double exponential(double mean) {
        return -mean * StrictMath.log(1 - nextDouble());
    }

    /** From the normal distribution, by Marsaglia's polar method. */
    public double normal(double mean, double standardDeviation) {
        while (true) {
            double x = 2 * nextDouble() - 1;
            double y = 2 * nextDouble() - 1;
            double square = x * x + y * y;
            if (square < 1 && square > 0) {
                return mean + standardDeviation * x * StrictMath.sqrt(-2 * StrictMath.log(square) / square);
            }
        }
    }

    /** One of a list that is not empty. */
    public <T> T pick(List<T> from) {
        return from.get(nextInt(from.size()));
    }

    /** Puts a list into a random order (Fisher and Yates). */
    public <T> void shuffle(List<T> list) {
        for (int i = list.size() - 1; i > 0; i--) {
            int j = nextInt(i + 1);
            T kept = list.get(i);
            list.set(i, list.get(j));
            list.set(j, kept);
        }
    }
}
