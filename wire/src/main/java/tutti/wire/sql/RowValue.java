package tutti.wire.sql;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.catalog.Table.Column;

/** A value that a column of a key is compared with: written in the statement, or bound to one of its parameters. */
sealed interface RowValue {
    /** As written: a number, or what stands in quotes. */
    record Literal(String text) implements RowValue {}

    /** Bound later; counted from 0. */
    record Parameter(int index) implements RowValue {}

    /** Integers as the engine writes them, and as clients may write them too. */
    Pattern INTEGER = Pattern.compile("[+-]?[0-9]{1,18}");
    /** Decimal numbers without an exponent. */
    Pattern DECIMAL = Pattern.compile("[+-]?[0-9]{1,100}(\\.[0-9]{1,100})?");
    /** What a bound parameter of no declared type, or of these, may be in binary form. */
    int INT8 = 20, INT2 = 21, INT4 = 23, TEXT = 25, VARCHAR = 1043, UNKNOWN = 705;

    /** The text of a value that was bound, or null if it is not understood. */
    static @Nullable String text(Column column, int type, boolean binary, byte[] value) {
        if (!binary) {
            return new String(value, StandardCharsets.UTF_8);
        }
        boolean integer = column.type().equals("int4") || column.type().equals("int8") || column.type().equals("int2");
        int expected = switch (type) {
            case INT8 -> 8;
            case INT4 -> 4;
            case INT2 -> 2;
            case 0, UNKNOWN -> integer ? column.type().charAt(3) - '0' : -1;
            case TEXT, VARCHAR -> value.length;
            default -> -1;
        };
        if (expected != value.length) {
            return null;
        }
        if (type == TEXT || type == VARCHAR) {
            return new String(value, StandardCharsets.UTF_8);
        }
        ByteBuffer bytes = ByteBuffer.wrap(value);
        return Long.toString(switch (expected) {
            case 8 -> bytes.getLong();
            case 4 -> bytes.getInt();
            default -> bytes.getShort();
        });
    }

    /**
     * The text that the engine writes for the value of a column which equals this one, or null if that is not known for
     * certain.
     */
    static @Nullable String canonical(Column column, String text) {
        String trimmed = text.strip();
        return switch (column.type()) {
            case "int2", "int4", "int8" ->
                INTEGER.matcher(trimmed).matches() ? Long.toString(Long.parseLong(trimmed)) : null;
            case "numeric" ->
                DECIMAL.matcher(trimmed).matches() ? new BigDecimal(trimmed).toPlainString() : null;
            case "text", "varchar", "bpchar" -> text;
            default -> null;
        };
    }
}
