package tutti.core.protocol;

import java.util.List;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
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
        static final Schema<Submit> SCHEMA = Schema
                .message("submit", 1, Submit.class, "Asks for a place in the class queues.").of(
                        Field.of("transaction", TransactionId.SCHEMA, Submit::transaction),
                        Field.of("classes", ConflictClasses.SCHEMA, Submit::classes), Submit::new);
    }

    /** What a transaction changed that was first in its queues: commits it and frees them. */
    record Changes(TransactionId transaction, WriteSet writes) implements ClassMessage {
        static final Schema<Changes> SCHEMA = Schema
                .message("changes", 2, Changes.class, "What a transaction changed that was first in its queues.").of(
                        Field.of("transaction", TransactionId.SCHEMA, Changes::transaction),
                        Field.of("writes", WriteSet.SCHEMA, Changes::writes), Changes::new);
    }

    /** A request that was first in its queues: every replica executes it, and they are free. */
    record Execute(TransactionId transaction, TransactionRequest.Whole request) implements ClassMessage {
        static final Schema<Execute> SCHEMA = Schema.message("execute", 3, Execute.class,
                "A request that was first in its queues, for every replica to execute.").of(
                        Field.of("transaction", TransactionId.SCHEMA, Execute::transaction),
                        Field.of("request", TransactionRequest.Whole.SCHEMA, Execute::request), Execute::new);
    }

    /** These transactions change nothing: whichever of them are still in the queues leave them. */
    record Release(List<TransactionId> transactions) implements ClassMessage {
        public Release {
            transactions = List.copyOf(transactions);
        }

        static final Schema<Release> SCHEMA = Schema
                .message("release", 4, Release.class, "These change nothing, and leave the queues.").of(
                        Field.of("transactions", TransactionId.LIST, Release::transactions), Release::new);
    }

    /** All of them. */
    MessageSet<Message> MESSAGES = new MessageSet<>("classes", "Under protocols `nodo` and `akara`.",
            List.of(Submit.SCHEMA, Changes.SCHEMA, Execute.SCHEMA, Release.SCHEMA));
}
