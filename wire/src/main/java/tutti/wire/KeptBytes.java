package tutti.wire;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bounds what a session, and all sessions of a front end together, keep: of texts and values of prepared statements and portals, or of messages.
 * Of the session's event loop, but for {@link Shared}.
 */
final class KeptBytes {
    private final Shared shared;
    private long kept;
    private boolean closed;

    /** What all sessions keep. Any thread. */
    static final class Shared {
        private final long most;
        private final int sessionsFull;
        private final AtomicLong kept = new AtomicLong();

        /**
         * None.
         *
         * @param most bytes of all sessions
         * @param sessionsFull so many sessions that have as much as one may have take them all
         */
        Shared(long most, int sessionsFull) {
            this.most = most;
            this.sessionsFull = sessionsFull;
        }

        long kept() {
            return kept.get();
        }
    }

    KeptBytes(Shared shared) {
        this.shared = shared;
    }

    /** Takes room, or less room than before if it is negative; false if there is not enough. */
    boolean take(long bytes) {
        if (bytes > 0 && (kept + bytes > shared.most / shared.sessionsFull
                || shared.kept.get() + bytes > shared.most)) {
            return false;
        }
        insist(bytes);
        return true;
    }

    /** Takes room for what was there before. */
    void insist(long bytes) {
        if (!closed) {
            kept += bytes;
            shared.kept.addAndGet(bytes);
        }
    }

    /** The session is over. */
    void close() {
        insist(-kept);
        closed = true;
    }
}
