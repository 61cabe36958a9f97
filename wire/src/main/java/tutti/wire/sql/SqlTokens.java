package tutti.wire.sql;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;

/**
 * Finds the words of a piece of SQL. A tokenizer over bytes in any encoding that contains ASCII as it is, which knows
 * comments (nested too), quoted identifiers, strings in all of PostgreSQL's forms and dollar quotes; it allocates
 * nothing. Used again and again by one event loop.
 */
public final class SqlTokens {
    /** No more tokens. (A token that is none of these kinds is one punctuation character, its kind that character.) */
    public static final int END = 0;
    /** An unquoted word. */
    public static final int WORD = 1;
    /** A quoted identifier. */
    public static final int QUOTED = 2;
    /** A string, bit string or dollar-quoted string. */
    public static final int STRING = 3;
    /** A number or parameter. */
    public static final int NUMBER = 4;

    /** Longer names are cut by the server. */
    public static final int NAME_BYTES_MAX = 63;

    private byte[] sql = new byte[0];
    private int end;
    private int next;
    private boolean standardStrings = true;
    private int start;
    private long word;

    /** Begins with a piece of SQL. */
    public void reset(byte[] bytes, int from, int to, boolean standardConformingStrings) {
        sql = bytes;
        next = from;
        end = to;
        standardStrings = standardConformingStrings;
    }

    /** Where the last token starts. */
    public int start() {
        return start;
    }

    /** Where the last token ends. */
    public int position() {
        return next;
    }

    /** The last token's word, as {@link #key} makes it from lower case; only after {@link #WORD}. */
    public long word() {
        return word;
    }

    /**
     * What stands between the quotes of a plain string or identifier, as {@link #key} makes it from lower case; only after
     * {@link #STRING} and {@link #QUOTED}.
     */
    public long content() {
        String name = escaped() ? EscapedName.of(sql, start, next, end) : null;
        if (name != null) {
            return nameKey(name);
        }
        long hash = 0xcbf29ce484222325L;
        for (int i = start + 1; i < next - 1; i++) {
            hash = mix(hash, sql[i]);
        }
        return hash;
    }

    private static long mix(long hash, byte letter) {
        return (hash ^ ((letter >= 'A' && letter <= 'Z' ? letter | 0x20 : letter) & 0xff)) * 0x100000001b3L;
    }

    /** A number that stands for a word of lower-case letters (FNV-1a, 64 bits). */
    public static long key(String lowerCase) {
        long hash = 0xcbf29ce484222325L;
        for (int i = 0; i < lowerCase.length(); i++) {
            hash = (hash ^ lowerCase.charAt(i)) * 0x100000001b3L;
        }
        return hash;
    }

    /**
     * The key of a name as it stands in a text in UTF-8, whether quoted or not, in any case: what {@link #word} and {@link #content}
     * are of tokens that are that name.
     */
    public static long nameKey(String name) {
        long hash = 0xcbf29ce484222325L;
        for (byte letter : name.replace("\"", "\"\"").getBytes(StandardCharsets.UTF_8)) {
            hash = mix(hash, letter);
        }
        return hash;
    }

    /**
     * Whether the last token, a word or a quoted identifier, may be another name than its letters say: it is written with escapes,
     * so long that the server cuts it, or with letters beyond ASCII in another encoding.
     *
     * @param utf8 whether the text is in UTF-8
     */
    public boolean mayBeAnotherName(boolean utf8) {
        return escaped() || next - start > NAME_BYTES_MAX || !(utf8 || isAscii());
    }

    /** Whether it is an identifier in which letters may be written with escapes. */
    private boolean escaped() {
        return sql[next - 1] == '"' && sql[start] != '"';
    }

    private boolean isAscii() {
        for (int i = start; i < next; i++) {
            if (sql[i] < 0) {
                return false;
            }
        }
        return true;
    }

    /** Whether the last token begins with {@code pg_}. */
    public boolean startsWithPg() {
        return next - start > 3 && (sql[start] | 0x20) == 'p' && (sql[start + 1] | 0x20) == 'g'
                && sql[start + 2] == '_';
    }

    /** Whether the last token, a word, a quoted identifier or a plain string, begins with this, which is in lower case, or may do so. */
    public boolean startsWith(String lowerCase) {
        if (escaped()) {
            String name = EscapedName.of(sql, start, next, end);
            return name == null || name.regionMatches(true, 0, lowerCase, 0, lowerCase.length());
        }
        int from = start < end && (sql[start] == '"' || sql[start] == '\'') ? start + 1 : start;
        if (next - from < lowerCase.length()) {
            return false;
        }
        for (int i = 0; i < lowerCase.length(); i++) {
            byte letter = sql[from + i];
            if ((letter >= 'A' && letter <= 'Z' ? letter | 0x20 : letter) != lowerCase.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    /** Whether the last token is a string in plain quotes, in one piece and without quotes or backslashes in it: any setting reads it alike. */
    public boolean isPlainString() {
        boolean plain = next - start >= 2 && sql[start] == '\'' && sql[next - 1] == '\'';
        for (int i = start + 1; plain && i < next - 1; i++) {
            plain = sql[i] != '\'' && sql[i] != '\\';
        }
        return plain;
    }

    /** Whether the last token, in small letters, contains one of some words of ASCII. */
    public boolean containsAny(List<String> words) {
        String text = new String(sql, start, next - start, StandardCharsets.ISO_8859_1).toLowerCase(Locale.ROOT);
        return words.stream().anyMatch(text::contains);
    }

    /** Whether the last token consists of digits. */
    public boolean isPlainNumber() {
        boolean plain = next > start;
        for (int i = start; plain && i < next; i++) {
            plain = sql[i] >= '0' && sql[i] <= '9';
        }
        return plain;
    }

    /** Whether the content of the last token, a plain string, begins as a name does, quoted or not, and no number. */
    public boolean beginsLikeName() {
        return next - start > 2 && (isWordStart(sql[start + 1]) || sql[start + 1] == '"');
    }

    /** Advances to the next token. */
    public int next() {
        skipBlanks();
        start = next;
        if (next >= end) {
            return END;
        }
        byte first = sql[next];
        if (first == '\'') {
            quotedString(!standardStrings);
            return STRING;
        }
        if (first == '"') {
            quoted((byte) '"', false);
            return QUOTED;
        }
        if (isWordStart(first)) {
            return wordOrPrefixedString(first);
        }
        if (first == '$') {
            return dollar();
        }
        if (first >= '0' && first <= '9') {
            next++;
            while (next < end && isNumberPart(next)) {
                next++;
            }
            return NUMBER;
        }
        next++;
        return first;
    }

    private int wordOrPrefixedString(byte first) {
        if (next + 1 < end && sql[next + 1] == '\'') {
            switch (first | 0x20) {
                case 'e' -> {
                    next++;
                    quotedString(true);
                    return STRING;
                }
                case 'b', 'x', 'n' -> {
                    next++;
                    quotedString((first | 0x20) == 'n' && !standardStrings);
                    return STRING;
                }
                default -> {
                    // a word directly before a string
                }
            }
        }
        if ((first | 0x20) == 'u' && next + 2 < end && sql[next + 1] == '&'
                && (sql[next + 2] == '\'' || sql[next + 2] == '"')) {
            next += 2;
            if (sql[next] == '"') {
                quoted((byte) '"', false);
                return QUOTED;
            }
            quotedString(false);
            return STRING;
        }
        long hash = 0xcbf29ce484222325L;
        while (next < end && isWordPart(sql[next])) {
            hash = mix(hash, sql[next++]);
        }
        word = hash;
        return WORD;
    }

    private int dollar() {
        int tagEnd = next + 1;
        if (tagEnd < end && sql[tagEnd] >= '0' && sql[tagEnd] <= '9') {
            next = tagEnd;
            while (next < end && sql[next] >= '0' && sql[next] <= '9') {
                next++;
            }
            return NUMBER;
        }
        while (tagEnd < end && sql[tagEnd] != '$' && isWordPart(sql[tagEnd])) {
            tagEnd++;
        }
        if (tagEnd >= end || sql[tagEnd] != '$') {
            next++;
            return '$';
        }
        int length = tagEnd + 1 - next;
        int from = next;
        int at = tagEnd + 1;
        while (at + length <= end) {
            if (sql[at] == '$' && java.util.Arrays.equals(sql, at, at + length, sql, from, from + length)) {
                next = at + length;
                return STRING;
            }
            at++;
        }
        next = end;
        return STRING;
    }

    /**
     * A string may go on after white space with a newline, in which comments up to the end of a line may stand; its continuation is
     * of the same kind.
     */
    private void quotedString(boolean backslashes) {
        while (true) {
            quoted((byte) '\'', backslashes);
            int after = next;
            boolean newline = false;
            while (after < end && (isSpace(sql[after]) || beginsLineComment(after))) {
                if (isSpace(sql[after])) {
                    newline |= isNewline(sql[after++]);
                } else {
                    after = lineEnd(after);
                }
            }
            if (!newline || after >= end || sql[after] != '\'') {
                return;
            }
            next = after;
        }
    }

    private boolean beginsLineComment(int at) {
        return sql[at] == '-' && at + 1 < end && sql[at + 1] == '-';
    }

    private int lineEnd(int from) {
        int at = from;
        while (at < end && !isNewline(sql[at])) {
            at++;
        }
        return at;
    }

    private static boolean isNewline(byte at) {
        return at == '\n' || at == '\r';
    }

    private void quoted(byte quote, boolean backslashes) {
        next++;
        while (next < end) {
            byte at = sql[next++];
            if (at == quote) {
                if (next < end && sql[next] == quote) {
                    next++;
                } else {
                    return;
                }
            } else if (at == '\\' && backslashes) {
                next++;
            }
        }
        next = end;
    }

    private void skipBlanks() {
        while (next < end) {
            byte at = sql[next];
            if (isSpace(at)) {
                next++;
            } else if (beginsLineComment(next)) {
                next = lineEnd(next);
            } else if (at == '/' && next + 1 < end && sql[next + 1] == '*') {
                comment();
            } else {
                return;
            }
        }
    }

    private void comment() {
        int depth = 0;
        while (next < end) {
            if (sql[next] == '/' && next + 1 < end && sql[next + 1] == '*') {
                depth++;
                next += 2;
            } else if (sql[next] == '*' && next + 1 < end && sql[next + 1] == '/') {
                depth--;
                next += 2;
                if (depth == 0) {
                    return;
                }
            } else {
                next++;
            }
        }
    }

    private static boolean isSpace(byte at) {
        return at == ' ' || (at >= '\t' && at <= '\r');
    }

    /** A dollar quote may follow a number at once, and so may two dots, which are between two numbers in a loop. */
    private boolean isNumberPart(int at) {
        return sql[at] == '.'
                ? at + 1 == end || sql[at + 1] != '.'
                : sql[at] != '$' && isWordPart(sql[at]);
    }

    private static boolean isWordStart(byte at) {
        return (at >= 'a' && at <= 'z') || (at >= 'A' && at <= 'Z') || at == '_' || at < 0;
    }

    private static boolean isWordPart(byte at) {
        return isWordStart(at) || (at >= '0' && at <= '9') || at == '$';
    }
}
