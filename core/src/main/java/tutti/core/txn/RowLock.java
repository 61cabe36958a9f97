package tutti.core.txn;

import java.util.function.ObjLongConsumer;

/**
 * How a row is locked that is not changed, the strongest first: each conflicts with all that the next one conflicts with (docs/decisions/0128). A row has
 * the key R by which changes of it are certified, and two of its own for locks: L, of who locks it more than {@code KEY SHARE}, and K, of its key.
 *
 * <pre>
 *                  written                                      read
 * UPDATE           EXCLUSIVE R, EXCLUSIVE L, EXCLUSIVE K       READ L
 * NO KEY UPDATE    UPDATE R,    EXCLUSIVE L                    READ L
 * SHARE            REFERENCE R, REFERENCE L                     READ R
 * KEY SHARE        REFERENCE R                                  READ K
 * </pre>
 *
 * Exclusive keys and reads are compared with everything since the transaction began, which is what a lock needs that has left no new version of its row. So
 * whichever of two comes later in the order meets the other exactly where PostgreSQL's locks conflict; and changes, which are {@code UPDATE R} and
 * {@code EXCLUSIVE R}, and references, which are {@code REFERENCE R}, are met likewise, but for one pair: who changes a row behind one that has shared it
 * refers to nothing that this one has written. Where a protocol compares no reads, who shares a row locks it as
 * {@code NO KEY UPDATE} does, and who shares a key, {@code EXCLUSIVE K}: they exclude each other, too.
 */
public enum RowLock {
    /** FOR UPDATE; or an advisory lock that nobody shares. */
    UPDATE,
    /** FOR NO KEY UPDATE. */
    NO_KEY_UPDATE,
    /** FOR SHARE; or an advisory lock that others may share. */
    SHARE,
    /** FOR KEY SHARE. */
    KEY_SHARE;

    /**
     * The keys of a row.
     *
     * @param row R
     * @param lock L
     * @param key K
     */
    public record Keys(long row, long lock, long key) {}

    /** Whether two transactions may not hold these on one row. */
    public boolean conflictsWith(RowLock other) {
        return switch (this) {
            case UPDATE -> true;
            case NO_KEY_UPDATE -> other != KEY_SHARE;
            case SHARE -> other == UPDATE || other == NO_KEY_UPDATE;
            case KEY_SHARE -> other == UPDATE;
        };
    }

    /** The stronger of two, which conflicts with all that either conflicts with. */
    public RowLock and(RowLock other) {
        return compareTo(other) < 0 ? this : other;
    }

    /**
     * Tells the keys that a write set gets.
     *
     * @param compared whether what is read is compared
     */
    public void write(Keys of, boolean compared, ObjLongConsumer<KeyKind> keys) {
        switch (this) {
            case UPDATE -> {
                keys.accept(KeyKind.EXCLUSIVE, of.row);
                keys.accept(KeyKind.EXCLUSIVE, of.lock);
                keys.accept(KeyKind.EXCLUSIVE, of.key);
            }
            case NO_KEY_UPDATE -> {
                keys.accept(KeyKind.UPDATE, of.row);
                keys.accept(KeyKind.EXCLUSIVE, of.lock);
            }
            case SHARE -> {
                keys.accept(compared ? KeyKind.REFERENCE : KeyKind.UPDATE, of.row);
                keys.accept(compared ? KeyKind.REFERENCE : KeyKind.EXCLUSIVE, of.lock);
            }
            case KEY_SHARE -> {
                keys.accept(KeyKind.REFERENCE, of.row);
                if (!compared) {
                    keys.accept(KeyKind.EXCLUSIVE, of.key);
                }
            }
        }
    }

    /** The key that is compared as if it had been read. */
    public long read(Keys of) {
        return switch (this) {
            case UPDATE, NO_KEY_UPDATE -> of.lock;
            case SHARE -> of.row;
            case KEY_SHARE -> of.key;
        };
    }

    /** Of an advisory lock: how its one key is written. If it is shared and reads are compared, it is read as well. */
    public KeyKind advisory(boolean compared) {
        return this == SHARE && compared ? KeyKind.REFERENCE : KeyKind.EXCLUSIVE;
    }
}
