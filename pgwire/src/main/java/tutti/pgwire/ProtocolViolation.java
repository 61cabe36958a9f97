package tutti.pgwire;

/** A peer sent bytes that the PostgreSQL protocol does not allow, or more of them than the configured limits do. */
public final class ProtocolViolation extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** SQLSTATE protocol_violation. */
    public static final String SQL_STATE = "08P01";

    private final String sqlState;

    /** Says what was wrong, in words for the person at the other end. */
    public ProtocolViolation(String message) {
        this(message, SQL_STATE);
    }

    /** Likewise, of what has an SQLSTATE of its own. */
    public ProtocolViolation(String message, String sqlState) {
        super(message);
        this.sqlState = sqlState;
    }

    /** Its SQLSTATE. */
    public String sqlState() {
        return sqlState;
    }
}
