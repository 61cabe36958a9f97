package tutti.macro;

/** The work queue is full and stayed full for as long as the {@link OverflowPolicy} allows. Nothing was executed. */
public final class WorkQueueFullException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Says which queue. */
    public WorkQueueFullException(String what) {
        super(what);
    }
}
