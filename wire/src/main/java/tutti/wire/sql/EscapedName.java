package tutti.wire.sql;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** An identifier written with Unicode escapes, {@code U&"d\0061ta"}, perhaps with {@code UESCAPE} and another character than the backslash behind it. */
final class EscapedName {
    private static final long UESCAPE = SqlTokens.key("uescape");

    private EscapedName() {}

    /**
     * What such an identifier stands for.
     *
     * @param sql in which it begins at {@code start}, and ends before {@code next}
     * @param end of the piece of SQL
     * @return null if it cannot be told; the server may refuse it
     */
    static @Nullable String of(byte[] sql, int start, int next, int end) {
        int escape = escape(sql, next, end);
        if (escape < 0) {
            return null;
        }
        String written = new String(sql, start + 3, Math.max(0, next - start - 4), StandardCharsets.UTF_8)
                .replace("\"\"", "\"");
        StringBuilder name = new StringBuilder(written.length());
        int at = 0;
        while (at < written.length()) {
            char letter = written.charAt(at++);
            if (letter != escape) {
                name.append(letter);
            } else if (at < written.length() && written.charAt(at) == escape) {
                name.append(letter);
                at++;
            } else {
                boolean six = at < written.length() && written.charAt(at) == '+';
                int from = six ? at + 1 : at;
                int to = from + (six ? 6 : 4);
                int point = to > written.length() ? -1 : point(written, from, to);
                if (point < 0) {
                    return null;
                }
                name.appendCodePoint(point);
                at = to;
            }
        }
        return name.toString();
    }

    /** The number in hexadecimal digits; -1 if it is none of a character. */
    private static int point(String digits, int from, int to) {
        int point = 0;
        for (int i = from; i < to; i++) {
            int digit = Character.digit(digits.charAt(i), 16);
            if (digit < 0) {
                return -1;
            }
            point = point * 16 + digit;
        }
        return Character.isValidCodePoint(point) ? point : -1;
    }

    /** The character that escapes begin with; -1 if it cannot be told. */
    private static int escape(byte[] sql, int from, int end) {
        SqlTokens behind = new SqlTokens();
        behind.reset(sql, from, end, true);
        if (behind.next() != SqlTokens.WORD || behind.word() != UESCAPE) {
            return '\\';
        }
        boolean plain = behind.next() == SqlTokens.STRING && behind.position() - behind.start() == 3
                && sql[behind.start()] == '\'';
        return plain ? sql[behind.start() + 1] : -1;
    }
}
