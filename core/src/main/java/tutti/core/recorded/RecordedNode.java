package tutti.core.recorded;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * A recording of one life of a node. The file begins with {@link #header}; records follow, each a length and a
 * {@link RecordedTransaction}, in the order in which transactions asked to commit or ended. A file whose end is missing,
 * as that of a node that was killed, is read up to there.
 *
 * @param node its number
 * @param beganMillis when the recording began, in milliseconds since 1970, by the node's clock
 * @param transactions in the order of the file
 */
public record RecordedNode(int node, long beganMillis, List<RecordedTransaction> transactions) {
    /** How the names of recordings end. */
    public static final String SUFFIX = ".tutti-workload";

    private static final long MAGIC = 0x5455_5454_492d_5731L;
    private static final int HEADER_BYTES = 8 + 4 + 8;

    public RecordedNode {
        transactions = List.copyOf(transactions);
    }

    /** What a file begins with. */
    public static byte[] header(int node, long beganMillis) {
        return ByteBuffer.allocate(HEADER_BYTES).putLong(MAGIC).putInt(node).putLong(beganMillis).array();
    }

    /** A record of a file. */
    public static byte[] entry(RecordedTransaction transaction) {
        int bytes = transaction.encodedSize();
        ByteBuffer to = ByteBuffer.allocate(4 + bytes).putInt(bytes);
        transaction.encode(to);
        return to.array();
    }

    /**
     * Reads a file.
     *
     * @throws IllegalArgumentException if it is none of these, or is damaged
     */
    public static RecordedNode decode(ByteBuffer file) {
        if (file.remaining() < HEADER_BYTES || file.getLong() != MAGIC) {
            throw new IllegalArgumentException("is no recording of a workload, or of another version");
        }
        int node = file.getInt();
        long began = file.getLong();
        List<RecordedTransaction> transactions = new ArrayList<>();
        while (file.remaining() >= 4) {
            int bytes = file.getInt();
            if (bytes < 0) {
                throw new IllegalArgumentException("is damaged after " + transactions.size() + " transactions");
            }
            if (bytes > file.remaining()) {
                break;
            }
            try {
                transactions.add(RecordedTransaction.decode(file.slice(file.position(), bytes)));
            } catch (BufferUnderflowException | IllegalArgumentException damaged) {
                throw new IllegalArgumentException("is damaged after " + transactions.size() + " transactions: "
                        + damaged.getMessage(), damaged);
            }
            file.position(file.position() + bytes);
        }
        return new RecordedNode(node, began, transactions);
    }
}
