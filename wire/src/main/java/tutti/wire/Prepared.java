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
 * @param access what a statement touches, if somebody wants to know
 * @param bound what a portal touches, if somebody wants to know
 * @param inBand what has been sent in its place so that it tells its rows; null if it has been sent as it is
 * @param question what the node answers; null if it is none
 * @param reading how its text was read, if the node may send that again and it could be read otherwise; or null
 * @param isDone whether it is a portal that has been run, and cannot be again
 * @param needsBlock whether the engine refuses it outside of transaction blocks
 */
record Prepared(StatementKind kind, @Nullable UtilityStatement utility, @Nullable String refusal,
        @Nullable StatementAccess access,
        StatementAccess.@Nullable Bound bound, @Nullable InBandParse inBand, @Nullable ClusterQuestion question,
        TextSettings.@Nullable Reading reading, boolean isDone, boolean needsBlock) {
    /** BEGIN READ ONLY. */
    static final Prepared BEGIN_READ_ONLY = new Prepared(StatementKind.BEGIN,
            UtilityStatement.of("BEGIN READ ONLY"),
            null);
    private static final Map<StatementKind, Prepared> PLAIN = new EnumMap<>(StatementKind.class);

    static {
        for (StatementKind kind : StatementKind.values()) {
            PLAIN.put(kind, new Prepared(kind, null, null));
        }
    }

    /** Of a statement of which nobody wants to know what it reads. */
    Prepared(StatementKind kind, @Nullable UtilityStatement utility, @Nullable String refusal) {
        this(kind, utility, refusal, null, null, null, null, null, false, false);
    }

    /** The same of a statement that reads something. */
    Prepared with(StatementAccess what) {
        return new Prepared(kind, utility, refusal, what, null, inBand, question, reading, isDone, needsBlock);
    }

    /** The portal of a statement with values. */
    Prepared with(StatementAccess.@Nullable Bound what) {
        return new Prepared(kind, utility, refusal, null, what, inBand, question, reading, isDone, needsBlock);
    }

    /** The same, sent so that it tells its rows, or as it is. */
    Prepared with(@Nullable InBandParse what) {
        return new Prepared(kind, utility, refusal, access, bound, what, question, reading, isDone, needsBlock);
    }

    /** The same, whose text was read like this. */
    Prepared with(TextSettings.@Nullable Reading how) {
        return how == null
                ? this
                : new Prepared(kind, utility, refusal, access, bound, inBand, question, how, isDone,
                        needsBlock);
    }

    /** The same, of a read that may do more than its words say. */
    Prepared mayWrite() {
        return new Prepared(StatementKind.WRITE, utility, refusal, access, bound, inBand, question, reading, isDone,
                needsBlock);
    }

    /** The same, of one that is taken in transaction blocks only. */
    Prepared inBlocks() {
        return new Prepared(kind, utility, refusal, access, bound, inBand, question, reading, isDone, true);
    }

    /** The same where the engine refuses it: it changes nothing. */
    Prepared outsideOfBlock() {
        return new Prepared(StatementKind.READ, utility, refusal, access, bound, null, question, reading, isDone, true);
    }

    /** The same portal, which has been run. */
    Prepared done() {
        return new Prepared(kind, utility, refusal, access, bound, inBand, question, reading, true, needsBlock);
    }

    /** A question that the node answers, or its portal. */
    static Prepared of(@Nullable ClusterQuestion what) {
        return new Prepared(StatementKind.READ, null, null, null, null, null, what, null, false, false);
    }

    /** What is kept of a statement's text, which came in a message of so many bytes. */
    long bytes(int message) {
        return (access == null && utility == null ? 0L : message)
                + (inBand == null ? 0 : inBand.message().length);
    }

    /** Whether it is as good without its text, but for what that spares. */
    boolean needsNoText() {
        return utility == null && refusal == null && question == null;
    }

    /** Of a statement of which only the kind matters. */
    static Prepared of(StatementKind kind) {
        return java.util.Objects.requireNonNull(PLAIN.get(kind));
    }
}
