package tutti.macro.distribution;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Reads what an {@link Output} wrote. Every method throws {@link EncodingException} when there is too little. Not thread safe. */
public final class Input {
    private final byte[] bytes;
    private int next;

    /** From the first byte on. */
    public Input(byte[] bytes) {
        this.bytes = bytes;
    }

    /** How many bytes are left. */
    public int left() {
        return bytes.length - next;
    }

    /** One byte, -128 to 127. */
    public byte readByte() {
        if (next == bytes.length) {
            throw new EncodingException("it ends after " + next + " bytes");
        }
        return bytes[next++];
    }

    /** See {@link Output#writeUnsigned}. */
    public long readUnsigned() {
        long value = 0;
        for (int shift = 0; shift < 70; shift += 7) {
            byte digit = readByte();
            value |= (digit & 0x7fL) << shift;
            if (digit >= 0) {
                return value;
            }
        }
        throw new EncodingException("a number of more than ten bytes");
    }

    /** See {@link Output#writeSigned}. */
    public long readSigned() {
        long value = readUnsigned();
        return (value >>> 1) ^ -(value & 1);
    }

    /** Eight bytes. */
    public long readLong() {
        long value = 0;
        for (int i = 0; i < 8; i++) {
            value = (value << 8) | (readByte() & 0xff);
        }
        return value;
    }

    /** A number of things of which each takes at least one byte: at most as many as there are bytes. */
    public int readCount() {
        long count = readUnsigned();
        if (count < 0 || count > left()) {
            throw new EncodingException("it says that " + count + " follow, but " + left() + " bytes are left");
        }
        return (int) count;
    }

    /** Length and bytes. */
    public byte[] readBytes() {
        int length = readCount();
        next += length;
        return Arrays.copyOfRange(bytes, next - length, next);
    }

    /** A text. */
    public String readString() {
        return new String(readBytes(), StandardCharsets.UTF_8);
    }
}
