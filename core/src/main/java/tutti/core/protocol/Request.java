package tutti.core.protocol;

import java.nio.ByteBuffer;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;

/** What is known of a transaction before it runs. */
public sealed interface Request {
    /** The parts of the database that it may touch; the world aborts it with a clear error if it leaves them. */
    ConflictClasses classes();

    /** Statements come one by one from a client; such a transaction cannot be repeated. */
    record Interactive(ConflictClasses classes) implements Request {
        /** Nothing is known in advance. */
        public static final Interactive UNDECLARED = new Interactive(ConflictClasses.ALL);
    }

    /**
     * A whole request: it can be run without its client, and again.
     *
     * @param statement as the engine encodes it
     * @param classes what it may touch
     * @param keys what it is taken to touch when every replica executes it: concurrent transactions that meet them and
     *            come later are aborted; the request itself never is
     * @param placement where it may run
     */
    record Whole(byte[] statement, ConflictClasses classes, KeySet keys, Placement placement) implements Request {
        /** Bytes that {@link #encode} writes. */
        public int encodedSize() {
            return 1 + classes.encodedSize() + keys.encodedSize() + 4 + statement.length;
        }

        /** Appends it at the buffer's position. */
        public void encode(ByteBuffer to) {
            to.put((byte) placement.ordinal());
            classes.encode(to);
            keys.encode(to);
            to.putInt(statement.length).put(statement);
        }

        /** Reads what {@link #encode} wrote, and advances the buffer. */
        public static Whole decode(ByteBuffer from) {
            Placement placement = Placement.of(from.get());
            ConflictClasses classes = ConflictClasses.decode(from);
            KeySet keys = KeySet.decode(from);
            int length = from.getInt();
            if (length < 0 || length > from.remaining()) {
                throw new IllegalArgumentException("statement of " + length + " bytes in " + from.remaining());
            }
            byte[] statement = new byte[length];
            from.get(statement);
            return new Whole(statement, classes, keys, placement);
        }
    }

    /** Where a whole request may run. */
    enum Placement {
        /** At one replica, which ships its changes: its result may differ from run to run. */
        ONE,
        /** At every replica at its place in the total order: its effects cannot be captured as rows (DDL), or its client said so. */
        ALL,
        /** Either way: it is deterministic, and its changes can be captured. */
        EITHER;

        private static final Placement[] VALUES = values();

        private static Placement of(int ordinal) {
            if (ordinal < 0 || ordinal >= VALUES.length) {
                throw new IllegalArgumentException("no placement " + ordinal);
            }
            return VALUES[ordinal];
        }
    }
}
