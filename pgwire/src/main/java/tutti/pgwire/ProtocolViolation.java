package tutti.pgwire;

/** A peer sent bytes that the PostgreSQL protocol does not allow, or more of them than the configured limits do. */
public final class ProtocolViolation extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** SQLSTATE protocol_violation. */
    public static final String SQL_STATE = "08P01";

    /** Says what was wrong, in words for the person at the other end. */
    public ProtocolViolation(String message) {
        super(message);
    }
}
