package tutti.workload.tpcc;

import java.util.SplittableRandom;

/**
 * The random values of TPC-C clauses 2.1.6 and 4.3.2: uniform, non-uniform, strings, names. A stream is named by seed,
 * label and numbers, so that any part of a population can be generated alone and comes out the same. One thread.
 */
final class TpccRandom {
    private static final char[] ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
            .toCharArray();
    private static final String[] SYLLABLES = {"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION",
            "EING"};

    private final SplittableRandom random;

    private TpccRandom(long seed) {
        random = new SplittableRandom(seed);
    }

    /** The stream of this name. */
    static TpccRandom of(long seed, String label, long... path) {
        long mixed = mix(seed);
        for (int i = 0; i < label.length(); i++) {
            mixed = mix(mixed ^ label.charAt(i));
        }
        for (long step : path) {
            mixed = mix(mixed + step);
        }
        return new TpccRandom(mixed);
    }

    // The finalizer of splitmix64 over a Weyl step.
    private static long mix(long value) {
        long z = value + 0x9e37_79b9_7f4a_7c15L;
        z = (z ^ (z >>> 30)) * 0xbf58_476d_1ce4_e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d0_49bb_1331_11ebL;
        return z ^ (z >>> 31);
    }

    /** Uniform in the closed interval. */
    int uniform(int low, int high) {
        return random.nextInt(low, high + 1);
    }

    /** Uniform in [0, 1). */
    double fraction() {
        return random.nextDouble();
    }

    /** Whether an event of this probability happens, in percent. */
    boolean percent(int probability) {
        return uniform(1, 100) <= probability;
    }

    /** Clause 2.1.6: NURand(a, low, high) with the constant c. */
    int nonUniform(int a, int c, int low, int high) {
        return ((uniform(0, a) | uniform(low, high)) + c) % (high - low + 1) + low;
    }

    /** Letters and digits; a length in the closed interval. */
    String alphanumeric(int shortest, int longest) {
        char[] chars = new char[uniform(shortest, longest)];
        for (int i = 0; i < chars.length; i++) {
            chars[i] = ALPHANUMERIC[random.nextInt(ALPHANUMERIC.length)];
        }
        return new String(chars);
    }

    /** Digits. */
    String numeric(int length) {
        char[] chars = new char[length];
        for (int i = 0; i < length; i++) {
            chars[i] = (char) ('0' + random.nextInt(10));
        }
        return new String(chars);
    }

    /** Clause 4.3.2.7: four random digits and 11111. */
    String zip() {
        return numeric(4) + "11111";
    }

    /** Clause 4.3.3.1: 26 to 50 characters, of which one string in ten holds ORIGINAL somewhere. */
    String data() {
        String text = alphanumeric(26, 50);
        if (!percent(10)) {
            return text;
        }
        int at = uniform(0, text.length() - 8);
        return text.substring(0, at) + "ORIGINAL" + text.substring(at + 8);
    }

    /** A random order of 1 to n. */
    int[] permutation(int n) {
        int[] numbers = new int[n];
        for (int i = 0; i < n; i++) {
            int j = uniform(0, i);
            numbers[i] = numbers[j];
            numbers[j] = i + 1;
        }
        return numbers;
    }

    /** Clause 4.3.2.3: three syllables for the three digits of a number from 0 to 999. */
    static String lastName(int number) {
        return SYLLABLES[number / 100] + SYLLABLES[number / 10 % 10] + SYLLABLES[number % 10];
    }
}
