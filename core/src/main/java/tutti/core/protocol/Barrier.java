package tutti.core.protocol;

import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.txn.TransactionId;

/** Asks for a request to be executed by every replica alone, at its position in the order; the same in all protocols that know it. */
record Barrier(TransactionId transaction, TransactionRequest.Whole request) implements Message {
    static final Schema<Barrier> SCHEMA = Schema
            .message("barrier", 2, Barrier.class, "Every replica is to execute this alone, at its position.").of(
                    Field.of("transaction", TransactionId.SCHEMA, Barrier::transaction),
                    Field.of("request", TransactionRequest.Whole.SCHEMA, Barrier::request), Barrier::new);
}
