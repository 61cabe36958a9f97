package tutti.runtime;

/** The others say that a node was removed from its cluster, for good. */
public final class RemovedNodeException extends TurnedAwayException {
    private static final long serialVersionUID = 1;

    /** Says so. */
    public RemovedNodeException(String message) {
        super(message);
    }
}
