package tutti.sim.kernel;

/**
 * What an event is: a kind such as {@code net} and a name such as {@code deliver n1}. The trace hash mixes its 64-bit
 * digest, which depends on the two words alone, so make labels once and keep them; making one costs a pass over the words.
 *
 * @param kind the part of the simulator or of the code in it
 * @param name what happens, and to what
 * @param digest of both words
 */
public record Label(String kind, String name, long digest) {
    private static final long FNV_OFFSET = 0xCBF29CE484222325L;
    private static final long FNV_PRIME = 0x100000001B3L;

    public Label {
        if (digest != digest(kind, name)) {
            throw new IllegalArgumentException("the digest is not that of " + kind + " " + name);
        }
    }

    /** Makes a label. */
    public static Label of(String kind, String name) {
        return new Label(kind, name, digest(kind, name));
    }

    private static long digest(String kind, String name) {
        return BitMixer.mix64(digest(name) ^ BitMixer.mix64(digest(kind)));
    }

    /** A digest of a word that no JDK can change: FNV-1a over its UTF-16 units. */
    static long digest(String word) {
        long digest = FNV_OFFSET;
        for (int i = 0; i < word.length(); i++) {
            digest = (digest ^ word.charAt(i)) * FNV_PRIME;
        }
        return digest;
    }

    @Override
    public String toString() {
        return kind + " " + name;
    }
}
