package tutti.runtime;

import java.time.Instant;

/** A machine's clocks. Any thread. */
public interface Clock {
    /** Nanoseconds since some moment; never goes back while the process lives. Differences count, nothing else. */
    long nanoTime();

    /** What the wall clock shows. It jumps, drifts and goes back; for people, and for names that should not repeat. */
    Instant now();
}
