package tutti.wire;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.ErrorFields;
import tutti.wire.sql.SqlTokens;

/**
 * A statement that is not simply passed on.
 *
 * @param sql its text, or the texts of several that every node executes together, separated by {@link Statement#SEPARATOR}
 * @param targets the relations that it is about, as written, if they may be temporary ones
 * @param concurrently whether the client has said CONCURRENTLY, which has been taken out of the text
 * @param fills whether it makes a table from a query: from a transaction block other nodes get the table and its rows
 * @param ofCatalog whether it writes a system catalog as if it were a table
 */
record UtilityStatement(String sql, List<String> targets, boolean concurrently, boolean fills, boolean ofCatalog) {
    private static final ErrorFields CATALOG_IN_BLOCK = Errors.error("25001",
            "a statement that writes a system catalog cannot run inside a transaction block")
            .with('H', "Every node executes it at one position of the order: send it by itself.");
    /** What a client hears who has said CONCURRENTLY. */
    static final ErrorFields NOT_CONCURRENTLY = ErrorFields.of("NOTICE", "00000",
            "CONCURRENTLY has no effect: every node executes the statement at one position of the order, and other transactions"
                    + " wait meanwhile");

    private static final List<Pattern> ADDS_DEFAULT = words("ADD", "DEFAULT");
    private static final List<Pattern> ADDS_COMPUTED = words("GENERATED", "STORED");
    private static final List<Pattern> ADDS_DRAWN = words("ADD", "(?:(?:small|big)?serial[248]?|identity)");
    private static final List<Pattern> SETS_EXPRESSION = words("SET", "EXPRESSION");
    private static final List<Pattern> RETYPES = words("TYPE", "USING");

    private static final Pattern TIMES = Pattern.compile("\\b(?:timestamp|timestamptz|date|time)\\b",
            Pattern.CASE_INSENSITIVE);

    private static final Pattern MAKES = Pattern.compile("(?:CREATE|ALTER)\\b", Pattern.CASE_INSENSITIVE);
    /** As {@code tutti.names_moment()} has it, and more: that tells what is refused. */
    private static final Pattern MOMENTS = Pattern.compile(
            "\\b(?:now|today|tomorrow|yesterday)\\b(?!\\s*+\\()|\\be'[^']*\\\\[xu0-7]|\\bu&'|'[ \\t]*+[\\n\\r]\\s*+'"
                    + "|['$]\\s*+[\\[({][^'$]*\\\\",
            Pattern.CASE_INSENSITIVE);

    private static List<Pattern> words(String... words) {
        return Arrays.stream(words).map(word -> Pattern.compile("\\b" + word + "\\b", Pattern.CASE_INSENSITIVE))
                .toList();
    }

    /** A text from its first word on, without comments before it. */
    static String fromFirstWord(String sql) {
        byte[] bytes = sql.getBytes(StandardCharsets.UTF_8);
        SqlTokens tokens = new SqlTokens();
        tokens.reset(bytes, 0, bytes.length, true);
        tokens.next();
        return new String(bytes, tokens.start(), bytes.length - tokens.start(), StandardCharsets.UTF_8);
    }

    /** Whether it is an ALTER in which these words stand in this order, whatever they mean there. Looks at the text once, so that a long one keeps nobody waiting. */
    private boolean alters(List<Pattern> words) {
        String text = fromFirstWord(sql);
        if (!text.regionMatches(true, 0, "ALTER", 0, 5)) {
            return false;
        }
        int at = 0;
        for (Pattern word : words) {
            Matcher found = word.matcher(text);
            if (!found.find(at)) {
                return false;
            }
            at = found.end();
        }
        return true;
    }

    /** Whether it may add a column with a default to a table with rows, of which other nodes are told as of changed ones if each node would fill them differently. */
    boolean mayFillRows() {
        return alters(ADDS_DEFAULT);
    }

    /** Whether it may compute a column of rows that are there, of which other nodes are told if it is not certain that each computes the same. */
    boolean mayComputeRows() {
        return alters(ADDS_COMPUTED) || alters(SETS_EXPRESSION);
    }

    /** Whether it may add a column whose values are drawn from a sequence: each node would give them to other rows. */
    boolean mayDrawForRows() {
        return alters(ADDS_DRAWN);
    }

    /** Whether it names a type of times, which are cast to each other by the session's time zone: the server counts that as something that varies. */
    boolean namesTimes() {
        return TIMES.matcher(sql).find();
    }

    /**
     * Whether it may make something with the moment in it at which the server reads it, as {@code 'now'} is a constant of each node's own: only the node that executes it first can
     * tell by what has become of it.
     */
    boolean mayKeepMoment() {
        return MAKES.matcher(fromFirstWord(sql)).lookingAt() && (sql.indexOf('\'') >= 0 || sql.indexOf('$') >= 0)
                && MOMENTS.matcher(sql).find();
    }

    /** Whether it may make the values of a column anew. */
    boolean mayRetype() {
        return alters(RETYPES);
    }

    /** Why it is not executed in a transaction block, or null. */
    @Nullable
    ErrorFields refusedInBlock() {
        if (ofCatalog) {
            return CATALOG_IN_BLOCK;
        }
        return concurrently
                ? Errors.error("25001",
                        sql.strip().split("\\s", 2)[0].toUpperCase(Locale.ROOT)
                                + " ... CONCURRENTLY cannot run inside a transaction block")
                : null;
    }

    /** A statement of which only the text matters. */
    static UtilityStatement of(String sql) {
        return new UtilityStatement(sql, List.of(), false, false, false);
    }

    /** Whether one of the relations that {@link Capture.Calls#settings} was asked about, which returned this row, is a temporary one. */
    static boolean temporary(List<@Nullable String> settings) {
        return !settings.isEmpty() && "t".equals(settings.getLast());
    }
}
