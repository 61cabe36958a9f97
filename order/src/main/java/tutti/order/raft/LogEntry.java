package tutti.order.raft;

import tutti.order.batch.Batch;

/**
 * One entry of the Raft log, as it lies on disk.
 *
 * @param index place in the log, 1 and up
 * @param term the leader's term that wrote it, 0 and up
 * @param kind what the body is, one of the constants here
 * @param body shared with readers of the log, never to be modified
 */
record LogEntry(long index, int term, byte kind, byte[] body) {
    /** The entry with which a leader begins its term: no body, orders nothing. */
    static final byte NEW_TERM = 1;
    /** A {@link Batch} of messages. */
    static final byte BATCH = Batch.KIND;
    /** A {@link GroupChange}: it orders nothing. */
    static final byte GROUP = 3;
}
