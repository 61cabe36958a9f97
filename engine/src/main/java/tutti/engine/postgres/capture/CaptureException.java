package tutti.engine.postgres.capture;

/** Why a transaction's changes cannot be replicated: the client gets it as an error, and the transaction is rolled back. */
public final class CaptureException extends Exception {
    private static final long serialVersionUID = 1;
    private final String sqlState;

    CaptureException(String sqlState, String message) {
        super(message);
        this.sqlState = sqlState;
    }

    /** Five characters. */
    public String sqlState() {
        return sqlState;
    }
}
