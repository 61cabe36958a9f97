package tutti.core.spi;

/** A node cannot go on with its own database, which lacks what the node is to keep; a copy of another node's has it. */
public final class CopyNeededException extends Exception {
    private static final long serialVersionUID = 1;

    /** @param message for people */
    public CopyNeededException(String message) {
        super(message);
    }
}
