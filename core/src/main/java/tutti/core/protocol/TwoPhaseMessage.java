package tutti.core.protocol;

import java.util.List;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
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
        static final Schema<Decide> SCHEMA = Schema.message("decide", 1, Decide.class, "All members have voted yes.")
                .of(
                        Field.of("transaction", TransactionId.SCHEMA, Decide::transaction),
                        Field.of("epoch", Types.NATURAL, Decide::epoch),
                        Field.of("writes", WriteSet.SCHEMA, Decide::writes), Decide::new);
    }

    /** Every replica executes this. */
    record Everywhere(TransactionId transaction, TransactionRequest.Whole request) implements TwoPhaseMessage {
        static final Schema<Everywhere> SCHEMA = Schema
                .message("everywhere", 2, Everywhere.class, "Every replica executes this.").of(
                        Field.of("transaction", TransactionId.SCHEMA, Everywhere::transaction),
                        Field.of("request", TransactionRequest.Whole.SCHEMA, Everywhere::request), Everywhere::new);
    }

    /**
     * A replica becomes a member, or begins a new life as one.
     *
     * @param incarnation its lives below this one are over
     */
    record Join(int node, long incarnation) implements TwoPhaseMessage {
        static final Schema<Join> SCHEMA = Schema
                .message("join", 3, Join.class, "A replica becomes a member, or begins a new life as one.").of(
                        Field.of("node", Types.u8(0, 255), Join::node),
                        Field.of("incarnation", Types.NATURAL, Join::incarnation), Join::new);
    }

    /** A replica is no member any more. */
    record Leave(int node) implements TwoPhaseMessage {
        static final Schema<Leave> SCHEMA = Schema.message("leave", 4, Leave.class, "A replica is no member any more.")
                .of(
                        Field.of("node", Types.u8(0, 255), Leave::node), Leave::new);
    }

    /**
     * Asks a member to make these changes and hold their locks.
     *
     * @param round the epoch in which it is asked
     */
    record Prepare(TransactionId transaction, long round, WriteSet writes) implements TwoPhaseMessage {
        static final Schema<Prepare> SCHEMA = Schema
                .message("prepare", 5, Prepare.class, "Asks a member to make these changes and hold their locks.").of(
                        Field.of("transaction", TransactionId.SCHEMA, Prepare::transaction),
                        Field.of("round", Types.NATURAL, Prepare::round),
                        Field.of("writes", WriteSet.SCHEMA, Prepare::writes), Prepare::new);
    }

    /** Answers {@link Prepare}; {@code round} is that of the question. */
    record Vote(TransactionId transaction, long round, boolean yes) implements TwoPhaseMessage {
        static final Schema<Vote> SCHEMA = Schema.message("vote", 6, Vote.class, "Answers prepare.").of(
                Field.of("transaction", TransactionId.SCHEMA, Vote::transaction),
                Field.of("round", Types.NATURAL, Vote::round),
                Field.of("yes", Types.BOOLEAN, Vote::yes), Vote::new);
    }

    /**
     * A coordinator has ended a transaction.
     *
     * @param after if it was committed, that is at or below this position: whoever has delivered that may forget it
     */
    record Ended(TransactionId transaction, long after) implements TwoPhaseMessage {
        static final Schema<Ended> SCHEMA = Schema
                .message("ended", 7, Ended.class, "A coordinator has ended a transaction.").of(
                        Field.of("transaction", TransactionId.SCHEMA, Ended::transaction),
                        Field.of("after", Types.NATURAL, Ended::after), Ended::new);
    }

    /** A participant asks a coordinator how a transaction has ended. */
    record Inquire(TransactionId transaction) implements TwoPhaseMessage {
        static final Schema<Inquire> SCHEMA = Schema
                .message("inquire", 8, Inquire.class, "Asks a coordinator how a transaction has ended.").of(
                        Field.of("transaction", TransactionId.SCHEMA, Inquire::transaction), Inquire::new);
    }

    /** One transaction waits for a lock that another one holds. */
    record Wait(TransactionId waiter, TransactionId holder) {
        static final Schema<Wait> SCHEMA = Schema.part("wait", Wait.class).of(
                Field.of("waiter", TransactionId.SCHEMA, Wait::waiter),
                Field.of("holder", TransactionId.SCHEMA, Wait::holder), Wait::new);
    }

    /** All waits at the sender. */
    record Waits(List<Wait> waits) implements TwoPhaseMessage {
        public Waits {
            waits = List.copyOf(waits);
        }

        static final Schema<Waits> SCHEMA = Schema
                .message("waits", 9, Waits.class, "All waits for locks at the sender.").of(
                        Field.of("waits", Types.list(Wait.SCHEMA, 1 << 20), Waits::waits), Waits::new);
    }

    /** All of them. */
    MessageSet<Message> MESSAGES = new MessageSet<>("2pc", "Under protocol `2pc`.",
            List.of(Decide.SCHEMA, Everywhere.SCHEMA, Join.SCHEMA, Leave.SCHEMA, Prepare.SCHEMA, Vote.SCHEMA,
                    Ended.SCHEMA, Inquire.SCHEMA, Waits.SCHEMA));
}
