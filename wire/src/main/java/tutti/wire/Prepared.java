package tutti.wire;

import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a prepared statement or portal.
 *
 * @param kind what it is
 * @param utility more of it, for schema changes and the like
 * @param refusal why it is refused, if it is
 * @param reading what a statement reads, if somebody wants to know
 * @param reads what a portal reads, if somebody wants to know
 */
record Prepared(StatementKind kind, @Nullable Utility utility, @Nullable String refusal, @Nullable Reading reading,
        Reading.@Nullable Bound reads) {
    /** BEGIN READ ONLY. */
    static final Prepared BEGIN_READ_ONLY = new Prepared(StatementKind.BEGIN,
            new Utility("BEGIN READ ONLY", null, null),
            null);
    private static final Map<StatementKind, Prepared> PLAIN = new EnumMap<>(StatementKind.class);

    static {
        for (StatementKind kind : StatementKind.values()) {
            PLAIN.put(kind, new Prepared(kind, null, null));
        }
    }

    /** Of a statement of which nobody wants to know what it reads. */
    Prepared(StatementKind kind, @Nullable Utility utility, @Nullable String refusal) {
        this(kind, utility, refusal, null, null);
    }

    /** The same of a statement that reads something. */
    Prepared with(Reading what) {
        return new Prepared(kind, utility, refusal, what, null);
    }

    /** The portal of a statement with values. */
    Prepared with(Reading.Bound what) {
        return new Prepared(kind, utility, refusal, null, what);
    }

    /** Of a statement of which only the kind matters. */
    static Prepared of(StatementKind kind) {
        return java.util.Objects.requireNonNull(PLAIN.get(kind));
    }
}
