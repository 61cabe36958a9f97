package tutti.core.protocol;

import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * What replicas say in the total order under {@link Hybrid}, besides what it has in common with {@link Nodo}: the records of
 * the request logs, of the write-set log, and who owns which request log.
 */
sealed interface HybridMessage extends Message {
    /** A whole request, which stands in the request logs of its classes from here on, and will be executed. */
    record Log(TransactionId transaction, TransactionRequest.Whole request) implements HybridMessage {
        static final Schema<Log> SCHEMA = Schema
                .message("log", 5, Log.class, "A whole request, for the request logs of its classes.").of(
                        Field.of("transaction", TransactionId.SCHEMA, Log::transaction),
                        Field.of("request", TransactionRequest.Whole.SCHEMA, Log::request), Log::new);
    }

    /**
     * What an owner has made of requests, of which the first was first in its logs and the others stood directly behind it: the first of
     * these that is delivered for a request counts.
     *
     * @param requests in the order in which they were executed, at least one
     * @param writes of all together
     */
    record Done(List<Executed> requests, WriteSet writes) implements HybridMessage {
        static final Schema<Done> SCHEMA = Schema
                .message("done", 6, Done.class,
                        "What an owner has made of requests that were first in their logs, one after the other.")
                .of(
                        Field.of("requests", Types.list(Executed.SCHEMA, Hybrid.BATCH_MAX), Done::requests),
                        Field.of("writes", WriteSet.SCHEMA, Done::writes), Done::new);

        /** @throws IllegalArgumentException if there is none */
        public Done {
            requests = List.copyOf(requests);
            if (requests.isEmpty()) {
                throw new IllegalArgumentException("an outcome of no request");
            }
        }

        /** The first, by which the owner knows them all. */
        @Override
        public TransactionId transaction() {
            return requests.getFirst().transaction();
        }
    }

    /** One request that has been executed, and what its client is told. */
    record Executed(TransactionId transaction, Response response) {
        static final Schema<Executed> SCHEMA = Schema.part("executed request", Executed.class).of(
                Field.of("transaction", TransactionId.SCHEMA, Executed::transaction),
                Field.of("response", Response.SCHEMA, Executed::response), Executed::new);
    }

    /** A request for every replica is first in its logs: each executes it at this position. */
    record Everywhere(TransactionId transaction) implements HybridMessage {
        static final Schema<Everywhere> SCHEMA = Schema.message("everywhere", 7, Everywhere.class,
                "A request for every replica is first in its logs: each executes it now.").of(
                        Field.of("transaction", TransactionId.SCHEMA, Everywhere::transaction), Everywhere::new);
    }

    /** The sender wants to own these logs. */
    record TakeOver(List<Claim> claims) implements HybridMessage {
        static final Schema<TakeOver> SCHEMA = Schema
                .message("take-over", 8, TakeOver.class, "The sender wants to own request logs.").of(
                        Field.of("claims", Types.list(Claim.SCHEMA, RequestLogs.LOGS_MAX), TakeOver::claims),
                        TakeOver::new);

        public TakeOver {
            claims = List.copyOf(claims);
        }
    }

    /**
     * One log that a replica wants to own.
     *
     * @param epoch that would begin: one more than the present one, or it is in vain
     */
    record Claim(int log, long epoch) {
        static final Schema<Claim> SCHEMA = Schema.part("claim", Claim.class).of(
                Field.of("log", Types.integer(0, RequestLogs.LOGS_MAX - 1), Claim::log),
                Field.of("epoch", Types.POSITIVE, Claim::epoch), Claim::new);
    }

    /**
     * Requests are divided otherwise from here on, if nobody else has divided them since.
     *
     * @param division as of the position of the one that the sender knew
     */
    record Divide(Division division) implements HybridMessage {
        static final Schema<Divide> SCHEMA = Schema.message("divide", 9, Divide.class,
                "Requests are divided otherwise among replicas from here on, if nobody has divided them since.").of(
                        Field.of("division", Division.SCHEMA, Divide::division), Divide::new);
    }

    /** All of them. */
    MessageSet<Message> MESSAGES = new MessageSet<>("hybrid", "Under protocol `hybrid`.",
            List.of(ClassMessage.Submit.SCHEMA, ClassMessage.Changes.SCHEMA, ClassMessage.Release.SCHEMA, Log.SCHEMA,
                    Done.SCHEMA, Everywhere.SCHEMA, TakeOver.SCHEMA, Divide.SCHEMA));

    /**
     * A transaction in the request logs.
     *
     * @param sequence the position of its first message: its place in each of its logs
     * @param request null if the replica that it was submitted to runs it
     */
    record Entry(long sequence, TransactionId transaction, ConflictClasses classes,
            TransactionRequest.@Nullable Whole request) implements TransactionQueues.Named {
        static final Schema<Entry> SCHEMA = Schema.part("entry", Entry.class).of(
                Field.of("sequence", Types.LONG, Entry::sequence),
                Field.of("transaction", TransactionId.SCHEMA, Entry::transaction),
                Field.of("classes", ConflictClasses.SCHEMA, Entry::classes),
                Field.of("request", Types.optional(TransactionRequest.Whole.SCHEMA), Entry::request), Entry::new);

        @Override
        public long bytes() {
            return request == null ? 0 : request.waitingBytes();
        }

        /** Whether every replica executes it. */
        boolean everywhere() {
            return request != null && request.placement() == TransactionRequest.Placement.ALL;
        }

        /** By name alone: there is one of each. */
        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Entry that && transaction.equals(that.transaction) && sequence == that.sequence;
        }

        @Override
        public int hashCode() {
            return transaction.hashCode();
        }
    }

    /** What a replica keeps in its snapshots: what stands in the logs, and whose they are. */
    record Snapshot(long delivered, RequestLogs.Image logs, List<Entry> entries) implements Encoded {
        static final Schema<Snapshot> SCHEMA = Schema.message("hybrid", 9, Snapshot.class, "Of protocol `hybrid`.").of(
                Field.of("delivered", Types.NATURAL, Snapshot::delivered),
                Field.of("logs", RequestLogs.Image.SCHEMA, Snapshot::logs),
                Field.of("entries", Types.list(Entry.SCHEMA, Integer.MAX_VALUE), Snapshot::entries), Snapshot::new);
    }
}
