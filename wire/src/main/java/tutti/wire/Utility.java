package tutti.wire;

import org.jspecify.annotations.Nullable;

/**
 * A statement that is not simply passed on.
 *
 * @param sql its text
 * @param target the relation that it is about, as written, if that may be a temporary one
 * @param inBlockRefusal why it cannot be used in a transaction block, or null if it can
 */
record Utility(String sql, @Nullable String target, @Nullable String inBlockRefusal) {}
