package tutti.node.trace;

/** Something that takes time, as a {@link Tracer} records it. Any thread; nothing blocks or fails. Nothing is said of it after its end. */
public interface Span {
    /** What it is, as far as others should know. */
    enum Kind {
        /** A client's transaction at its node. */
        TRANSACTION,
        /** Statements of it that are answered together. */
        STATEMENT,
        /** A message on its way to all nodes. */
        ORDER,
        /** Such a message at another node, until it has had its effect there. */
        DELIVERY,
        /** Any other part of these. */
        STEP
    }

    /** By which it is known to others. */
    TraceContext context();

    /**
     * Begins a part of it.
     *
     * @param name of few that there are
     * @param agoNanos since when, in nanoseconds before now, at least 0
     */
    Span child(Kind kind, String name, long agoNanos);

    /** Says something of it, by a name of OpenTelemetry's conventions or one that begins with {@code tutti.}. */
    Span with(String name, String value);

    /** The same of a number. */
    Span with(String name, long value);

    /**
     * It did not do what it was to do.
     *
     * @param type SQLSTATE or another word of few that there are
     */
    Span failed(String type);

    /** It is over, now. */
    void end();
}
