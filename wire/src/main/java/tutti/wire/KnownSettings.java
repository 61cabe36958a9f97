package tutti.wire;

import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What the engine has told of a session's settings, which need not be asked again for the next request that is executed elsewhere: they are what
 * they were as long as the engine has been sent nothing for this session, and for a second at most, since whoever runs the server can change some
 * for all sessions. On the session's event loop.
 */
final class KnownSettings {
    private static final long AGE_NANOS_MAX = 1_000_000_000L;
    private static final long NANOS_PER_MICRO = 1_000;

    private final Capture capture;
    private final LongSupplier nanoTime;
    private @Nullable List<@Nullable String> row;
    private long sent;
    private long askedNanos;

    /**
     * Nothing is known.
     *
     * @param nanoTime the time, as {@link System#nanoTime} tells it
     */
    KnownSettings(Capture capture, LongSupplier nanoTime) {
        this.capture = capture;
        this.nanoTime = nanoTime;
    }

    /**
     * The engine has been asked.
     *
     * @param sentThen how many messages it had been sent for the session then, this question included
     */
    void asked(long sentThen) {
        row = null;
        sent = sentThen;
        askedNanos = nanoTime.getAsLong();
    }

    /** What it has answered. */
    void told(List<@Nullable String> answer) {
        row = answer;
    }

    /**
     * What it would answer now, for another request; null if that is not known.
     *
     * @param sentNow how many messages it has been sent for the session
     */
    @Nullable
    List<@Nullable String> now(long sentNow) {
        long age = nanoTime.getAsLong() - askedNanos;
        List<@Nullable String> known = row;
        return known == null || sentNow != sent || age > AGE_NANOS_MAX
                ? null
                : capture.later(known, age / NANOS_PER_MICRO);
    }
}
