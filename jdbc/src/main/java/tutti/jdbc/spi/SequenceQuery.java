package tutti.jdbc.spi;

import java.util.regex.Pattern;

/**
 * The query by which Hibernate reads what sequences there are. Nodes multiply the increments of sequences, so that no two give
 * the same value; Hibernate compares them with those that an application has declared, and refuses to start if they differ.
 */
public final class SequenceQuery {
    private static final Pattern FORM = Pattern
            .compile("\\s*select\\s+\\*\\s+from\\s+information_schema\\.sequences\\s*", Pattern.CASE_INSENSITIVE);
    private static final int LENGTH_MAX = 80;

    private SequenceQuery() {}

    /** Whether a statement is this query. */
    public static boolean is(String sql) {
        return sql.length() < LENGTH_MAX && FORM.matcher(sql).matches();
    }
}
