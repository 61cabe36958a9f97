package tutti.pgwire;

import java.text.Normalizer;
import org.jspecify.annotations.Nullable;

/**
 * Which bytes is a password hashed from? Prepares it by SASLprep (RFC 4013). As PostgreSQL does, a password that
 * SASLprep prohibits is used as it is. Code points are judged by the JDK's Unicode version; the RFC names version 3.2.
 */
final class SaslPrep {
    private SaslPrep() {}

    static String prepare(String password) {
        String prepared = tryPrepare(password);
        return prepared == null ? password : prepared;
    }

    static @Nullable String tryPrepare(String password) {
        StringBuilder mapped = new StringBuilder(password.length());
        password.codePoints().forEach(point -> {
            if (Character.getType(point) == Character.SPACE_SEPARATOR || point == 0x200B) {
                mapped.append(' ');
            } else if (!mappedToNothing(point)) {
                mapped.appendCodePoint(point);
            }
        });
        String normal = Normalizer.normalize(mapped, Normalizer.Form.NFKC);
        if (normal.isEmpty() || normal.codePoints().anyMatch(SaslPrep::prohibited) || !bidirectionalRules(normal)) {
            return null;
        }
        return normal;
    }

    /** RFC 3454 table B.1. */
    private static boolean mappedToNothing(int point) {
        return point == 0xAD || point == 0x34F || point == 0x1806 || (point >= 0x180B && point <= 0x180D)
                || point == 0x200C || point == 0x200D || point == 0x2060 || (point >= 0xFE00 && point <= 0xFE0F)
                || point == 0xFEFF;
    }

    /** RFC 4013 section 2.3 (tables C.1.2 to C.9) and 2.5 (unassigned code points). */
    private static boolean prohibited(int point) {
        if (point == ' ') {
            return false;
        }
        return switch (Character.getType(point)) {
            case Character.SPACE_SEPARATOR, Character.CONTROL, Character.PRIVATE_USE, Character.SURROGATE,
                    Character.UNASSIGNED, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR ->
                true;
            default -> (point >= 0xFFF9 && point <= 0xFFFD) || (point >= 0x2FF0 && point <= 0x2FFB) || point == 0x340
                    || point == 0x341 || point == 0x200E || point == 0x200F || (point >= 0x202A && point <= 0x202E)
                    || (point >= 0x206A && point <= 0x206F) || point == 0x6DD || point == 0x70F || point == 0x180E
                    || (point >= 0x2061 && point <= 0x2063) || (point >= 0xE0001 && point <= 0xE007F)
                    || (point >= 0x1D173 && point <= 0x1D17A);
        };
    }

    /** RFC 3454 section 6. */
    private static boolean bidirectionalRules(String text) {
        int[] points = text.codePoints().toArray();
        boolean rightToLeft = false;
        boolean leftToRight = false;
        for (int point : points) {
            rightToLeft |= isRightToLeft(point);
            leftToRight |= Character.getDirectionality(point) == Character.DIRECTIONALITY_LEFT_TO_RIGHT;
        }
        return !rightToLeft || (!leftToRight && isRightToLeft(points[0]) && isRightToLeft(points[points.length - 1]));
    }

    private static boolean isRightToLeft(int point) {
        byte directionality = Character.getDirectionality(point);
        return directionality == Character.DIRECTIONALITY_RIGHT_TO_LEFT
                || directionality == Character.DIRECTIONALITY_RIGHT_TO_LEFT_ARABIC;
    }
}
