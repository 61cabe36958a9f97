package tutti.eval.network;

import java.util.Arrays;

/** What a program counts within the window, and how long things took. Used by its station, and by others when that has ended. */
final class Tally {
    private final Window window;
    private long messages;
    private long bytes;
    private long[] nanos = new long[1024];
    private int timed;

    Tally(Window window) {
        this.window = window;
    }

    /** A message of so many bytes at a time. */
    void count(long at, int size) {
        if (window.has(at)) {
            messages++;
            bytes += size;
        }
    }

    /** Something that took a time has ended. */
    void took(long at, long duration) {
        if (window.has(at)) {
            nanos = timed == nanos.length ? Arrays.copyOf(nanos, 2 * timed) : nanos;
            nanos[timed++] = duration;
        }
    }

    /** So many things have ended that took a time. */
    int timed() {
        return timed;
    }

    long messages() {
        return messages;
    }

    long bytes() {
        return bytes;
    }

    double bytesPerSecond() {
        return bytes / window.seconds();
    }

    /** The median of what took a time; not a number if nothing did. */
    double medianNanos() {
        if (timed == 0) {
            return Double.NaN;
        }
        long[] sorted = Arrays.copyOf(nanos, timed);
        Arrays.sort(sorted);
        return sorted[timed / 2];
    }
}
