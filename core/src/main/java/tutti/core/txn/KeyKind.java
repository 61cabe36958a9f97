package tutti.core.txn;

/**
 * How a transaction touches a certification key (DESIGN section 3, "What a write set carries").
 *
 * <pre>
 *              UPDATE     EXCLUSIVE   REFERENCE
 * UPDATE       conflict   conflict    -
 * EXCLUSIVE    conflict   conflict    conflict
 * REFERENCE    -          conflict    -
 * </pre>
 *
 * An update leaves the key as it is, so children may name the row at the same time; an insert, a delete or a change of
 * the key may not meet a child that names it.
 */
public enum KeyKind {
    /** A row changed, its key did not. */
    UPDATE,
    /** A key came into being, vanished, or changed. */
    EXCLUSIVE,
    /** A row names the key of a parent. */
    REFERENCE;

    private static final KeyKind[] VALUES = values();

    /** Whether two concurrent transactions that touch the same key in these ways may not both commit. */
    public boolean conflictsWith(KeyKind other) {
        return switch (this) {
            case UPDATE -> other != REFERENCE;
            case EXCLUSIVE -> true;
            case REFERENCE -> other == EXCLUSIVE;
        };
    }

    /** The kind with this ordinal, as it is stored in messages. */
    public static KeyKind of(int ordinal) {
        if (ordinal < 0 || ordinal >= VALUES.length) {
            throw new IllegalArgumentException("no key kind " + ordinal);
        }
        return VALUES[ordinal];
    }
}
