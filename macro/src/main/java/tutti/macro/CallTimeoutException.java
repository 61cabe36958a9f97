package tutti.macro;

/**
 * There was no answer within the time that a call may take. A read had no effect. A write keeps its place in the order:
 * it has taken effect or will.
 */
public final class CallTimeoutException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Says which call. */
    public CallTimeoutException(String what) {
        super(what);
    }
}
