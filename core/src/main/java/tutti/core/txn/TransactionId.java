package tutti.core.txn;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Names one transaction, uniquely over all nodes and all their restarts.
 *
 * @param node the node at which the client submitted it, 0 to 255
 * @param serial unique among the transactions of that node, over restarts too (the world puts the node's incarnation in
 *            the upper 32 bits and counts in the lower)
 */
public record TransactionId(int node, long serial) {
    /** Bytes that {@link #encode} writes. */
    public static final int ENCODED_BYTES = 4 + 8;

    public TransactionId {
        if (node < 0 || node > 255) {
            throw new IllegalArgumentException("node must be 0 to 255, was " + node);
        }
    }

    /** Which life of its node it is of. */
    public long incarnation() {
        return serial >>> 32;
    }

    /** Appends it at the buffer's position. */
    public void encode(ByteBuffer to) {
        to.putInt(node).putLong(serial);
    }

    /** Reads what {@link #encode} wrote, and advances the buffer. */
    public static TransactionId decode(ByteBuffer from) {
        return new TransactionId(from.getInt(), from.getLong());
    }

    /** Reads a count and as many of them, and advances the buffer. */
    public static List<TransactionId> decodeList(ByteBuffer from) {
        int size = from.getInt();
        if (size < 0 || (long) size * ENCODED_BYTES > from.remaining()) {
            throw new IllegalArgumentException(size + " transactions in " + from.remaining() + " bytes");
        }
        List<TransactionId> transactions = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            transactions.add(decode(from));
        }
        return transactions;
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
