package tutti.group;

/**
 * Rate-based flow control of dissemination (D5.1 section 2.3.3): a bucket of bytes that fills at a steady rate. What is
 * sent may overdraw it once; then nothing is sent until it is above zero again.
 */
final class Pacer {
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    private static final long NEVER = Long.MIN_VALUE;

    private final long bytesPerSecond;
    private final double burstBytes;
    private double bytes;
    private long filledAt;

    Pacer(long bytesPerSecond, long burstBytes) {
        this.bytesPerSecond = bytesPerSecond;
        this.burstBytes = burstBytes;
        bytes = burstBytes;
        filledAt = NEVER;
    }

    /** Nanoseconds until something may be sent; 0 if now. */
    long delay(long now) {
        if (filledAt != NEVER) {
            bytes = Math.min(burstBytes, bytes + (double) (now - filledAt) / NANOS_PER_SECOND * bytesPerSecond);
        }
        filledAt = now;
        return bytes > 0 ? 0 : 1 + (long) (-bytes / bytesPerSecond * NANOS_PER_SECOND);
    }

    /** So much has been sent. */
    void sent(int sentBytes) {
        bytes -= sentBytes;
    }
}
