package tutti.runtime;

/** A node's directory is empty where it must not be, or an old copy: the others do not take it for that of the node. */
public final class LostDirectoryException extends TurnedAwayException {
    private static final long serialVersionUID = 1;

    /** Says what was found, and what to do. */
    public LostDirectoryException(String message) {
        super(message);
    }
}
