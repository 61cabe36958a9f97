package tutti.model;

/** Who holds locks in a {@link LockTable}, or wants them: a transaction of a client, or a write set with its position. */
abstract class LockHolder {
    private static final long[] NONE = {};

    /** Rows that it writes; no row twice. */
    long[] exclusive = NONE;
    /** Rows that it reads under locks; none that it writes. */
    long[] shared = NONE;
    /** Whether it has its place in the order: others give way to it. Set by the table. */
    boolean decided;
    /** Whether it waits for all its locks, as a transaction that has no place does. Set by the table. */
    boolean waiting;
    /** Locks that it has not got yet, as one that has its place. Set by the table. */
    int blockers;
    /** How many rows it has locked so far, if it locks them one by one; {@link #AT_ONCE} if not. Set by the table. */
    int reached = AT_ONCE;
    /** What had been committed when it took its snapshot, if it locks rows one by one. Set by the table. */
    long snapshot;

    /** It takes all its locks at once. */
    static final int AT_ONCE = -1;

    /** Whether it locks rows one by one. */
    boolean isStepwise() {
        return reached != AT_ONCE;
    }

    /** It has all locks now, or the one for which it waited if it locks rows one by one, and had not when it asked. */
    abstract void acquired();

    /** It gave way to somebody who has a place in the order, or pushes aside; it holds nothing any more. */
    abstract void pushedAside();

    /** It waited for a lock whose holder has committed: the first updater wins. It waits for nothing any more. */
    abstract void overtaken();

    /** Whether it pushes aside who has no place in the order, and waits, without being overtaken, for who has. */
    abstract boolean pushesAside();

    /** Whether it has a snapshot, so that it must not get a row that has been changed while it waited for it. */
    boolean isBoundToSnapshot() {
        return isStepwise() || !pushesAside();
    }
}
