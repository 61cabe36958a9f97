package tutti.wire;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.ErrorFields;
import tutti.wire.sql.StatementClasses;

/**
 * Values of sequences that are drawn when requests are submitted, since functions that these call say how many they want ({@code tutti.sequences} among
 * their settings); they travel with the requests (docs/decisions/0060). Immutable, for any thread.
 *
 * @param sql draws them, in the session of the client; empty if there is nothing to draw
 * @param refusal why they cannot be drawn, or null
 */
record SequenceDraws(String sql, @Nullable ErrorFields refusal) {
    /** So many values of one sequence travel with a request at most. */
    static final int VALUES_MAX = 1000;
    static final SequenceDraws NONE = new SequenceDraws("", null);
    /** Of a request that draws nothing. */
    static final String NOTHING = "{}";
    /** A name as SQL has it, which may have a schema; then perhaps how many. */
    private static final Pattern ONE = Pattern.compile("\\s*([\\w$.\"]+)(?:\\s+(\\d{1,9}))?\\s*");

    /**
     * What is to be drawn.
     *
     * @param requests statements of each
     */
    static SequenceDraws of(List<List<StatementClasses.Statements>> requests) {
        List<String> numbers = new ArrayList<>();
        List<String> names = new ArrayList<>();
        List<String> counts = new ArrayList<>();
        for (int request = 0; request < requests.size(); request++) {
            Map<String, Integer> wanted = new TreeMap<>();
            for (StatementClasses.Statements part : requests.get(request)) {
                for (Map.Entry<String, String> says : part.draws().entrySet()) {
                    ErrorFields refusal = read(says.getKey(), says.getValue(), wanted);
                    if (refusal != null) {
                        return new SequenceDraws("", refusal);
                    }
                }
            }
            for (Map.Entry<String, Integer> each : wanted.entrySet()) {
                numbers.add(String.valueOf(request));
                names.add("'" + each.getKey() + "'");
                counts.add(String.valueOf(each.getValue()));
            }
        }
        return names.isEmpty()
                ? NONE
                : new SequenceDraws("SELECT tutti.draw(ARRAY[" + String.join(",", numbers) + "], ARRAY["
                        + String.join(",", names) + "]::pg_catalog.regclass[], ARRAY[" + String.join(",", counts)
                        + "])", null);
    }

    private static @Nullable ErrorFields read(String function, String says, Map<String, Integer> wanted) {
        for (String each : says.split(",", -1)) {
            Matcher one = ONE.matcher(each);
            int count = !one.matches() ? 0 : one.group(2) == null ? 1 : Integer.parseInt(one.group(2));
            if (count < 1 || count > VALUES_MAX) {
                return Errors.error("22023", "function " + function + " says that it draws values of '" + each.strip()
                        + "', which is no sequence and a number from 1 to " + VALUES_MAX)
                        .with('H', "ALTER PROCEDURE " + function + " SET tutti.sequences = 'one_seq, other_seq 3';");
            }
            wanted.merge(one.group(1), count, Math::max);
        }
        return null;
    }

    /**
     * The values of one request.
     *
     * @param drawn what {@link #sql} has answered; null if nothing was to be drawn
     * @param number of the request, from 0
     */
    static String of(@Nullable String drawn, int number) {
        return drawn == null ? NOTHING : drawn.split("\n", -1)[number];
    }
}
