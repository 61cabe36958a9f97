package tutti.wire;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bounds what a session, and all sessions of a front end together, keep of texts and values of prepared statements and portals.
 * Of the session's event loop, but for {@link Shared}.
 */
final class KeptBytes {
    private final Shared shared;
    private long kept;
    private boolean closed;

    /** What all sessions keep. Any thread. */
    static final class Shared {
        private static final int SESSIONS_FULL = 4;
        private final long most;
        private final AtomicLong kept = new AtomicLong();

        /** @param most bytes of all sessions; one session has a fourth of them at most */
        Shared(long most) {
            this.most = most;
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
        if (bytes > 0 && (kept + bytes > shared.most / Shared.SESSIONS_FULL
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
