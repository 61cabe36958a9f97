package tutti.core.protocol;

import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.TransactionId;

/** What {@link Wice} says: the first in the total order, and by multicast to whoever can have it ordered; the others by multicast. */
sealed interface WiceMessage extends Message {
    /**
     * A message of the certification, on its way into the order.
     *
     * @param origin who says it
     * @param life the sender's incarnation, by which {@code number} counts
     * @param number from 1; 0 if it does not matter how often it is said
     */
    record Numbered(int origin, long life, long number, Message message) implements WiceMessage {
        static final Schema<Numbered> SCHEMA = Schema
                .message("numbered", 1, Numbered.class, "A message of the certification, on its way into the order.")
                .of(
                        Field.of("origin", Types.u8(0, 255), Numbered::origin),
                        Field.of("life", Types.NATURAL, Numbered::life),
                        Field.of("number", Types.NATURAL, Numbered::number),
                        Field.of("message", SnapshotIsolation.MESSAGES, Numbered::message), Numbered::new);

        @Override
        public @Nullable TransactionId transaction() {
            return message.transaction();
        }
    }

    /**
     * A message with its position in the order.
     *
     * @param previous the position before it, lower by more than one where the world uses positions for itself
     */
    record Relay(long position, long previous, Numbered message) implements WiceMessage {
        static final Schema<Relay> SCHEMA = Schema
                .message("relay", 2, Relay.class, "A message with its position in the order.").of(
                        Field.of("position", Types.NATURAL, Relay::position),
                        Field.of("previous", Types.NATURAL, Relay::previous),
                        Field.of("message", Numbered.SCHEMA, Relay::message), Relay::new);

        @Override
        public @Nullable TransactionId transaction() {
            return message.transaction();
        }
    }

    /**
     * How far the sender has come.
     *
     * @param position everything up to it is visible there
     * @param reached everything up to it has been handed on there; below {@code position} only while it recovers
     */
    record Stored(long position, long reached) implements WiceMessage {
        static final Schema<Stored> SCHEMA = Schema.message("stored", 3, Stored.class, "How far the sender has come.")
                .of(
                        Field.of("position", Types.NATURAL, Stored::position),
                        Field.of("reached", Types.NATURAL, Stored::reached), Stored::new);
    }

    /** Somebody waits to hear how far the receiver has come: what was said of it may have been lost. */
    record Ask() implements WiceMessage {
        static final Schema<Ask> SCHEMA = Schema
                .message("ask", 4, Ask.class, "Somebody waits to hear how far the receiver has come.").of(Ask::new);
    }

    /** All of them. */
    MessageSet<Message> MESSAGES = new MessageSet<>("wice", "Under protocol `wice`.",
            List.of(Numbered.SCHEMA, Relay.SCHEMA, Stored.SCHEMA, Ask.SCHEMA));
}
