package tutti.eval.network;

/**
 * The part of a run that counts.
 *
 * @param from nanoseconds after its begin
 * @param until when the run ends
 */
record Window(long from, long until) {
    Window {
        if (from < 0 || until <= from) {
            throw new IllegalArgumentException("from " + from + " to " + until);
        }
    }

    double seconds() {
        return (until - from) / 1e9;
    }

    boolean has(long at) {
        return at >= from && at < until;
    }
}
