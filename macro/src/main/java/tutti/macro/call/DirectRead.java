package tutti.macro.call;

/** Leave to read one implementation, in the caller's thread, until {@link #endRead}. For generated code. */
public interface DirectRead {
    /** What may be read. */
    Object implementation();

    /** Ends it. Called exactly once, by the thread that was given leave. */
    void endRead();
}
