package tutti.engine.jdbc.rows;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * How values of a column are brought into one form, so that two values which the engine takes for equal are equal bytes
 * too. More values may become equal here than in the engine: that can only abort a transaction, never admit one.
 */
public enum ValueForm {
    /** As it is; numbers by their value ({@code 1.0} is {@code 1}), texts without trailing blanks. */
    PLAIN,
    /** Like {@link #PLAIN}, but texts that differ in the case of letters are equal. */
    FOLDED,
    /** Only the engine knows (collations, time zones, arrays, documents): all values count as equal. */
    OPAQUE;

    private static final int PLAIN_SCALE_MAX = 1000;

    /** The form of a value, one of those that {@link Values} lists; not null. */
    byte[] normalise(Object value) {
        if (this == OPAQUE) {
            return new byte[0];
        }
        return switch (value) {
            case Long number -> Long.toString(number).getBytes(StandardCharsets.ISO_8859_1);
            case BigDecimal number -> decimal(number).getBytes(StandardCharsets.ISO_8859_1);
            case Double number -> (Double.isFinite(number) ? decimal(new BigDecimal(number)) : number.toString())
                    .getBytes(StandardCharsets.ISO_8859_1);
            case Boolean flag -> new byte[]{(byte) (flag ? 1 : 0)};
            case String text -> (this == FOLDED ? fold(text.stripTrailing()) : text.stripTrailing())
                    .getBytes(StandardCharsets.UTF_8);
            case byte[] bytes -> bytes;
            default -> new byte[0];
        };
    }

    private static String decimal(BigDecimal number) {
        BigDecimal stripped = number.stripTrailingZeros();
        return Math.abs(stripped.scale()) <= PLAIN_SCALE_MAX ? stripped.toPlainString() : stripped.toString();
    }

    /** Letter by letter, as {@link String#equalsIgnoreCase} compares. */
    private static String fold(String text) {
        StringBuilder folded = new StringBuilder(text.length());
        for (int i = 0; i < text.length(); i++) {
            folded.append(Character.toLowerCase(Character.toUpperCase(text.charAt(i))));
        }
        return folded.toString();
    }

    /** Whether two values are the same in every detail, so that putting one in the other's place changes nothing. */
    static boolean same(@Nullable Object one, @Nullable Object other) {
        if (one instanceof byte[] a && other instanceof byte[] b) {
            return java.util.Arrays.equals(a, b);
        }
        return java.util.Objects.equals(one, other);
    }
}
