package tutti.engine.jdbc.rows;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Array;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** JDBC's values as they travel between nodes: what {@link Values} lists. */
public final class PortableValues {
    private PortableValues() {}

    /**
     * Brings values into the form in which they travel.
     *
     * @throws IllegalArgumentException if one cannot be read
     */
    public static List<@Nullable Object> of(List<? extends @Nullable Object> values) {
        List<@Nullable Object> portable = new ArrayList<>(values.size());
        for (Object value : values) {
            portable.add(of(value));
        }
        return portable;
    }

    private static @Nullable Object of(@Nullable Object value) {
        try {
            return switch (value) {
                case null -> null;
                case Byte number -> number.longValue();
                case Short number -> number.longValue();
                case Integer number -> number.longValue();
                case Float number -> number.doubleValue();
                case BigInteger number -> new BigDecimal(number);
                case Long _,BigDecimal _,Double _,Boolean _,String _,byte[] _ -> value;
                case List<?> list -> of(list);
                case Object[] array -> of(Arrays.asList(array));
                case Array array -> of(array.getArray());
                case Blob blob -> blob.getBytes(1, Math.toIntExact(blob.length()));
                case Clob clob -> clob.getSubString(1, Math.toIntExact(clob.length()));
                default -> value.toString();
            };
        } catch (SQLException unreadable) {
            throw new IllegalArgumentException(unreadable);
        }
    }

    /** Values that are in that form. */
    public static byte[] toBytes(List<? extends @Nullable Object> values) {
        RowBytes bytes = new RowBytes(256);
        Values.write(bytes, values);
        return bytes.toArray();
    }

    /**
     * Reads {@link #toBytes}.
     *
     * @throws IllegalArgumentException if it is damaged
     */
    public static List<@Nullable Object> read(byte[] bytes) {
        try {
            Object read = Values.read(new DataInputStream(new ByteArrayInputStream(bytes)));
            if (read instanceof List<?> list) {
                return new ArrayList<>(list);
            }
        } catch (IOException damaged) {
            throw new IllegalArgumentException("damaged values: " + damaged.getMessage(), damaged);
        }
        throw new IllegalArgumentException("damaged values");
    }
}
