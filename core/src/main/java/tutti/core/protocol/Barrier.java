package tutti.core.protocol;

import java.nio.ByteBuffer;
import tutti.core.txn.TransactionId;

/** Asks for a request to be executed by every replica alone, at its position in the order. */
record Barrier(TransactionId transaction, Request.Whole request) implements Message {
    /** What it begins with, in all protocols that know it. */
    static final byte TAG = 2;

    @Override
    public int encodedSize() {
        return 1 + TransactionId.ENCODED_BYTES + request.encodedSize();
    }

    @Override
    public void encode(ByteBuffer to) {
        transaction.encode(to.put(TAG));
        request.encode(to);
    }

    /** Reads what comes behind the tag. */
    static Barrier decode(ByteBuffer from) {
        return new Barrier(TransactionId.decode(from), Request.Whole.decode(from));
    }
}
