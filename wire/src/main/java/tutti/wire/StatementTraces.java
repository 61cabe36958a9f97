package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.node.Transactions;
import tutti.node.trace.SessionTrace;
import tutti.node.trace.Span;
import tutti.node.trace.TraceContext;
import tutti.node.trace.Tracer;

/**
 * Follows a session's transactions that are to be followed: a span for the transaction, and below it one for each cycle of statements
 * (docs/operations.md). Whether it is followed is decided at its first statement that is not BEGIN, or at a later one that comes with a parent
 * which is. For one thread at a time.
 *
 * <p>
 * A parent is named in a comment of the statement, as sqlcommenter writes it: {@code /*traceparent='00-…'*}{@code /}, in its
 * first or its last {@value #COMMENT_BYTES} bytes.
 */
final class StatementTraces implements SessionTrace {
    private static final int COMMENT_BYTES = 512;
    private static final byte[] PARENT = "traceparent='".getBytes(StandardCharsets.US_ASCII);
    private static final Pattern COMMENT = Pattern
            .compile("/\\*(?:(?!\\*/).)*?\\btraceparent='([0-9a-f-]{55,128})'(?:(?!/\\*).)*?\\*/", Pattern.DOTALL);
    /** With which a transaction begins, and which tell nothing of it. */
    private static final Set<String> BEGINNINGS = Set.of("BEGIN", "START", "");

    private final Transactions node;
    private final Tracer tracer;
    private final LongSupplier clock;
    /** Whether a transaction is open, or a cycle is under way that may be one. */
    private boolean open;
    private long openedNanos;
    private boolean asked;
    private @Nullable Span transaction;
    private @Nullable TransactionId known;

    /* The cycle that is under way. */
    private long begunNanos;
    private StatementText text = StatementText.NONE;
    private int executed;
    private @Nullable TraceContext parent;
    private @Nullable String error;
    private long commitsNanos;

    /** Of a session of this node, by this clock in nanoseconds. */
    StatementTraces(Transactions node, LongSupplier clock) {
        this.node = node;
        this.tracer = node.traces().tracer();
        this.clock = clock;
    }

    /** Whether any transaction may be followed; otherwise nothing need be told. */
    boolean on() {
        return tracer.on();
    }

    /** The client has begun a cycle. */
    void begins(long nanos) {
        begunNanos = nanos;
        text = StatementText.NONE;
        executed = 0;
        parent = null;
        error = null;
        if (!open) {
            open = true;
            asked = false;
            openedNanos = nanos;
        }
    }

    /** A statement has come, which may name a parent: the bytes of its text, up to a zero or the end. */
    void hears(ByteBuf buffer, int from, int end) {
        int zero = buffer.indexOf(from, end, (byte) 0);
        int to = zero < 0 ? end : zero;
        TraceContext told = parent(buffer, from, Math.min(to, from + COMMENT_BYTES));
        if (told == null && to - from > COMMENT_BYTES) {
            told = parent(buffer, to - COMMENT_BYTES, to);
        }
        if (told != null) {
            parent = told;
        }
    }

    private static @Nullable TraceContext parent(ByteBuf buffer, int from, int to) {
        for (int at = buffer.indexOf(from, to, PARENT[0]); at >= 0 && at + PARENT.length < to; at = buffer
                .indexOf(at + 1, to, PARENT[0])) {
            int same = 1;
            while (same < PARENT.length && buffer.getByte(at + same) == PARENT[same]) {
                same++;
            }
            if (same == PARENT.length) {
                byte[] part = new byte[to - from];
                buffer.getBytes(from, part);
                Matcher comment = COMMENT.matcher(new String(part, StandardCharsets.ISO_8859_1));
                return comment.find() ? TraceContext.parse(comment.group(1)) : null;
            }
        }
        return null;
    }

    /** A statement is about to be executed. */
    void executes(byte[] sql) {
        executed++;
        TraceContext told = parent;
        if (transaction == null && asked && (told == null || !told.sampled())) {
            return;
        }
        StatementText next = new StatementText(sql);
        if (!BEGINNINGS.contains(next.operation()) || text.equals(StatementText.NONE)) {
            text = next;
        }
        if (transaction != null || BEGINNINGS.contains(next.operation())) {
            return;
        }
        asked = true;
        transaction = tracer.transaction(told, clock.getAsLong() - openedNanos);
    }

    /** The cycle has failed, or a statement of it. */
    void failed(String sqlState) {
        error = sqlState;
    }

    /** The cycle is over. */
    void over(boolean inTransaction) {
        Span followed = transaction;
        if (followed != null) {
            statement(followed);
            if (error != null && !inTransaction) {
                followed.failed(error);
            }
        }
        if (!inTransaction) {
            open = false;
            end();
        }
    }

    private void statement(Span of) {
        String operation = text.operation();
        if (operation.isEmpty()) {
            return;
        }
        Span span = of.child(Span.Kind.STATEMENT, operation, clock.getAsLong() - begunNanos)
                .with("db.operation.name", operation);
        String shown = text.withoutValues();
        if (!shown.isEmpty()) {
            span.with("db.query.text", shown);
        }
        if (executed > 1) {
            span.with("db.operation.batch.size", executed);
        }
        if (error != null) {
            span.with("db.response.status_code", error).failed(error);
        }
        span.end();
    }

    /** The session is over, or its transaction. */
    void end() {
        forget();
        Span over = transaction;
        transaction = null;
        if (over != null) {
            over.end();
        }
    }

    private void forget() {
        TransactionId last = known;
        known = null;
        if (last != null) {
            node.traces().ends(last);
        }
    }

    private void known(TransactionId as, Span followed) {
        forget();
        known = as;
        followed.with("tutti.transaction", as.toString());
        node.traces().begins(as, followed);
    }

    // ------------------------------------------------------------------------------------------ its commit

    @Override
    public void commits() {
        commitsNanos = transaction == null ? 0 : clock.getAsLong();
    }

    @Override
    public void asks(TransactionId run, WriteSet writes) {
        Span followed = transaction;
        if (followed == null) {
            return;
        }
        if (commitsNanos != 0) {
            followed.child(Span.Kind.STEP, "capture", clock.getAsLong() - commitsNanos)
                    .with("tutti.keys", writes.keys().size()).with("tutti.bytes", writes.changes().length).end();
        }
        known(run, followed);
    }

    @Override
    public @Nullable TransactionId orders(@Nullable TransactionId name) {
        Span followed = transaction;
        if (followed == null) {
            return name;
        }
        TransactionId as = name == null ? node.reserve() : name;
        if (as != null) {
            known(as, followed);
        }
        return as;
    }

    @Override
    public String toString() {
        return String.format(Locale.ROOT, "traces (%s)", transaction == null ? "not followed" : transaction.context());
    }
}
