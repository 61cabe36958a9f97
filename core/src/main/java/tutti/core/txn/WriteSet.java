package tutti.core.txn;

import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * What a transaction changed: the keys that certification compares, and the changes themselves in the form of the
 * engine that captured them. A protocol looks at the keys only. Immutable; the changes must not be modified.
 *
 * @param keys what certification compares
 * @param changes rows (and statements) as the engine encodes them; opaque to everything but the engine
 */
public record WriteSet(KeySet keys, byte[] changes) {
    /**
     * Most keys of one transaction: those who apply it and certify others against it take some hundred bytes for each. Whoever makes
     * one sees to it before it is ordered.
     */
    public static final int KEYS_MAX = 1 << 19;

    /** How it is written. */
    public static final Schema<WriteSet> SCHEMA = Schema.part("write set", WriteSet.class).of(
            Field.of("keys", KeySet.SCHEMA, WriteSet::keys),
            Field.of("changes", Types.bytes(Types.BYTES_MAX), WriteSet::changes), WriteSet::new);

    /** Of a transaction that changed nothing. */
    public static final WriteSet EMPTY = new WriteSet(KeySet.EMPTY, new byte[0]);

    /** Whether there is nothing to apply. */
    public boolean isEmpty() {
        return changes.length == 0;
    }

    @Override
    public String toString() {
        return "keys " + keys + ", " + changes.length + " bytes of changes";
    }
}
