package tutti.engine.jdbc.rows;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Bytes of rows, big-endian as {@link java.io.DataOutput} writes them, in an array that grows. Unlike with the JDK's streams
 * no lock is taken for each number; a transaction writes hundreds. One thread.
 */
final class RowBytes {
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    private byte[] bytes;
    private int size;

    /**
     * Nothing.
     *
     * @param room for how many bytes before the array has to grow
     */
    RowBytes(int room) {
        bytes = new byte[room];
    }

    /**
     * Makes room.
     *
     * @return where it begins
     */
    private int add(int count) {
        int at = size;
        int wanted = Math.addExact(at, count);
        if (wanted > bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.max(wanted, (int) Math.min(Integer.MAX_VALUE - 8L, bytes.length * 2L)));
        }
        size = wanted;
        return at;
    }

    void putByte(int value) {
        int at = add(Byte.BYTES);
        bytes[at] = (byte) value;
    }

    void putInt(int value) {
        int at = add(Integer.BYTES);
        INT.set(bytes, at, value);
    }

    void putLong(long value) {
        int at = add(Long.BYTES);
        LONG.set(bytes, at, value);
    }

    /** Its length, and then it. */
    void putSized(byte[] value) {
        putInt(value.length);
        put(value);
    }

    void put(byte[] value) {
        int at = add(value.length);
        System.arraycopy(value, 0, bytes, at, value.length);
    }

    /** A copy of what has been put here, and then of what has been put there. */
    byte[] followedBy(RowBytes other) {
        byte[] both = Arrays.copyOf(bytes, Math.addExact(size, other.size));
        System.arraycopy(other.bytes, 0, both, size, other.size);
        return both;
    }

    /** Forgets everything. */
    void clear() {
        size = 0;
    }

    /** A copy of what has been put. */
    byte[] toArray() {
        return Arrays.copyOf(bytes, size);
    }
}
