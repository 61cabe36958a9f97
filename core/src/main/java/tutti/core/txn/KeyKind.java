package tutti.core.txn;

/**
 * How a transaction touches a certification key (docs/decisions/0004).
 *
 * <pre>
 *                       UPDATE     EXCLUSIVE,   REFERENCE   READ       SCAN
 *                                  CREATED
 * UPDATE                conflict   conflict     -           conflict   conflict
 * EXCLUSIVE, CREATED    conflict   conflict     conflict    conflict   conflict
 * REFERENCE             -          conflict     -           -          conflict
 * READ                  conflict   conflict     -           -          -
 * SCAN                  conflict   conflict     conflict    -          -
 * </pre>
 *
 * An update leaves the key as it is, so children may name the row at the same time; an insert, a delete or a change of
 * the key may not meet a child that names it. Reads and scans are of read sets only: every write set refers to the key of
 * each table that it touches, so a scan of the table's key meets every write to the table.
 */
public enum KeyKind {
    /** A row changed, its key did not. */
    UPDATE,
    /** A key vanished, or it is not told what became of it. */
    EXCLUSIVE,
    /** A row names the key of a parent; or, for the key of a table, one of its rows is written. */
    REFERENCE,
    /** A row was read. */
    READ,
    /** Everything under the key (the rows of a table) may have been read. */
    SCAN,
    /**
     * A key came into being: no row had it before the transaction, unless that took it away as well ({@link #EXCLUSIVE}). So if the
     * transaction is left out, no row has it.
     */
    CREATED;

    private static final KeyKind[] VALUES = values();

    /** Whether two concurrent transactions that touch the same key in these ways may not both commit. */
    public boolean conflictsWith(KeyKind other) {
        return switch (this) {
            case UPDATE -> other != REFERENCE;
            case EXCLUSIVE, CREATED -> true;
            case REFERENCE -> other == EXCLUSIVE || other == CREATED || other == SCAN;
            case READ -> other == UPDATE || other == EXCLUSIVE || other == CREATED;
            case SCAN -> other.writes();
        };
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
