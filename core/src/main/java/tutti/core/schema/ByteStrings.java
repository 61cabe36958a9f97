package tutti.core.schema;

import java.nio.ByteBuffer;
import java.util.List;

/**
 * Byte strings in the form in which they travel, each behind its length: read without a copy, and taken one after the other.
 * What was read is valid as long as the bytes are that it was read from. Immutable.
 */
public abstract sealed class ByteStrings {
    /** What a string takes besides its own bytes. */
    public static final int BYTES_EACH = Integer.BYTES;

    private final int count;

    private ByteStrings(int count) {
        this.count = count;
    }

    /** These, not copied until they are written. */
    public static ByteStrings of(List<byte[]> strings) {
        return new Loose(strings);
    }

    static ByteStrings read(int count, ByteBuffer encoded) {
        return new Read(count, encoded);
    }

    /** How many they are. */
    public final int count() {
        return count;
    }

    /** Bytes of all of them, without their lengths. */
    public abstract int bytes();

    /** All of them, for {@link #next}: a buffer with a position of its own. */
    public abstract ByteBuffer encoded();

    abstract void write(ByteBuffer to);

    /** Takes the next one, as a view, from what {@link #encoded} gave. */
    public static ByteBuffer next(ByteBuffer rest) {
        int length = rest.getInt();
        ByteBuffer next = rest.slice(rest.position(), length);
        rest.position(rest.position() + length);
        return next;
    }

    private static final class Loose extends ByteStrings {
        private final List<byte[]> strings;
        private final int bytes;

        Loose(List<byte[]> strings) {
            super(strings.size());
            this.strings = List.copyOf(strings);
            int sum = 0;
            for (byte[] string : strings) {
                sum = Math.addExact(sum, string.length);
            }
            this.bytes = sum;
        }

        @Override
        public int bytes() {
            return bytes;
        }

        @Override
        public ByteBuffer encoded() {
            ByteBuffer encoded = ByteBuffer.allocate(Math.addExact(bytes, BYTES_EACH * strings.size()));
            write(encoded);
            return encoded.flip();
        }

        @Override
        void write(ByteBuffer to) {
            for (byte[] string : strings) {
                to.putInt(string.length).put(string);
            }
        }
    }

    private static final class Read extends ByteStrings {
        private final ByteBuffer encoded;

        Read(int count, ByteBuffer encoded) {
            super(count);
            this.encoded = encoded;
        }

        @Override
        public int bytes() {
            return encoded.remaining() - BYTES_EACH * count();
        }

        @Override
        public ByteBuffer encoded() {
            return encoded.duplicate();
        }

        @Override
        void write(ByteBuffer to) {
            to.put(encoded.duplicate());
        }
    }
}
