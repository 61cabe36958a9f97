package tutti.pgwire;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a simple query, perhaps of several statements, answered.
 *
 * @param statements in order
 * @param notices raised meanwhile, at most {@value #NOTICE_LIMIT}
 */
public record QueryResult(List<Statement> statements, List<ErrorFields> notices) {
    /** Notices beyond these are dropped. */
    public static final int NOTICE_LIMIT = 1000;

    /**
     * One statement's result.
     *
     * @param tag of its CommandComplete; empty for an empty statement
     * @param columns names, none if it returns no rows
     * @param rows of values in text form
     */
    public record Statement(String tag, List<String> columns, List<List<@Nullable String>> rows) {}

    /** Rows of the last statement that has columns. */
    public List<List<@Nullable String>> rows() {
        for (int i = statements.size() - 1; i >= 0; i--) {
            if (!statements.get(i).columns().isEmpty()) {
                return statements.get(i).rows();
            }
        }
        return List.of();
    }

    /** The first value of the first row, or null if there is none. */
    public @Nullable String value() {
        List<List<@Nullable String>> rows = rows();
        return rows.isEmpty() || rows.getFirst().isEmpty() ? null : rows.getFirst().getFirst();
    }
}
