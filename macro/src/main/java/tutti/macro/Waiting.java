package tutti.macro;

/**
 * How long a call waits for a replica's lock before another replica is looked at: not at all at first, then longer and
 * longer, until the call has taken as long as it may. Of one thread.
 */
final class Waiting {
    private static final long FIRST_NANOS = 50_000;
    private static final long LONGEST_NANOS = 5_000_000;

    private final Scheduler.Settings settings;
    private final Object operation;
    private final long deadline;
    private int looks;
    private long nanos = FIRST_NANOS;

    /** @param looks how many replicas are looked at without waiting */
    Waiting(Scheduler.Settings settings, Object operation, int looks) {
        this.settings = settings;
        this.operation = operation;
        this.looks = looks;
        deadline = System.nanoTime() + settings.callLimit().toNanos();
    }

    /** For the next replica; throws {@link CallTimeoutException} if the time is up. */
    long nextNanos() {
        if (looks-- > 0) {
            return 0;
        }
        long left = deadline - System.nanoTime();
        if (left <= 0) {
            throw timeout(settings, operation);
        }
        nanos = Math.min(LONGEST_NANOS, nanos + nanos / 2);
        return Math.min(nanos, left);
    }

    static CallTimeoutException timeout(Scheduler.Settings settings, Object operation) {
        return new CallTimeoutException(operation + " had no answer within " + settings.callLimit().toMillis()
                + " ms (callLimit); a write may yet take effect");
    }
}
