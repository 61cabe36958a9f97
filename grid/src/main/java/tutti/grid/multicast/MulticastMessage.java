package tutti.grid.multicast;

import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.TransactionId;

/** What nodes tell each other to order a message. */
public sealed interface MulticastMessage extends Encoded {
    /** The message that it is about. */
    TransactionId id();

    /** The message itself, to its destinations. */
    record Data(TransactionId id, int[] destinations, byte[] payload) implements MulticastMessage {
        static final Schema<Data> SCHEMA = Schema.message("data", 1, Data.class,
                "A message that is to be delivered at its destinations, in total order.").of(
                        Field.of("id", TransactionId.SCHEMA, Data::id),
                        Field.of("destinations", MulticastMessages.DESTINATIONS, Data::destinations),
                        Field.of("payload", MulticastMessages.PAYLOAD, Data::payload), Data::new);
    }

    /** The stamp that a destination proposes. */
    record Propose(TransactionId id, long stamp) implements MulticastMessage {
        static final Schema<Propose> SCHEMA = Schema
                .message("propose", 2, Propose.class, "The stamp that a destination proposes for a message.").of(
                        Field.of("id", TransactionId.SCHEMA, Propose::id),
                        Field.of("stamp", Types.POSITIVE, Propose::stamp), Propose::new);
    }

    /** The final stamp. */
    record Order(TransactionId id, long stamp) implements MulticastMessage {
        static final Schema<Order> SCHEMA = Schema
                .message("order", 3, Order.class, "The final stamp of a message, from who coordinates it.").of(
                        Field.of("id", TransactionId.SCHEMA, Order::id),
                        Field.of("stamp", Types.POSITIVE, Order::stamp), Order::new);
    }

    /** The sender knows the final stamp. */
    record Ack(TransactionId id) implements MulticastMessage {
        static final Schema<Ack> SCHEMA = Schema
                .message("ack", 4, Ack.class, "The sender knows the final stamp of a message.")
                .of(Field.of("id", TransactionId.SCHEMA, Ack::id), Ack::new);
    }

    /** After a crash: asks what a destination knows of a message, and brings it. */
    record Query(TransactionId id, long view, int[] destinations, byte[] payload) implements MulticastMessage {
        static final Schema<Query> SCHEMA = Schema.message("query", 5, Query.class,
                "After a crash, from who coordinates the message in a view: is its final stamp known to the receiver?")
                .of(
                        Field.of("id", TransactionId.SCHEMA, Query::id),
                        Field.of("view", Types.NATURAL, Query::view),
                        Field.of("destinations", MulticastMessages.DESTINATIONS, Query::destinations),
                        Field.of("payload", MulticastMessages.PAYLOAD, Query::payload), Query::new);
    }

    /**
     * The answer.
     *
     * @param stamp the final one, or 0 if it is not known
     */
    record State(TransactionId id, long view, long stamp) implements MulticastMessage {
        static final Schema<State> SCHEMA = Schema
                .message("state", 6, State.class, "Answer to a query: the final stamp, or 0.").of(
                        Field.of("id", TransactionId.SCHEMA, State::id),
                        Field.of("view", Types.NATURAL, State::view),
                        Field.of("stamp", Types.NATURAL, State::stamp), State::new);
    }

    /** Nobody knows a final stamp: asks for another proposal. */
    record Renew(TransactionId id, long view) implements MulticastMessage {
        static final Schema<Renew> SCHEMA = Schema
                .message("renew", 7, Renew.class, "Nobody knows a final stamp of the message: propose again.").of(
                        Field.of("id", TransactionId.SCHEMA, Renew::id),
                        Field.of("view", Types.NATURAL, Renew::view), Renew::new);
    }

    /** The proposal that was asked for. */
    record Renewed(TransactionId id, long view, long stamp) implements MulticastMessage {
        static final Schema<Renewed> SCHEMA = Schema
                .message("renewed", 8, Renewed.class, "Another proposal of a stamp, as asked for.").of(
                        Field.of("id", TransactionId.SCHEMA, Renewed::id),
                        Field.of("view", Types.NATURAL, Renewed::view),
                        Field.of("stamp", Types.POSITIVE, Renewed::stamp), Renewed::new);
    }
}
