package tutti.engine.postgres.capture;

import java.util.Arrays;

/**
 * Some of a table's columns as bits of bytes, the first one the lowest bit of the first byte, as PostgreSQL's {@code get_bit} counts them.
 */
public final class ColumnBits {
    private ColumnBits() {}

    /** All of so many columns. */
    public static byte[] all(int columns) {
        byte[] bits = new byte[(columns + 7) >> 3];
        Arrays.fill(bits, (byte) 0xff);
        if ((columns & 7) != 0) {
            bits[bits.length - 1] = (byte) ((1 << (columns & 7)) - 1);
        }
        return bits;
    }

    /** Whether a column is among them; none is beyond the last byte. */
    public static boolean has(byte[] bits, int column) {
        return column >> 3 < bits.length && (bits[column >> 3] & 1 << (column & 7)) != 0;
    }

    /** Takes a column out. */
    public static void remove(byte[] bits, int column) {
        bits[column >> 3] &= (byte) ~(1 << (column & 7));
    }

    /** The columns that are in one of the two, which are as long as each other. */
    public static byte[] union(byte[] one, byte[] other) {
        byte[] both = one.clone();
        for (int i = 0; i < both.length; i++) {
            both[i] |= other[i];
        }
        return both;
    }
}
