package tutti.engine.jdbc.rows;

import java.io.DataInput;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a column's value travels between engines: null, {@link Long}, {@link BigDecimal}, {@link Double}, {@link Boolean},
 * {@link String} (also dates, times, intervals and UUIDs, as SQL writes them), bytes, or a list of those.
 */
final class Values {
    private static final int NULL = 0;
    private static final int LONG = 1;
    private static final int DECIMAL = 2;
    private static final int DOUBLE = 3;
    private static final int FALSE = 4;
    private static final int TRUE = 5;
    private static final int TEXT = 6;
    private static final int BYTES = 7;
    private static final int LIST = 8;
    private static final int LENGTH_MAX = 1 << 28;

    private Values() {}

    static void write(RowBytes to, @Nullable Object value) {
        switch (value) {
            case null -> to.putByte(NULL);
            case Long number -> {
                to.putByte(LONG);
                to.putLong(number);
            }
            case BigDecimal number -> {
                to.putByte(DECIMAL);
                to.putInt(number.scale());
                to.putSized(number.unscaledValue().toByteArray());
            }
            case Double number -> {
                to.putByte(DOUBLE);
                to.putLong(Double.doubleToLongBits(number));
            }
            case Boolean flag -> to.putByte(flag ? TRUE : FALSE);
            case String text -> {
                to.putByte(TEXT);
                to.putSized(text.getBytes(StandardCharsets.UTF_8));
            }
            case byte[] bytes -> {
                to.putByte(BYTES);
                to.putSized(bytes);
            }
            case List<?> list -> {
                to.putByte(LIST);
                to.putInt(list.size());
                for (Object element : list) {
                    write(to, element);
                }
            }
            default -> throw new IllegalArgumentException("no value of a column: " + value.getClass());
        }
    }

    static @Nullable Object read(DataInput from) throws IOException {
        int kind = from.readByte();
        return switch (kind) {
            case NULL -> null;
            case LONG -> from.readLong();
            case DECIMAL -> {
                int scale = from.readInt();
                yield new BigDecimal(new BigInteger(bytes(from)), scale);
            }
            case DOUBLE -> from.readDouble();
            case FALSE -> false;
            case TRUE -> true;
            case TEXT -> new String(bytes(from), StandardCharsets.UTF_8);
            case BYTES -> bytes(from);
            case LIST -> {
                int size = length(from);
                List<@Nullable Object> list = new ArrayList<>(Math.min(size, 1024));
                for (int i = 0; i < size; i++) {
                    list.add(read(from));
                }
                yield list;
            }
            default -> throw new IOException("no such kind of value: " + kind);
        };
    }

    private static byte[] bytes(DataInput from) throws IOException {
        byte[] bytes = new byte[length(from)];
        from.readFully(bytes);
        return bytes;
    }

    private static int length(DataInput from) throws IOException {
        int length = from.readInt();
        if (length < 0 || length > LENGTH_MAX) {
            throw new IOException("a length of " + length);
        }
        return length;
    }
}
