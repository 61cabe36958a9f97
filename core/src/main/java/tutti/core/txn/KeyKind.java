package tutti.core.txn;

/**
 * How a transaction touches a certification key (docs/decisions/0004).
 *
 * <pre>
 *                             UPDATE     EXCLUSIVE,       REFERENCE   READ       SCAN
 *                                        CREATED, GONE
 * UPDATE                      conflict   conflict         -           conflict   conflict
 * EXCLUSIVE, CREATED, GONE    conflict   conflict         conflict    conflict   conflict
 * REFERENCE                   -          conflict         -           -          conflict
 * READ                        conflict   conflict         -           -          -
 * SCAN                        conflict   conflict         conflict    -          -
 * </pre>
 *
 * {@code RELEASED} conflicts with nothing.
 *
 * An update leaves the key as it is, so children may name the row at the same time; an insert, a delete or a change of
 * the key may not meet a child that names it. Reads and scans are of read sets only: every write set refers to the key of
 * each table that it touches, so a scan of the table's key meets every write to the table.
 */
public enum KeyKind {
    /** A row changed, its key did not. */
    UPDATE,
    /** Nobody else may touch the key: a row is locked as if it were deleted, or it is not told what became of the key. */
    EXCLUSIVE,
    /** A row names the key of a parent; or, for the key of a table, one of its rows is written. */
    REFERENCE,
    /** A row was read. */
    READ,
    /** Everything under the key (the rows of a table) may have been read. */
    SCAN,
    /** A row came to have the key. Each time counts: a key that has come more often than it has {@link #GONE} had no row before the transaction. */
    CREATED,
    /** A row ceased to have the key. */
    GONE,
    /**
     * A row names the key of a parent no longer, since it is deleted or names another one. Two such keys belong together: that of the parent, and that by
     * which the row itself is named.
     */
    RELEASED;

    private static final KeyKind[] VALUES = values();

    /** Whether two concurrent transactions that touch the same key in these ways may not both commit. */
    public boolean conflictsWith(KeyKind other) {
        return switch (this) {
            case UPDATE -> other != REFERENCE && other != RELEASED;
            case EXCLUSIVE, CREATED, GONE -> other != RELEASED;
            case REFERENCE -> other.exclusive() || other == SCAN;
            case READ -> other == UPDATE || other.exclusive();
            case SCAN -> other.writes() && other != RELEASED;
            case RELEASED -> false;
        };
    }

    private boolean exclusive() {
        return this == EXCLUSIVE || this == CREATED || this == GONE;
    }

    /** Whether it is of write sets; otherwise of read sets. */
    public boolean writes() {
        return this != READ && this != SCAN;
    }

    /** The kind with this ordinal, as it is stored in messages. */
    public static KeyKind of(int ordinal) {
        if (ordinal < 0 || ordinal >= VALUES.length) {
            throw new IllegalArgumentException("no key kind " + ordinal);
        }
        return VALUES[ordinal];
    }
}
