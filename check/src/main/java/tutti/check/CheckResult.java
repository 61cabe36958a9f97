package tutti.check;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What a checker found. Made of lists, maps, strings and numbers only, so that it can be written as JSON as it is.
 *
 * @param check its name
 * @param examined what was looked at, in words: figures that show that something was
 * @param violations what is wrong; empty if nothing is
 * @param notes what the check leaves out, and why
 * @param seconds how long it took
 */
public record CheckResult(
        String check,
        String examined,
        List<Violation> violations,
        List<String> notes,
        double seconds) {

    public CheckResult {
        violations = List.copyOf(violations);
        notes = List.copyOf(notes);
    }

    /**
     * One rule broken in one place.
     *
     * @param rule which
     * @param subject the table, node or condition concerned
     * @param text what is wrong
     * @param count how many rows are concerned, if the rule is about rows; the first of them follow
     * @param rows some of them: values by column
     */
    public record Violation(String rule, String subject, String text, long count, List<Map<String, String>> rows) {
        public Violation {
            rows = rows.stream().map(row -> Collections.unmodifiableMap(new LinkedHashMap<>(row))).toList();
        }

        /** Of a rule that is not about rows. */
        public static Violation of(String rule, String subject, String text) {
            return new Violation(rule, subject, text, 0, List.of());
        }
    }

    /** Whether nothing is wrong. */
    public boolean passed() {
        return violations.isEmpty();
    }

    /** For people. */
    public String text() {
        StringBuilder text = new StringBuilder();
        text.append(String.format(Locale.ROOT, "%s: %s (%s, %.1f s)", check, passed() ? "passed" : "FAILED", examined,
                seconds));
        for (Violation violation : violations) {
            text.append(String.format("%n  %s, %s: %s", violation.rule, violation.subject, violation.text));
            violation.rows.forEach(row -> text.append(String.format("%n    %s", row)));
            if (violation.count > violation.rows.size() && !violation.rows.isEmpty()) {
                text.append(String.format("%n    … and %d more", violation.count - violation.rows.size()));
            }
        }
        notes.forEach(note -> text.append(String.format("%n  note: %s", note)));
        return text.toString();
    }
}
