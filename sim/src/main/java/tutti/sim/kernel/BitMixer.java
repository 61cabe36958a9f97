package tutti.sim.kernel;

/** How 64 bits are scattered, in one place, because seeds and hashes must never change. */
public final class BitMixer {
    /** 2^64 divided by the golden ratio, odd: the increment of SplitMix64. */
    static final long GOLDEN = 0x9E3779B97F4A7C15L;

    /** The first multiplier of {@link #mix64}, where another odd constant is wanted. */
    static final long STAFFORD = 0xBF58476D1CE4E5B9L;

    private BitMixer() {}

    /** The output function of SplitMix64 (Steele, Lea, Flood, 2014, with Stafford's constants "variant 13"). */
    public static long mix64(long value) {
        long z = value;
        z = (z ^ (z >>> 30)) * STAFFORD;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }
}
