package tutti.wire;

/**
 * One Parse of a statement that tells its rows. Whether the engine has it under its name, and still has it, decides whether what
 * comes as its result is believed: clients can close statements, and prepare others in their place. On the session's event loop.
 */
final class InBandParse {
    private final InBandStatement statement;
    private final int epoch;
    private final int times;
    private final byte[] message;
    private boolean confirmed;
    private int uses;

    /**
     * A Parse that is about to be sent.
     *
     * @param epoch of the session, see {@link InBandCapture#trusts}
     * @param times how often it has been sent again
     * @param message the client's, to be sent again; empty for the unnamed statement
     */
    InBandParse(InBandStatement statement, int epoch, int times, byte[] message) {
        this.statement = statement;
        this.epoch = epoch;
        this.times = times;
        this.message = message;
    }

    InBandStatement statement() {
        return statement;
    }

    int epoch() {
        return epoch;
    }

    int times() {
        return times;
    }

    byte[] message() {
        return message;
    }

    /** It is executed, and its result is believed. */
    void use() {
        uses++;
    }

    /** How often it has been executed like that. */
    int uses() {
        return uses;
    }

    /** The engine has parsed it. */
    void confirm() {
        confirmed = true;
    }

    /** Whether the engine has parsed it. */
    boolean confirmed() {
        return confirmed;
    }

    /** Whether its result has a column for the node. */
    boolean tellsRows() {
        return statement.tellsRows();
    }
}
