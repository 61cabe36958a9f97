package tutti.core.schema;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The types of fields. */
public final class Types {
    /** Limit of a byte string that has no smaller one: half a gibibyte. */
    public static final int BYTES_MAX = 1 << 29;

    /** Any number of 32 bits. */
    public static final Type<Integer> INT = new Int(Integer.BYTES, Integer.MIN_VALUE, Integer.MAX_VALUE);
    /** A number of 32 bits, 0 and up. */
    public static final Type<Integer> COUNT = new Int(Integer.BYTES, 0, Integer.MAX_VALUE);
    /** Any number of 64 bits. */
    public static final Type<Long> LONG = new Int64(Long.MIN_VALUE);
    /** A number of 64 bits, 0 and up. */
    public static final Type<Long> NATURAL = new Int64(0);
    /** A number of 64 bits, 1 and up. */
    public static final Type<Long> POSITIVE = new Int64(1);
    /** Yes or no. */
    public static final Type<Boolean> BOOLEAN = new Bool();

    private Types() {}

    /** A number of 32 bits. */
    public static Type<Integer> integer(int min, int max) {
        return new Int(Integer.BYTES, min, max);
    }

    /** A number of one byte, 0 to 255 at most. */
    public static Type<Integer> u8(int min, int max) {
        return new Int(Byte.BYTES, min, max);
    }

    /** One of the constants of an enumeration, by its place among them. */
    public static <E extends Enum<E>> Type<E> oneOf(Class<E> constants) {
        return new Constant<>(constants.getEnumConstants());
    }

    /** Bytes that mean nothing here; copied when they are read. */
    public static Type<byte[]> bytes(int max) {
        return new Bytes(max);
    }

    /** The same, as a view of what is read: valid as long as that is. */
    public static Type<ByteBuffer> view(int max) {
        return new View(max);
    }

    /** A text, as UTF-8. */
    public static Type<String> text(int bytesMax) {
        return new Text(bytesMax);
    }

    /** Numbers of 64 bits. */
    public static Type<long[]> longs(int max) {
        return new Longs(max);
    }

    /** Numbers of 32 bits. */
    public static Type<int[]> ints(int max) {
        return new Ints(max);
    }

    /** Values one after the other. */
    public static <T> Type<List<T>> list(Type<T> of, int max) {
        return new Composites.Listed<>(of, max);
    }

    /** Values with a key each, ascending. */
    public static <K extends Comparable<K>, V> Type<Map<K, V>> map(Type<K> keys, Type<V> values, int max) {
        return new Composites.Mapped<>(keys, values, max);
    }

    /** Different values, ascending. */
    public static <T extends Comparable<T>> Type<Set<T>> set(Type<T> of, int max) {
        return new Composites.Distinct<>(of, max);
    }

    /** A value or null. */
    public static <T> Type<@Nullable T> optional(Type<T> of) {
        return new Composites.Optional<>(of);
    }

    /** Byte strings that need not be copied: {@link ByteStrings}. */
    public static Type<ByteStrings> byteStrings(int countMax) {
        return new Strings(countMax);
    }

    static <T> T within(long min, T value, long number, long max) {
        if (number < min || number > max) {
            throw new IllegalArgumentException(number + " is not between " + min + " and " + max);
        }
        return value;
    }

    static int fitting(int count, int max) {
        if (count > max) {
            throw new IllegalArgumentException("a count of " + count + ", which may be 0 to " + max);
        }
        return count;
    }

    static String upTo(String things, int max) {
        return max == Integer.MAX_VALUE
                ? things
                : things + ", up to " + (Integer.bitCount(max) == 1 && max > 4096
                        ? "2^" + Integer.numberOfTrailingZeros(max)
                        : Integer.toString(max));
    }

    // ------------------------------------------------------------------------------------------ numbers

    private static final class Int extends Type<Integer> {
        private final int bytes;
        private final int min;
        private final int max;

        Int(int bytes, int min, int max) {
            super(bytes);
            this.bytes = bytes;
            this.min = min;
            this.max = max;
        }

        @Override
        boolean fixed() {
            return true;
        }

        @Override
        int size(Integer value, int version) {
            return bytes;
        }

        @Override
        void write(Integer value, ByteBuffer to, int version) {
            int number = within(min, value, value, max);
            if (bytes == Byte.BYTES) {
                to.put((byte) number);
            } else {
                to.putInt(number);
            }
        }

        @Override
        Integer read(Input from) {
            from.need(bytes);
            int number = bytes == Byte.BYTES ? Byte.toUnsignedInt(from.bytes.get()) : from.bytes.getInt();
            if (number < min || number > max) {
                throw new DecodeException(number + " is not between " + min + " and " + max);
            }
            return number;
        }

        @Override
        String words() {
            String any = bytes == Byte.BYTES ? "number of 1 byte" : "number of 4 bytes";
            if (max == Integer.MAX_VALUE) {
                return min == Integer.MIN_VALUE ? any : any + ", " + min + " and up";
            }
            return any + ", " + min + " to " + max;
        }
    }

    private static final class Int64 extends Type<Long> {
        private final long min;

        Int64(long min) {
            super(Long.BYTES);
            this.min = min;
        }

        @Override
        boolean fixed() {
            return true;
        }

        @Override
        int size(Long value, int version) {
            return Long.BYTES;
        }

        @Override
        void write(Long value, ByteBuffer to, int version) {
            to.putLong(within(min, value, value, Long.MAX_VALUE));
        }

        @Override
        Long read(Input from) {
            from.need(Long.BYTES);
            long number = from.bytes.getLong();
            if (number < min) {
                throw new DecodeException(number + " is less than " + min);
            }
            return number;
        }

        @Override
        String words() {
            return "number of 8 bytes" + (min == Long.MIN_VALUE ? "" : ", " + min + " and up");
        }
    }

    private static final class Bool extends Type<Boolean> {
        Bool() {
            super(1);
        }

        @Override
        boolean fixed() {
            return true;
        }

        @Override
        int size(Boolean value, int version) {
            return 1;
        }

        @Override
        void write(Boolean value, ByteBuffer to, int version) {
            to.put((byte) (value ? 1 : 0));
        }

        @Override
        Boolean read(Input from) {
            return flag(from);
        }

        @Override
        String words() {
            return "1 byte, 0 for no or 1 for yes";
        }
    }

    static boolean flag(Input from) {
        from.need(1);
        byte flag = from.bytes.get();
        if (flag != 0 && flag != 1) {
            throw new DecodeException(flag + " is neither 0 nor 1");
        }
        return flag == 1;
    }

    private static final class Constant<E extends Enum<E>> extends Type<E> {
        private final E[] constants;

        Constant(E[] constants) {
            super(1);
            this.constants = constants;
        }

        @Override
        boolean fixed() {
            return true;
        }

        @Override
        int size(E value, int version) {
            return 1;
        }

        @Override
        void write(E value, ByteBuffer to, int version) {
            to.put((byte) value.ordinal());
        }

        @Override
        E read(Input from) {
            from.need(1);
            int ordinal = from.bytes.get();
            if (ordinal < 0 || ordinal >= constants.length) {
                throw new DecodeException(ordinal + " is none of " + List.of(constants));
            }
            return constants[ordinal];
        }

        @Override
        String words() {
            StringBuilder words = new StringBuilder("1 byte:");
            for (E constant : constants) {
                words.append(constant.ordinal() == 0 ? " " : ", ").append(constant.ordinal()).append(' ')
                        .append(constant);
            }
            return words.toString();
        }
    }

    // ------------------------------------------------------------------------------------------ strings

    private static final class Bytes extends Type<byte[]> {
        private final int max;

        Bytes(int max) {
            super(Integer.BYTES);
            this.max = max;
        }

        @Override
        int size(byte[] value, int version) {
            return Math.addExact(Integer.BYTES, value.length);
        }

        @Override
        void write(byte[] value, ByteBuffer to, int version) {
            to.putInt(fitting(value.length, max)).put(value);
        }

        @Override
        byte[] read(Input from) {
            byte[] bytes = new byte[from.count(max, 1)];
            from.bytes.get(bytes);
            return bytes;
        }

        @Override
        String words() {
            return upTo("bytes", max);
        }

        @Override
        void print(byte[] value, StringBuilder to, String indent) {
            hex(ByteBuffer.wrap(value), to);
        }
    }

    private static void hex(ByteBuffer bytes, StringBuilder to) {
        to.append(bytes.hasRemaining() ? "" : "empty");
        for (int at = bytes.position(); at < bytes.limit(); at++) {
            to.append(Character.forDigit(bytes.get(at) >> 4 & 0xf, 16))
                    .append(Character.forDigit(bytes.get(at) & 0xf, 16));
        }
    }

    private static final class View extends Type<ByteBuffer> {
        private final int max;

        View(int max) {
            super(Integer.BYTES);
            this.max = max;
        }

        @Override
        int size(ByteBuffer value, int version) {
            return Math.addExact(Integer.BYTES, value.remaining());
        }

        @Override
        void write(ByteBuffer value, ByteBuffer to, int version) {
            to.putInt(fitting(value.remaining(), max)).put(value.duplicate());
        }

        @Override
        ByteBuffer read(Input from) {
            int length = from.count(max, 1);
            ByteBuffer view = from.bytes.slice(from.bytes.position(), length);
            from.bytes.position(from.bytes.position() + length);
            return view;
        }

        @Override
        String words() {
            return upTo("bytes", max);
        }

        @Override
        void print(ByteBuffer value, StringBuilder to, String indent) {
            hex(value, to);
        }
    }

    private static final class Text extends Type<String> {
        private final int max;

        Text(int max) {
            super(Integer.BYTES);
            this.max = max;
        }

        @Override
        int size(String value, int version) {
            return Math.addExact(Integer.BYTES, value.getBytes(StandardCharsets.UTF_8).length);
        }

        @Override
        void write(String value, ByteBuffer to, int version) {
            byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
            to.putInt(fitting(bytes.length, max)).put(bytes);
        }

        @Override
        String read(Input from) {
            int length = from.count(max, 1);
            ByteBuffer bytes = from.bytes.slice(from.bytes.position(), length);
            from.bytes.position(from.bytes.position() + length);
            try {
                return StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
            } catch (CharacterCodingException damaged) {
                throw new DecodeException("it is not UTF-8", damaged);
            }
        }

        @Override
        String words() {
            return upTo("UTF-8 text, bytes", max);
        }

        @Override
        void print(String value, StringBuilder to, String indent) {
            to.append('"').append(value).append('"');
        }
    }

    // ------------------------------------------------------------------------------------------ several

    private static final class Longs extends Type<long[]> {
        private static final int BULK = 8;

        private final int max;

        Longs(int max) {
            super(Integer.BYTES);
            this.max = max;
        }

        @Override
        int size(long[] value, int version) {
            return Math.addExact(Integer.BYTES, Math.multiplyExact(Long.BYTES, value.length));
        }

        @Override
        void write(long[] value, ByteBuffer to, int version) {
            to.putInt(fitting(value.length, max));
            if (value.length < BULK) {
                for (long one : value) {
                    to.putLong(one);
                }
            } else {
                to.asLongBuffer().put(value);
                to.position(to.position() + Long.BYTES * value.length);
            }
        }

        @Override
        long[] read(Input from) {
            long[] value = new long[from.count(max, Long.BYTES)];
            ByteBuffer bytes = from.bytes;
            if (value.length < BULK) {
                for (int i = 0; i < value.length; i++) {
                    value[i] = bytes.getLong();
                }
            } else {
                bytes.asLongBuffer().get(value);
                bytes.position(bytes.position() + Long.BYTES * value.length);
            }
            return value;
        }

        @Override
        String words() {
            return upTo("numbers of 8 bytes", max);
        }

        @Override
        void print(long[] value, StringBuilder to, String indent) {
            to.append('[');
            for (int i = 0; i < value.length; i++) {
                to.append(i == 0 ? "" : ", ").append(value[i]);
            }
            to.append(']');
        }
    }

    private static final class Ints extends Type<int[]> {
        private final int max;

        Ints(int max) {
            super(Integer.BYTES);
            this.max = max;
        }

        @Override
        int size(int[] value, int version) {
            return Math.addExact(Integer.BYTES, Math.multiplyExact(Integer.BYTES, value.length));
        }

        @Override
        void write(int[] value, ByteBuffer to, int version) {
            to.putInt(fitting(value.length, max));
            to.asIntBuffer().put(value);
            to.position(to.position() + Integer.BYTES * value.length);
        }

        @Override
        int[] read(Input from) {
            int[] value = new int[from.count(max, Integer.BYTES)];
            from.bytes.asIntBuffer().get(value);
            from.bytes.position(from.bytes.position() + Integer.BYTES * value.length);
            return value;
        }

        @Override
        String words() {
            return upTo("numbers of 4 bytes", max);
        }

        @Override
        void print(int[] value, StringBuilder to, String indent) {
            to.append('[');
            for (int i = 0; i < value.length; i++) {
                to.append(i == 0 ? "" : ", ").append(value[i]);
            }
            to.append(']');
        }
    }

    private static final class Strings extends Type<ByteStrings> {
        private final int max;

        Strings(int max) {
            super(Integer.BYTES);
            this.max = max;
        }

        @Override
        int size(ByteStrings value, int version) {
            return Math.addExact(Integer.BYTES + ByteStrings.BYTES_EACH * value.count(), value.bytes());
        }

        @Override
        void write(ByteStrings value, ByteBuffer to, int version) {
            value.write(to.putInt(fitting(value.count(), max)));
        }

        @Override
        ByteStrings read(Input from) {
            int count = from.count(max, Integer.BYTES);
            ByteBuffer bytes = from.bytes;
            int began = bytes.position();
            for (int i = 0; i < count; i++) {
                int length = from.count(BYTES_MAX, 1);
                bytes.position(bytes.position() + length);
            }
            return ByteStrings.read(count, bytes.slice(began, bytes.position() - began));
        }

        @Override
        String words() {
            return upTo("list", max) + ", of: " + upTo("bytes", BYTES_MAX);
        }

        @Override
        void print(ByteStrings value, StringBuilder to, String indent) {
            for (ByteBuffer rest = value.encoded(); rest.hasRemaining();) {
                to.append('\n').append(indent).append("  - ");
                hex(ByteStrings.next(rest), to);
            }
        }
    }
}
