package tutti.sim.fault;

import java.util.Arrays;
import java.util.List;

/** How a wrong word is refused: with the valid one that is nearest to it. */
final class Words {
    private Words() {}

    /** To be thrown about a word that is none of the valid ones. */
    static IllegalArgumentException unknown(String what, String written, List<String> valid) {
        String nearest = nearest(written, valid);
        return new IllegalArgumentException("there is no " + what + " '" + written + "'; did you mean '" + nearest
                + "'? Valid: " + String.join(", ", valid));
    }

    private static String nearest(String written, List<String> valid) {
        String best = valid.getFirst();
        for (String candidate : valid) {
            if (distance(written, candidate) < distance(written, best)) {
                best = candidate;
            }
        }
        return best;
    }

    /** Insertions, deletions and replacements of letters that turn one word into the other (Levenshtein). */
    private static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        Arrays.setAll(row, i -> i);
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, Math.min(row[j], row[j - 1]) + 1);
            }
        }
        return row[b.length()];
    }
}
