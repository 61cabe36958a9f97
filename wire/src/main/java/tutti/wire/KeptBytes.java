package tutti.wire;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bounds what a session, and all sessions of a front end together, keep: of texts and values of prepared statements and portals, of messages, or of
 * results. Of one thread, the session's, but for {@link Shared}.
 */
public final class KeptBytes {
    private final Shared shared;
    private long kept;
    private boolean closed;

    /** What all sessions keep. Any thread. */
    public static final class Shared {
        private static final long STATEMENTS_BYTES_MAX = 64 << 20;
        private static final int STATEMENTS_SESSIONS = 4;

        private final long most;
        private final int sessionsFull;
        private final AtomicLong kept = new AtomicLong();

        /**
         * None.
         *
         * @param most bytes of all sessions
         * @param sessionsFull so many sessions that have as much as one may have take them all
         */
        public Shared(long most, int sessionsFull) {
            this.most = most;
            this.sessionsFull = sessionsFull;
        }

        /** Of prepared statements: 64 MiB, a fourth of them for one session. */
        public static Shared ofStatements() {
            return new Shared(STATEMENTS_BYTES_MAX, STATEMENTS_SESSIONS);
        }

        /**
         * Of long messages: half of the heap.
         *
         * @param most bytes of one message, for which there is room in any case
         */
        public static Shared ofMessages(int most) {
            return new Shared(Math.max(most, Runtime.getRuntime().maxMemory() / 2), 1);
        }

        /** Bytes that are kept now. */
        public long kept() {
            return kept.get();
        }

        private boolean take(long bytes) {
            boolean room = kept.addAndGet(bytes) <= most;
            if (!room) {
                kept.addAndGet(-bytes);
            }
            return room;
        }
    }

    /** Of a session that keeps nothing so far. */
    public KeptBytes(Shared shared) {
        this.shared = shared;
    }

    /** Most bytes that the session may keep. */
    public long most() {
        return shared.most / shared.sessionsFull;
    }

    /** Takes room, or less room than before if it is negative; false if there is not enough, and then nothing has changed. */
    public boolean take(long bytes) {
        if (closed || bytes <= 0) {
            insist(bytes);
            return true;
        }
        if (kept + bytes > most() || !shared.take(bytes)) {
            return false;
        }
        kept += bytes;
        return true;
    }

    /** Takes room for what was there before. */
    public void insist(long bytes) {
        if (!closed) {
            kept += bytes;
            shared.kept.addAndGet(bytes);
        }
    }

    /** The session is over. */
    public void close() {
        insist(-kept);
        closed = true;
    }
}
