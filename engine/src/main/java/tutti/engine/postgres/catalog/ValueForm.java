package tutti.engine.postgres.catalog;

import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.Set;

/**
 * Tells, by their texts, when two values of a type are equal. Each form maps texts of equal values to equal bytes.
 * Where that cannot be done without the engine, all values are mapped to one: certification then aborts too much, never
 * too little.
 */
public enum ValueForm {
    /** Equal values have equal texts. */
    TEXT,
    /** Numbers: {@code 1.0} is {@code 1.00}. */
    NUMBER,
    /** Binary floating point: {@code -0} is {@code 0}. */
    FLOAT,
    /** Trailing blanks do not count. */
    BLANK_PADDED,
    /** Moments, written with any offset. */
    MOMENT,
    /** Letters of either case. */
    CASE_INSENSITIVE,
    /** Nothing is known: all values are taken for equal. */
    OPAQUE;

    private static final Set<String> TEXT_TYPES = Set.of("int2", "int4", "int8", "oid", "text", "varchar", "name",
            "uuid",
            "bool", "date", "timestamp", "time", "timetz", "bytea", "char", "pg_lsn", "xid8", "macaddr", "macaddr8",
            "inet",
            "cidr", "bit", "varbit");
    private static final Set<String> INTEGERS = Set.of("int2", "int4", "int8");
    private static final Set<String> WORDS = Set.of("text", "varchar", "name");
    private static final byte[] NOTHING = {};

    /**
     * The form of a type.
     *
     * @param type name in pg_catalog of the base type; of the element for an array
     * @param category {@code pg_type.typtype} of it
     * @param array whether it is an array of that
     * @param system whether the type is one of pg_catalog
     * @param deterministic whether the column's collation tells different texts apart
     */
    static ValueForm of(String type, char category, boolean array, boolean system, boolean deterministic) {
        if (!deterministic) {
            return OPAQUE;
        }
        if (category == 'e' || (system && TEXT_TYPES.contains(type))) {
            return TEXT;
        }
        if (array) {
            return OPAQUE;
        }
        return switch (type) {
            case "numeric" -> system ? NUMBER : OPAQUE;
            case "float4", "float8" -> system ? FLOAT : OPAQUE;
            case "bpchar" -> system ? BLANK_PADDED : OPAQUE;
            case "timestamptz" -> system ? MOMENT : OPAQUE;
            case "citext" -> category == 'b' ? CASE_INSENSITIVE : OPAQUE;
            default -> OPAQUE;
        };
    }

    /** Whether different bytes mean different values. */
    public boolean exact() {
        return this != CASE_INSENSITIVE && this != OPAQUE;
    }

    /**
     * Whether the values of two columns can be compared by their normalised bytes. Where types are different ones, equal values may have different texts: a date
     * and the timestamp at which it begins, {@code float4} and {@code float8}, {@code cidr} and {@code inet}.
     *
     * @param type what the type of the column of this form is called, as {@link Table.Column} has it
     * @param other the other column's form
     * @param otherType what its type is called
     */
    boolean comparableWith(String type, ValueForm other, String otherType) {
        return (this == other && type.equals(otherType))
                || (INTEGERS.contains(type) && (INTEGERS.contains(otherType) || other == NUMBER))
                || (this == NUMBER && INTEGERS.contains(otherType))
                || (this == TEXT && other == TEXT && WORDS.contains(type) && WORDS.contains(otherType));
    }

    /** The bytes that stand for a value. */
    public byte[] normalise(byte[] text) {
        return switch (this) {
            case TEXT -> text;
            case NUMBER -> number(text);
            case FLOAT -> text.length == 2 && text[0] == '-' && text[1] == '0' ? new byte[]{'0'} : text;
            case BLANK_PADDED -> {
                int end = text.length;
                while (end > 0 && text[end - 1] == ' ') {
                    end--;
                }
                yield end == text.length ? text : Arrays.copyOf(text, end);
            }
            case MOMENT -> moment(text);
            case CASE_INSENSITIVE -> fold(text);
            case OPAQUE -> NOTHING;
        };
    }

    private static byte[] number(byte[] text) {
        int dot = -1;
        for (int i = 0; i < text.length; i++) {
            if (text[i] == '.') {
                dot = i;
            }
        }
        if (dot < 0) {
            return text;
        }
        int end = text.length;
        while (text[end - 1] == '0') {
            end--;
        }
        return Arrays.copyOf(text, end - 1 == dot ? dot : end);
    }

    /**
     * Lower case of ASCII letters. Other characters are left out, and so are the two ASCII letters that are a lower case
     * of one of those (the Kelvin sign's and the dotted capital I's).
     */
    private static byte[] fold(byte[] text) {
        byte[] folded = new byte[text.length];
        int length = 0;
        for (byte b : text) {
            byte lower = b >= 'A' && b <= 'Z' ? (byte) (b + 32) : b;
            if (lower > 0 && lower != 'k' && lower != 'i') {
                folded[length++] = lower;
            }
        }
        return Arrays.copyOf(folded, length);
    }

    /** Microseconds since 1970 as text; infinities as they are; nothing if the text is not understood. */
    private static byte[] moment(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.US_ASCII);
        if (text.endsWith("infinity")) {
            return bytes;
        }
        try {
            boolean beforeChrist = text.endsWith(" BC");
            String moment = beforeChrist ? text.substring(0, text.length() - 3) : text;
            int blank = moment.indexOf(' ');
            int sign = Math.max(moment.lastIndexOf('+'), moment.lastIndexOf('-'));
            if (blank < 0 || sign < blank) {
                return NOTHING;
            }
            String[] day = moment.substring(0, blank).split("-", -1);
            String[] offset = moment.substring(sign + 1).split(":", -1);
            String[] time = moment.substring(blank + 1, sign).split(":", -1);
            int year = Integer.parseInt(day[0]);
            LocalDate date = LocalDate.of(beforeChrist ? 1 - year : year, Integer.parseInt(day[1]),
                    Integer.parseInt(day[2]));
            long offsetSeconds = 0;
            for (int i = 0, unit = 3600; i < offset.length; i++, unit /= 60) {
                offsetSeconds += Long.parseLong(offset[i]) * unit;
            }
            String[] second = time[2].split("\\.", -1);
            long micros = second.length == 1 ? 0 : Long.parseLong((second[1] + "000000").substring(0, 6));
            long seconds = date.toEpochDay() * 86_400 + Long.parseLong(time[0]) * 3600 + Long.parseLong(time[1]) * 60
                    + Long.parseLong(second[0]) - (moment.charAt(sign) == '-' ? -offsetSeconds : offsetSeconds);
            return Long.toString(seconds * 1_000_000 + micros).getBytes(StandardCharsets.US_ASCII);
        } catch (NumberFormatException | DateTimeException | ArrayIndexOutOfBoundsException strange) {
            return NOTHING;
        }
    }
}
