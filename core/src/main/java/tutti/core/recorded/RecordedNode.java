package tutti.core.recorded;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import tutti.core.schema.DecodeException;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

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

    /** With what the file begins, behind eight bytes by which it is known. */
    record Beginning(int node, long beganMillis) implements Encoded {
        static final Schema<Beginning> SCHEMA = Schema
                .message("beginning", 1, Beginning.class, "Whose recording it is.").of(
                        Field.of("node", Types.INT, Beginning::node),
                        Field.of("beganMillis", Types.LONG, Beginning::beganMillis), Beginning::new);
    }

    static final MessageSet<Encoded> SET = new MessageSet<>("recorded workload",
            "In the files of recordings: eight bytes `TUTTI-W1`, the first message, then the others, each behind its"
                    + " length of 4 bytes.",
            List.of(Beginning.SCHEMA, RecordedTransaction.SCHEMA));

    public RecordedNode {
        transactions = List.copyOf(transactions);
    }

    /** What a file begins with. */
    public static byte[] header(int node, long beganMillis) {
        Beginning beginning = new Beginning(node, beganMillis);
        ByteBuffer to = ByteBuffer.allocate(Long.BYTES + beginning.encodedSize()).putLong(MAGIC);
        beginning.encode(to);
        return to.array();
    }

    /** A record of a file. */
    public static byte[] entry(RecordedTransaction transaction) {
        int bytes = transaction.encodedSize();
        ByteBuffer to = ByteBuffer.allocate(Integer.BYTES + bytes).putInt(bytes);
        transaction.encode(to);
        return to.array();
    }

    /**
     * Reads a file.
     *
     * @throws IllegalArgumentException if it is none of these, of a version that this build does not read, or damaged
     */
    public static RecordedNode decode(ByteBuffer file) {
        int headerBytes = header(0, 0).length;
        if (file.remaining() < headerBytes || file.getLong() != MAGIC) {
            throw new IllegalArgumentException("is no recording of a workload");
        }
        Beginning beginning = SET.decode(next(file, headerBytes - Long.BYTES), Beginning.class);
        List<RecordedTransaction> transactions = new ArrayList<>();
        while (file.remaining() >= Integer.BYTES) {
            int bytes = file.getInt();
            if (bytes < 0) {
                throw new IllegalArgumentException("is damaged after " + transactions.size() + " transactions");
            }
            if (bytes > file.remaining()) {
                break;
            }
            try {
                transactions.add(SET.decode(next(file, bytes), RecordedTransaction.class));
            } catch (DecodeException damaged) {
                throw new IllegalArgumentException("is damaged after " + transactions.size() + " transactions: "
                        + damaged.getMessage(), damaged);
            }
        }
        return new RecordedNode(beginning.node, beginning.beganMillis, transactions);
    }

    private static ByteBuffer next(ByteBuffer file, int bytes) {
        ByteBuffer next = file.slice(file.position(), bytes);
        file.position(file.position() + bytes);
        return next;
    }
}
