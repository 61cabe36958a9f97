package tutti.grid.api;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Serializers that come with the grid. */
public final class Serializers {
    /** Text as UTF-8. */
    public static final Serializer<String> TEXT = new Text();
    /** Bytes as they are. They must not be modified afterwards. */
    public static final Serializer<byte[]> BYTES = new Bytes();

    private static final int NULL = 0;
    private static final int FALSE = 1;
    private static final int TRUE = 2;
    private static final int INT = 3;
    private static final int LONG = 4;
    private static final int DOUBLE = 5;
    private static final int STRING = 6;
    private static final int BYTE_ARRAY = 7;
    private static final int LIST = 8;
    private static final int MAP = 9;

    private Serializers() {}

    /**
     * The default: numbers, booleans, text, byte arrays, and lists and maps of such, in a compact form that says what it is. Integers
     * take as many bytes as they need. Whatever else is refused: write a {@link Serializer} for it.
     *
     * @param type of the values; {@code Object} for any of these
     */
    public static <T> Serializer<T> compact(Class<T> type) {
        return new Compact<>(type);
    }

    private static final class Text implements Serializer<String> {
        @Override
        public byte[] write(String value) {
            return value.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public String read(byte[] bytes) {
            return new String(bytes, StandardCharsets.UTF_8);
        }
    }

    private static final class Bytes implements Serializer<byte[]> {
        @Override
        public byte[] write(byte[] value) {
            return value;
        }

        @Override
        public byte[] read(byte[] bytes) {
            return bytes;
        }
    }

    private record Compact<T>(Class<T> type) implements Serializer<T> {
        @Override
        public byte[] write(T value) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try {
                put(value, new DataOutputStream(bytes));
            } catch (IOException impossible) {
                throw new UncheckedIOException(impossible);
            }
            return bytes.toByteArray();
        }

        @Override
        public T read(byte[] bytes) {
            try (DataInputStream from = new DataInputStream(new ByteArrayInputStream(bytes))) {
                T value = type.cast(get(from));
                if (from.available() > 0) {
                    throw new IllegalArgumentException(from.available() + " bytes follow the value");
                }
                return value;
            } catch (IOException | ClassCastException wrong) {
                throw new IllegalArgumentException("not written by this serializer", wrong);
            }
        }

        private static void put(@Nullable Object value, DataOutputStream to)
                throws IOException {
            switch (value) {
                case null -> to.writeByte(NULL);
                case Boolean truth -> to.writeByte(truth ? TRUE : FALSE);
                case Integer number -> {
                    to.writeByte(INT);
                    putNumber(number, to);
                }
                case Long number -> {
                    to.writeByte(LONG);
                    putNumber(number, to);
                }
                case Double number -> {
                    to.writeByte(DOUBLE);
                    to.writeDouble(number);
                }
                case String text -> putBytes(STRING, TEXT.write(text), to);
                case byte[] some -> putBytes(BYTE_ARRAY, some, to);
                case List<?> list -> {
                    to.writeByte(LIST);
                    putNumber(list.size(), to);
                    for (Object element : list) {
                        put(element, to);
                    }
                }
                case Map<?, ?> map -> {
                    to.writeByte(MAP);
                    putNumber(map.size(), to);
                    for (Map.Entry<?, ?> entry : map.entrySet()) {
                        put(entry.getKey(), to);
                        put(entry.getValue(), to);
                    }
                }
                default -> throw new IllegalArgumentException("no compact form for " + value.getClass().getName()
                        + ": give the cache a serializer for it");
            }
        }

        private static void putBytes(int kind, byte[] bytes, DataOutputStream to) throws IOException {
            to.writeByte(kind);
            putNumber(bytes.length, to);
            to.write(bytes);
        }

        /** Seven bits in a byte, the sign in the lowest, small numbers in one byte. */
        private static void putNumber(long number, DataOutputStream to) throws IOException {
            long rest = (number << 1) ^ (number >> (Long.SIZE - 1));
            while ((rest & ~0x7fL) != 0) {
                to.writeByte((int) ((rest & 0x7f) | 0x80));
                rest >>>= 7;
            }
            to.writeByte((int) rest);
        }

        private static @Nullable Object get(DataInputStream from) throws IOException {
            int kind = from.readByte();
            return switch (kind) {
                case NULL -> null;
                case FALSE -> false;
                case TRUE -> true;
                case INT -> Math.toIntExact(getNumber(from));
                case LONG -> getNumber(from);
                case DOUBLE -> from.readDouble();
                case STRING -> TEXT.read(getBytes(from));
                case BYTE_ARRAY -> getBytes(from);
                case LIST -> {
                    List<@Nullable Object> list = new ArrayList<>();
                    for (long left = getNumber(from); left > 0; left--) {
                        list.add(get(from));
                    }
                    yield list;
                }
                case MAP -> {
                    Map<@Nullable Object, @Nullable Object> map = new LinkedHashMap<>();
                    for (long left = getNumber(from); left > 0; left--) {
                        map.put(get(from), get(from));
                    }
                    yield map;
                }
                default -> throw new IOException("unknown kind " + kind);
            };
        }

        private static byte[] getBytes(DataInputStream from) throws IOException {
            long length = getNumber(from);
            if (length < 0 || length > from.available()) {
                throw new IOException("a length of " + length);
            }
            return from.readNBytes((int) length);
        }

        private static long getNumber(DataInputStream from) throws IOException {
            long rest = 0;
            for (int shift = 0; shift < Long.SIZE; shift += 7) {
                byte next = from.readByte();
                rest |= (next & 0x7fL) << shift;
                if (next >= 0) {
                    return (rest >>> 1) ^ -(rest & 1);
                }
            }
            throw new IOException("a number of too many bytes");
        }
    }
}
