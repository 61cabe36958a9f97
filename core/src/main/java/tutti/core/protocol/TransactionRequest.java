package tutti.core.protocol;

import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;

/** What is known of a transaction before it runs. */
public sealed interface TransactionRequest {
    /** The parts of the database that it may touch; the world aborts it with a clear error if it leaves them. */
    ConflictClasses classes();

    /** Statements come one by one from a client; such a transaction cannot be repeated. */
    record Interactive(ConflictClasses classes) implements TransactionRequest {
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
    record Whole(byte[] statement, ConflictClasses classes, KeySet keys,
            Placement placement) implements TransactionRequest {
        /** About what one that waits takes of a replica's memory besides its statement, in bytes: objects, and its places in queues. */
        public static final int WAITING_BYTES = 320;
        /** How it is written. */
        public static final Schema<Whole> SCHEMA = Schema.part("whole request", Whole.class).of(
                Field.of("placement", Types.oneOf(Placement.class), Whole::placement),
                Field.of("classes", ConflictClasses.SCHEMA, Whole::classes),
                Field.of("keys", KeySet.SCHEMA, Whole::keys),
                Field.of("statement", Types.bytes(Types.BYTES_MAX), Whole::statement),
                (placement, classes, keys, statement) -> new Whole(statement, classes, keys, placement));

        /** About what it takes of a replica's memory while it waits, in bytes. */
        public long waitingBytes() {
            return (long) WAITING_BYTES + statement.length;
        }
    }

    /** Where a whole request may run. */
    enum Placement {
        /** At one replica, which ships its changes: its result may differ from run to run. */
        ONE,
        /** At every replica at its place in the total order: its effects cannot be captured as rows (DDL), or its client said so. */
        ALL,
        /** Either way: it is deterministic, and its changes can be captured. */
        EITHER,
        /**
         * At the replica that the protocol chooses, which ships its changes and what its client is told. Under protocols that
         * {@linkplain Trait#UNDERTAKES undertake} requests.
         */
        OWNER
    }
}
