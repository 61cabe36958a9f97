package tutti.wire;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A statement that is not simply passed on.
 *
 * @param sql its text
 * @param target the relation that it is about, as written, if that may be a temporary one
 * @param inBlockRefusal why it cannot be used in a transaction block, or null if it can
 */
record UtilityStatement(String sql, @Nullable String target, @Nullable String inBlockRefusal) {
    /** A statement of which only the text matters. */
    static UtilityStatement of(String sql) {
        return new UtilityStatement(sql, null, null);
    }

    /** Whether the relation that {@link Capture.Calls#settings} was asked about, which returned this row, is a temporary one. */
    static boolean temporary(List<@Nullable String> settings) {
        return !settings.isEmpty() && "t".equals(settings.getLast());
    }
}
