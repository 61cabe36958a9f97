package tutti.wire;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Stream;
import tutti.engine.postgres.catalog.HiddenCalls;
import tutti.wire.sql.SqlTokens;

/**
 * Tells of a piece of SQL that counts as a read by its words whether it may all the same call a function that changes something: it names a
 * view that does so, a table with such a policy, and the like. Errs on the side of yes. Immutable.
 */
final class HiddenWords {
    /** In a database where nothing is hidden. */
    static final HiddenWords NONE = new HiddenWords(new long[0], false);
    /** Where it is not known. */
    static final HiddenWords ANYWHERE = new HiddenWords(new long[0], true);

    private final long[] names;
    private final boolean anywhere;

    private HiddenWords(long[] names, boolean anywhere) {
        this.names = names;
        this.anywhere = anywhere;
    }

    /** What the catalog says. */
    static HiddenWords of(HiddenCalls calls) {
        Stream<String> functions = calls.functions().stream()
                .filter(name -> name.startsWith("pg_") || HarmlessFunctions.isHarmless(name));
        long[] names = Stream.concat(functions, calls.names().stream()).mapToLong(SqlTokens::nameKey).sorted()
                .distinct()
                .toArray();
        return calls.anywhere() ? ANYWHERE : names.length == 0 ? NONE : new HiddenWords(names, false);
    }

    /** Whether something is hidden somewhere. */
    boolean any() {
        return anywhere || names.length > 0;
    }

    /**
     * Whether a piece of SQL may do more than its words say.
     *
     * @param utf8 whether it is in UTF-8; if not, names with letters beyond ASCII cannot be told
     */
    boolean in(byte[] sql, int from, int to, boolean standardConformingStrings, boolean utf8) {
        if (names.length == 0) {
            return anywhere;
        }
        SqlTokens tokens = new SqlTokens();
        tokens.reset(sql, from, to, standardConformingStrings);
        for (int token = tokens.next(); token != SqlTokens.END; token = tokens.next()) {
            if (token == SqlTokens.WORD || token == SqlTokens.QUOTED) {
                long name = token == SqlTokens.WORD ? tokens.word() : tokens.content();
                if (tokens.mayBeAnotherName(utf8) || Arrays.binarySearch(names, name) >= 0) {
                    return true;
                }
            }
        }
        return false;
    }

    @Override
    public String toString() {
        return anywhere ? "anywhere" : String.format(Locale.ROOT, "%d names", names.length);
    }
}
