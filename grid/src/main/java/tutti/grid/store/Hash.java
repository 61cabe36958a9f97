package tutti.grid.store;

/** Hashes of 64 bits that are evenly spread. Not against an adversary. */
final class Hash {
    private static final long MULTIPLIER = 0x9e37_79b9_7f4a_7c15L;

    private Hash() {}

    static long of(int seed, byte[] bytes) {
        long hash = mix(seed + MULTIPLIER * (bytes.length + 1L));
        int at = 0;
        for (; at + Long.BYTES <= bytes.length; at += Long.BYTES) {
            long word = 0;
            for (int i = 0; i < Long.BYTES; i++) {
                word = (word << Byte.SIZE) | (bytes[at + i] & 0xffL);
            }
            hash = mix((hash ^ word) * MULTIPLIER);
        }
        long rest = 0;
        for (; at < bytes.length; at++) {
            rest = (rest << Byte.SIZE) | (bytes[at] & 0xffL);
        }
        return mix((hash ^ rest) * MULTIPLIER);
    }

    /** Stafford's thirteenth variant of the last step of MurmurHash3: every bit of the input changes half of the output's. */
    static long mix(long value) {
        long mixed = (value ^ (value >>> 30)) * 0xbf58_476d_1ce4_e5b9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94d0_49bb_1331_11ebL;
        return mixed ^ (mixed >>> 31);
    }
}
