package tutti.node.trace;

import org.jspecify.annotations.Nullable;

/** Chooses which transactions are followed, and records spans of these. Any thread; nothing blocks or fails. */
public interface Tracer {
    /** Follows none. */
    Tracer NONE = new Tracer() {
        @Override
        public boolean on() {
            return false;
        }

        @Override
        public @Nullable Span transaction(@Nullable TraceContext parent, long agoNanos) {
            return null;
        }

        @Override
        public @Nullable Span delivery(TraceContext parent, long agoNanos) {
            return null;
        }
    };

    /** Whether any may be followed; does not change. */
    boolean on();

    /**
     * A transaction of this node's client begins.
     *
     * @param parent what its client says; null if it says nothing
     * @param agoNanos since when, in nanoseconds before now
     * @return null if it is not followed
     */
    @Nullable
    Span transaction(@Nullable TraceContext parent, long agoNanos);

    /**
     * What another node has ordered was delivered here, of a transaction that it follows.
     *
     * @param parent the sender's span
     * @param agoNanos since when, in nanoseconds before now
     * @return null if it is not followed here
     */
    @Nullable
    Span delivery(TraceContext parent, long agoNanos);
}
