package tutti.wire;

import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Whether texts move cursors that none of them has declared: these may be WITH HOLD, of an earlier transaction, and stay where they are when a
 * transaction is rolled back. What a function opens is not WITH HOLD; PostgreSQL names it {@code <unnamed portal …>} unless somebody does. In doubt a cursor
 * was not declared. Takes time in proportion to the texts. For one thread at a time.
 */
final class MovedCursors {
    private static final Pattern WORD = Pattern.compile("\\b(?:(fetch|move)|declare\\s+(\"[^\"]{1,63}\"|\\w+))\\b?");
    private static final Pattern ROWS = Pattern.compile("\\b(?:only|with\\s+ties)$");
    private static final String OF_A_FUNCTION = "<unnamed portal ";

    private final Set<String> declared = new HashSet<>();

    /**
     * Looks at another text.
     *
     * @param text of statements
     * @return whether one of them moves such a cursor
     */
    boolean in(String text) {
        String lower = text.toLowerCase(Locale.ROOT);
        Matcher words = WORD.matcher(lower);
        while (words.find()) {
            String declares = words.group(2);
            if (declares != null) {
                declared.add(name(declares));
            } else if (begins(lower, words.start()) && moves(statement(lower, words.end()))) {
                return true;
            }
        }
        return false;
    }

    /** Whether a statement may begin there: behind nothing, another one, a comment, or at the beginning of a line. */
    private static boolean begins(String text, int at) {
        int before = at - 1;
        while (before >= 0 && Character.isWhitespace(text.charAt(before)) && text.charAt(before) != '\n') {
            before--;
        }
        return before < 0 || ";/\n".indexOf(text.charAt(before)) >= 0;
    }

    private static String statement(String text, int from) {
        int end = text.indexOf(';', from);
        return text.substring(from, end < 0 ? text.length() : end).strip();
    }

    /** Of what stands behind FETCH or MOVE, the last word is the cursor's name; otherwise it limits the rows of a query. */
    private boolean moves(String rest) {
        int quote = rest.endsWith("\"") ? rest.lastIndexOf('"', rest.length() - 2) : -1;
        String last = name(quote >= 0 ? rest.substring(quote) : rest.substring(lastBlank(rest) + 1));
        return !ROWS.matcher(rest).find() && !last.startsWith(OF_A_FUNCTION) && !declared.contains(last);
    }

    private static int lastBlank(String text) {
        int at = text.length() - 1;
        while (at >= 0 && !Character.isWhitespace(text.charAt(at))) {
            at--;
        }
        return at;
    }

    private static String name(String written) {
        return written.replace("\"", "");
    }
}
