package tutti.core.text;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Finds the valid word that somebody may have meant who wrote another one. */
public final class NearestWord {
    private NearestWord() {}

    /**
     * The valid word that takes the fewest changes of letters, whatever their case; the first of several.
     *
     * @param valid at least one
     */
    public static String of(String written, List<String> valid) {
        String folded = written.strip().toLowerCase(Locale.ROOT);
        String nearest = valid.getFirst();
        int fewest = Integer.MAX_VALUE;
        for (String candidate : valid) {
            int changes = distance(folded, candidate.toLowerCase(Locale.ROOT));
            if (changes < fewest) {
                fewest = changes;
                nearest = candidate;
            }
        }
        return nearest;
    }

    /** Likewise, but empty if even that is too far off to be meant: more than a third of the letters, and more than two. */
    public static String near(String written, List<String> valid) {
        String nearest = valid.isEmpty() ? "" : of(written, valid);
        return distance(written.strip().toLowerCase(Locale.ROOT), nearest.toLowerCase(Locale.ROOT)) <= Math.max(2,
                written.length() / 3) ? nearest : "";
    }

    /**
     * Insertions, deletions, replacements and swaps of neighbours that turn one word into the other, no letter being changed
     * twice (optimal string alignment).
     */
    static int distance(String a, String b) {
        int[] beforePrevious = new int[b.length() + 1];
        int[] previous = new int[b.length() + 1];
        int[] current = new int[b.length() + 1];
        Arrays.setAll(previous, i -> i);
        for (int i = 1; i <= a.length(); i++) {
            current[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int replaced = previous[j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                current[j] = Math.min(replaced, Math.min(previous[j], current[j - 1]) + 1);
                if (i > 1 && j > 1 && a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1)) {
                    current[j] = Math.min(current[j], beforePrevious[j - 2] + 1);
                }
            }
            int[] free = beforePrevious;
            beforePrevious = previous;
            previous = current;
            current = free;
        }
        return previous[b.length()];
    }
}
