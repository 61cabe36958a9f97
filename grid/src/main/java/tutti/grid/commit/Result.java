package tutti.grid.commit;

/**
 * How a commit has ended.
 *
 * @param stamp of the transaction, if it has committed; otherwise 0
 */
public record Result(Kind kind, long stamp) {
    /** What has happened. */
    public enum Kind {
        /** It has committed. */
        COMMITTED,
        /** Something that it has read, and that must not change, was written by another transaction. */
        CONFLICT,
        /** Two-phase commit: it and another one waited for each other's locks. */
        DEADLOCK,
        /** Two-phase commit: it has waited for a lock for too long. */
        LOCK_TIMEOUT,
        /** All owners of a key have crashed. */
        OWNER_UNAVAILABLE
    }

    static Result committed(long stamp) {
        return new Result(Kind.COMMITTED, stamp);
    }

    static Result failed(Kind kind) {
        return new Result(kind, 0);
    }
}
