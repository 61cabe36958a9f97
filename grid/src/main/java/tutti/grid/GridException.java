package tutti.grid;

/** Something that was asked of the grid has not been done. The message says what and what to do. */
public final class GridException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Why. */
    public enum Reason {
        /** Another transaction has written what this one has read. Nothing was changed; run it again. */
        CONFLICT,
        /** Two transactions waited for each other's locks. Nothing was changed; run it again. */
        DEADLOCK,
        /** A lock was not free in time. Nothing was changed; run it again. */
        LOCK_TIMEOUT,
        /** No answer in time. A commit may have happened or may happen yet. */
        TIMEOUT,
        /** All owners of a key have crashed; its value is lost. */
        OWNER_UNAVAILABLE,
        /** Fewer owners of a key are left than its cache asks for. Nothing was changed. */
        NOT_ENOUGH_OWNERS,
        /** The node is closed; or the others go on without what it had, and it joins anew: then a commit that was under way may have happened. */
        CLOSED,
        /** The node is not a member of the grid yet. Nothing was changed. */
        JOINING,
        /** A key, a value or a transaction is larger than may be. Nothing was changed. */
        TOO_LARGE,
        /** The node has as much to do as it may. Nothing was changed; try again later. */
        BUSY,
        /** An owner of a key stores as much as it may. Nothing was changed; removals go on. */
        FULL,
        /** The transaction has ended before. */
        ENDED
    }

    private final Reason reason;

    /** For a reason, with what people should know. */
    public GridException(Reason reason, String message) {
        super(message);
        this.reason = reason;
    }

    /** The same, thrown by another thread, with the present stack trace. */
    public GridException(GridException from) {
        super(from.getMessage(), from);
        this.reason = from.reason;
    }

    /** Why. */
    public Reason reason() {
        return reason;
    }

    /** Whether nothing was changed, and the transaction may well succeed if it is run again now. */
    public boolean isRetryable() {
        return reason == Reason.CONFLICT || reason == Reason.DEADLOCK || reason == Reason.LOCK_TIMEOUT;
    }
}
