package tutti.node;

/** What lies in the {@link CommitPipeline}, counted: what is to be grouped depends on it. Of the replica's loop. */
final class PipelineLoad {
    /** What may wait behind the head for its turn, and so for a group as large as possible: transactions, and their bytes. */
    private static final int WAITING_MAX = 8;
    private static final long WAITING_BYTES_MAX = 1 << 16;
    /** So many remote transactions make a group worth having: the head waits for no more. */
    private static final int GROUP_WORTH_HAVING = 32;

    /** What a position takes at least, and each of its keys. */
    private static final int POSITION_BYTES = 200;
    private static final int KEY_BYTES = 9;

    private long queuedBytes;
    /** Remote positions that no group has, and their bytes. */
    private int waiting;
    private long waitingBytes;
    /** Positions that somebody waits for: all but remote ones and those that are skipped. */
    private int awaited;

    /** A position has been decided. */
    void arrived(Slot slot) {
        queuedBytes += kept(slot);
        if (slot.kind() == Slot.Kind.REMOTE) {
            ungrouped(slot);
        } else if (slot.kind() != Slot.Kind.SKIP) {
            awaited++;
        }
    }

    /** One that somebody waited for is applied like a remote one. */
    void becameRemote(Slot slot) {
        awaited--;
        ungrouped(slot);
    }

    /** A remote one waits to be grouped. */
    void ungrouped(Slot slot) {
        waiting++;
        waitingBytes += slot.bytes();
    }

    /** A remote one has been grouped. */
    void grouped(Slot slot) {
        waiting--;
        waitingBytes -= slot.bytes();
    }

    /** A position is visible; a remote one was grouped. */
    void left(Slot slot) {
        queuedBytes -= kept(slot);
        if (slot.kind() != Slot.Kind.REMOTE && slot.kind() != Slot.Kind.SKIP) {
            awaited--;
        }
    }

    /** What is kept for a position, whatever is to be done there: a node that cannot go on is delivered them without end. */
    private static long kept(Slot slot) {
        return POSITION_BYTES + slot.bytes() + (long) KEY_BYTES * slot.writes().keys().size() + slot.requestBytes();
    }

    /** Bytes that are kept of what is decided and not visible. */
    long queuedBytes() {
        return queuedBytes;
    }

    /** Whether so much waits behind the head that other appliers begin with it. */
    boolean muchWaits() {
        return waiting >= WAITING_MAX || waitingBytes >= WAITING_BYTES_MAX;
    }

    /** Whether there is a reason in the queue not to wait for more: somebody waits for a position, or enough has come. */
    boolean enough() {
        return awaited > 0 || waiting >= GROUP_WORTH_HAVING || waitingBytes >= WAITING_BYTES_MAX;
    }
}
