package tutti.core.protocol;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** What {@link TwoPhaseCommit} says: the first four in the total order, the others by multicast. */
sealed interface TwoPhaseMessage extends Message {
    /**
     * All members have voted yes.
     *
     * @param epoch which members: those as of this position
     */
    record Decide(TransactionId transaction, long epoch, WriteSet writes) implements TwoPhaseMessage {
        @Override
        public int encodedSize() {
            return 1 + TransactionId.ENCODED_BYTES + 8 + writes.encodedSize();
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 1);
            transaction.encode(to);
            writes.encode(to.putLong(epoch));
        }
    }

    /** Every replica executes this. */
    record Everywhere(TransactionId transaction, Request.Whole request) implements TwoPhaseMessage {
        @Override
        public int encodedSize() {
            return 1 + TransactionId.ENCODED_BYTES + request.encodedSize();
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 2);
            transaction.encode(to);
            request.encode(to);
        }
    }

    /**
     * A replica becomes a member, or begins a new life as one.
     *
     * @param incarnation its lives below this one are over
     */
    record Join(int node, long incarnation) implements TwoPhaseMessage {
        @Override
        public int encodedSize() {
            return 1 + 4 + 8;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 3).putInt(node).putLong(incarnation);
        }
    }

    /** A replica is no member any more. */
    record Leave(int node) implements TwoPhaseMessage {
        @Override
        public int encodedSize() {
            return 1 + 4;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 4).putInt(node);
        }
    }

    /**
     * Asks a member to make these changes and hold their locks.
     *
     * @param round the epoch in which it is asked
     */
    record Prepare(TransactionId transaction, long round, WriteSet writes) implements TwoPhaseMessage {
        @Override
        public int encodedSize() {
            return 1 + TransactionId.ENCODED_BYTES + 8 + writes.encodedSize();
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 5);
            transaction.encode(to);
            writes.encode(to.putLong(round));
        }
    }

    /** Answers {@link Prepare}; {@code round} is that of the question. */
    record Vote(TransactionId transaction, long round, boolean yes) implements TwoPhaseMessage {
        @Override
        public int encodedSize() {
            return 1 + TransactionId.ENCODED_BYTES + 8 + 1;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 6);
            transaction.encode(to);
            to.putLong(round).put((byte) (yes ? 1 : 0));
        }
    }

    /**
     * A coordinator has ended a transaction.
     *
     * @param after if it was committed, that is at or below this position: whoever has delivered that may forget it
     */
    record Ended(TransactionId transaction, long after) implements TwoPhaseMessage {
        @Override
        public int encodedSize() {
            return 1 + TransactionId.ENCODED_BYTES + 8;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 7);
            transaction.encode(to);
            to.putLong(after);
        }
    }

    /** A participant asks a coordinator how a transaction has ended. */
    record Inquire(TransactionId transaction) implements TwoPhaseMessage {
        @Override
        public int encodedSize() {
            return 1 + TransactionId.ENCODED_BYTES;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 8);
            transaction.encode(to);
        }
    }

    /** One transaction waits for a lock that another one holds. */
    record Wait(TransactionId waiter, TransactionId holder) {}

    /** All waits at the sender. */
    record Waits(List<Wait> waits) implements TwoPhaseMessage {
        public Waits {
            waits = List.copyOf(waits);
        }

        @Override
        public int encodedSize() {
            return 1 + 4 + waits.size() * 2 * TransactionId.ENCODED_BYTES;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 9).putInt(waits.size());
            for (Wait wait : waits) {
                wait.waiter().encode(to);
                wait.holder().encode(to);
            }
        }

        private static Waits decode(ByteBuffer from) {
            int size = from.getInt();
            if (size < 0 || (long) size * 2 * TransactionId.ENCODED_BYTES > from.remaining()) {
                throw new IllegalArgumentException(size + " waits in " + from.remaining() + " bytes");
            }
            List<Wait> waits = new ArrayList<>(size);
            for (int i = 0; i < size; i++) {
                waits.add(new Wait(TransactionId.decode(from), TransactionId.decode(from)));
            }
            return new Waits(waits);
        }
    }

    /** Reads what one of them wrote. */
    static TwoPhaseMessage decode(ByteBuffer from) {
        byte tag = from.get();
        return switch (tag) {
            case 1 -> new Decide(TransactionId.decode(from), from.getLong(), WriteSet.decode(from));
            case 2 -> new Everywhere(TransactionId.decode(from), Request.Whole.decode(from));
            case 3 -> new Join(from.getInt(), from.getLong());
            case 4 -> new Leave(from.getInt());
            case 5 -> new Prepare(TransactionId.decode(from), from.getLong(), WriteSet.decode(from));
            case 6 -> new Vote(TransactionId.decode(from), from.getLong(), from.get() != 0);
            case 7 -> new Ended(TransactionId.decode(from), from.getLong());
            case 8 -> new Inquire(TransactionId.decode(from));
            case 9 -> Waits.decode(from);
            default -> throw new IllegalArgumentException("not a message of two-phase commit: tag " + tag);
        };
    }
}
