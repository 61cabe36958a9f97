package tutti.wire.sql;

import java.util.Locale;
import java.util.Set;

/** Tells values that the server reads as the moment at which it gets them where it expects a date or a time, such as {@code now} or {@code tomorrow 12:00}. */
public final class Moments {
    private static final Set<String> WORDS = Set.of("now", "today", "tomorrow", "yesterday");
    /** What may stand beside such a word: parts of a time. Time zones are told by their form. */
    private static final Set<String> BESIDE = Set.of("at", "on", "t", "z", "zulu", "am", "pm", "ad", "bc", "allballs");
    private static final int ZONE_LETTERS_MAX = 5;

    private Moments() {}

    /**
     * Whether a value may be one, also within an array, a range or a row. A text in which other words stand besides is none.
     *
     * @param value as it is sent or written, without quotation marks
     */
    public static boolean mayBe(CharSequence value) {
        boolean found = false;
        boolean structured = false;
        int i = 0;
        while (i < value.length()) {
            char c = value.charAt(i);
            int start = i;
            while (i < value.length() && isPart(value.charAt(i))) {
                i++;
            }
            if (i == start) {
                structured |= c == '{' || c == '(' || c == '[';
                i++;
                continue;
            }
            String word = value.subSequence(start, i).toString().toLowerCase(Locale.ROOT);
            if (WORDS.contains(word)) {
                found = true;
                if (structured) {
                    return true;
                }
            } else if (!structured && !BESIDE.contains(word) && !isZone(word)) {
                return false;
            }
        }
        return found;
    }

    private static boolean isPart(char c) {
        return Character.isLetter(c) || c == '/' || c == '_';
    }

    private static boolean isZone(String word) {
        return word.indexOf('/') > 0
                || (word.length() <= ZONE_LETTERS_MAX && (word.endsWith("t") || word.equals("utc")));
    }
}
