package tutti.node;

import java.nio.ByteBuffer;
import java.util.List;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/** What nodes tell each other outside of the order of what they show. Its kinds are none that a protocol's messages have. */
sealed interface VisibilityMessage extends Encoded {
    /** Kinds from here on are not a protocol's. */
    int KIND_MIN = 240;

    /** The sender wants to hear as soon as this position is visible at the receiver. */
    record Asked(long position) implements VisibilityMessage {
        static final Schema<Asked> SCHEMA = Schema.message("ask", KIND_MIN, Asked.class,
                "The sender wants to hear as soon as this position is visible at the receiver.").of(
                        Field.of("position", Types.NATURAL, Asked::position), Asked::new);
    }

    /** Everything up to this position is visible at the sender. */
    record Shown(long position) implements VisibilityMessage {
        static final Schema<Shown> SCHEMA = Schema.message("shown", KIND_MIN + 1, Shown.class,
                "Everything up to this position is visible at the sender.").of(
                        Field.of("position", Types.NATURAL, Shown::position), Shown::new);
    }

    /** Whether a message from outside of the order is one of these, and not the protocol's. */
    static boolean is(ByteBuffer payload) {
        return payload.remaining() >= HEAD_BYTES
                && Byte.toUnsignedInt(payload.get(payload.position() + HEAD_BYTES - 1)) >= KIND_MIN;
    }

    /** All of them. */
    MessageSet<VisibilityMessage> SET = new MessageSet<>("showing", "Between nodes, outside of the order.",
            List.of(Asked.SCHEMA, Shown.SCHEMA));
}
