package tutti.macro.distribution;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A growing array of bytes. Numbers in base 128, the lowest digit first; negative ones in zigzag. Not thread safe. */
public final class Output {
    private byte[] bytes = new byte[64];
    private int length;

    private void need(int more) {
        if (bytes.length - length < more) {
            long wanted = Math.max((long) length + more, bytes.length * 2L);
            if ((long) length + more > Integer.MAX_VALUE - 8) {
                throw new EncodingException("more than 2 GiB");
            }
            bytes = Arrays.copyOf(bytes, (int) Math.min(wanted, Integer.MAX_VALUE - 8));
        }
    }

    /** One byte, the lowest of the number. */
    public void writeByte(int value) {
        need(1);
        bytes[length++] = (byte) value;
    }

    /** A number from 0, in as few bytes as it needs; also any other, in ten bytes. */
    public void writeUnsigned(long value) {
        long rest = value;
        while ((rest & ~0x7fL) != 0) {
            writeByte((int) ((rest & 0x7f) | 0x80));
            rest >>>= 7;
        }
        writeByte((int) rest);
    }

    /** Any number, small ones in few bytes. */
    public void writeSigned(long value) {
        writeUnsigned((value << 1) ^ (value >> 63));
    }

    /** Eight bytes. */
    public void writeLong(long value) {
        for (int shift = 56; shift >= 0; shift -= 8) {
            writeByte((int) (value >>> shift));
        }
    }

    /** Length and bytes. */
    public void writeBytes(byte[] value) {
        writeUnsigned(value.length);
        need(value.length);
        System.arraycopy(value, 0, bytes, length, value.length);
        length += value.length;
    }

    /** A text, which comes back as it is unless it has unpaired surrogates. */
    public void writeString(String value) {
        writeBytes(value.getBytes(StandardCharsets.UTF_8));
    }

    /** Everything so far. */
    public byte[] toBytes() {
        return Arrays.copyOf(bytes, length);
    }
}
