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
    private static final Pattern WORD = Pattern.compile("\\b(?:(?:fetch|move)\\b|declare\\s+(\"[^\"]{1,63}\"|\\w+))");
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
        int from = 0;
        while (words.find(from)) {
            from = words.end();
            String declares = words.group(1);
            if (declares != null) {
                declared.add(name(declares));
            } else if (begins(lower, words.start())) {
                int end = lower.indexOf(';', from);
                String rest = lower.substring(from, end < 0 ? lower.length() : end);
                if (moves(rest.strip())) {
                    return true;
                }
                from += rest.length();
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
