package tutti.macro;

/**
 * A replica that behaved differently from the others.
 *
 * @param replica its name
 * @param kind in what way
 * @param operation which one
 * @param position of the call in the component's order of calls, from 1
 * @param detail what the replica answered and what counts, in words
 * @param excluded whether the component now goes on without it
 */
public record ReplicaFault(String replica, Kind kind, String operation, long position, String detail,
        boolean excluded) {
    /** In what way a replica can be faulty. */
    public enum Kind {
        /** It returned something else than the others. */
        WRONG_VALUE,
        /** It threw what the others did not, or did not throw what they did. */
        WRONG_EXCEPTION,
        /** It had not answered when the time was up, or it cannot follow and the work queue is full because of it. */
        TOO_SLOW
    }

    /**
     * Hears of faults. From any thread, and must not call the component. What it throws is given to the uncaught exception
     * handler of that thread and has no other effect.
     */
    @FunctionalInterface
    public interface Listener {
        /** Something was found. */
        void found(ReplicaFault fault);
    }
}
