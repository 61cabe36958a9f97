package tutti.core.txn;

import java.util.List;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Type;
import tutti.core.schema.Types;

/**
 * Names one transaction, uniquely over all nodes and all their restarts.
 *
 * @param node the node at which the client submitted it, 0 to 255
 * @param serial unique among the transactions of that node, over restarts too (the world puts the node's incarnation in
 *            the upper 32 bits and counts in the lower)
 */
public record TransactionId(int node, long serial) {
    /** How it is written. */
    public static final Schema<TransactionId> SCHEMA = Schema.part("transaction", TransactionId.class).of(
            Field.of("node", Types.u8(0, 255), TransactionId::node),
            Field.of("serial", Types.LONG, TransactionId::serial), TransactionId::new);
    /** Several of them. */
    public static final Type<List<TransactionId>> LIST = Types.list(SCHEMA, 1 << 20);

    public TransactionId {
        if (node < 0 || node > 255) {
            throw new IllegalArgumentException("node must be 0 to 255, was " + node);
        }
    }

    /** Which life of its node it is of. */
    public long incarnation() {
        return serial >>> 32;
    }

    /**
     * Reads what {@link #toString} wrote.
     *
     * @throws IllegalArgumentException if it is something else
     */
    public static TransactionId parse(String text) {
        String[] parts = text.split("[:.]", -1);
        if (parts.length != 3) {
            throw new IllegalArgumentException("not the name of a transaction: " + text);
        }
        return new TransactionId(Integer.parseInt(parts[0]),
                Long.parseLong(parts[1]) << 32 | Integer.toUnsignedLong(Integer.parseUnsignedInt(parts[2])));
    }

    @Override
    public String toString() {
        return node + ":" + (serial >>> 32) + "." + (serial & 0xffff_ffffL);
    }
}
