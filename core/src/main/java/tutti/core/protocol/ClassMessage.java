package tutti.core.protocol;

import java.nio.ByteBuffer;
import java.util.List;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * What protocols that order by conflict classes before they execute say in the total order ({@link Nodo},
 * {@link Akara}): the first message of a transaction gives it its place, the second its position, or its end without one.
 */
sealed interface ClassMessage extends Message {
    /** Asks for a place in the class queues. */
    record Submit(TransactionId transaction, ConflictClasses classes) implements ClassMessage {
        @Override
        public int encodedSize() {
            return 1 + TransactionId.ENCODED_BYTES + classes.encodedSize();
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 1);
            transaction.encode(to);
            classes.encode(to);
        }
    }

    /** What a transaction changed that was first in its queues: commits it and frees them. */
    record Changes(TransactionId transaction, WriteSet writes) implements ClassMessage {
        @Override
        public int encodedSize() {
            return 1 + TransactionId.ENCODED_BYTES + writes.encodedSize();
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 2);
            transaction.encode(to);
            writes.encode(to);
        }
    }

    /** A request that was first in its queues: every replica executes it, and they are free. */
    record Execute(TransactionId transaction, Request.Whole request) implements ClassMessage {
        @Override
        public int encodedSize() {
            return 1 + TransactionId.ENCODED_BYTES + request.encodedSize();
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 3);
            transaction.encode(to);
            request.encode(to);
        }
    }

    /** These transactions change nothing: whichever of them are still in the queues leave them. */
    record Release(List<TransactionId> transactions) implements ClassMessage {
        public Release {
            transactions = List.copyOf(transactions);
        }

        @Override
        public int encodedSize() {
            return 1 + 4 + transactions.size() * TransactionId.ENCODED_BYTES;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 4).putInt(transactions.size());
            transactions.forEach(transaction -> transaction.encode(to));
        }
    }

    /** Reads what one of them wrote. */
    static ClassMessage decode(ByteBuffer from) {
        byte tag = from.get();
        return switch (tag) {
            case 1 -> new Submit(TransactionId.decode(from), ConflictClasses.decode(from));
            case 2 -> new Changes(TransactionId.decode(from), WriteSet.decode(from));
            case 3 -> new Execute(TransactionId.decode(from), Request.Whole.decode(from));
            case 4 -> new Release(TransactionId.decodeList(from));
            default -> throw new IllegalArgumentException("not a message that orders by classes: tag " + tag);
        };
    }
}
