package tutti.grid.node;

import java.util.List;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/** What is said on a connection between two nodes besides what it carries. */
sealed interface LinkMessage extends Encoded {
    /** All of them. */
    static MessageSet<LinkMessage> set() {
        return Holder.SET;
    }

    /** Made when it is first used, after the messages. */
    final class Holder {
        private static final MessageSet<LinkMessage> SET = new MessageSet<>("grid links",
                "On a connection between two nodes of a grid, each behind its length of four bytes: hello from who"
                        + " connects, then its frames; the others from who accepts. A frame is the sender's view and clock, of eight"
                        + " bytes each, and a message of grid messages.",
                List.of(Hello.SCHEMA, Welcome.SCHEMA, Refused.SCHEMA, Received.SCHEMA));

        private Holder() {}
    }

    /** The first on a connection. */
    record Hello(int node, long process, String agreement) implements LinkMessage {
        static final Schema<Hello> SCHEMA = Schema.message("hello", 1, Hello.class, "Who connects.").of(
                Field.of("node", Types.u8(0, 255), Hello::node), Field.of("process", Types.LONG, Hello::process),
                Field.of("agreement", Types.text(1 << 16), Hello::agreement), Hello::new);
    }

    /**
     * The connection is accepted.
     *
     * @param received so many frames of the process that connects have come before
     * @param isFirst whether no other process of that node was heard here before it
     * @param hasChanged without views: whether the group of that node is known to have other members than it was founded with
     */
    record Welcome(long process, long received, boolean isFirst, boolean hasChanged) implements LinkMessage {
        static final Schema<Welcome> SCHEMA = Schema
                .message("welcome", 2, Welcome.class, "It is accepted; so many frames have come before.").of(
                        Field.of("process", Types.LONG, Welcome::process),
                        Field.of("received", Types.NATURAL, Welcome::received),
                        Field.of("first", Types.BOOLEAN, Welcome::isFirst),
                        Field.of("changed", Types.BOOLEAN, Welcome::hasChanged), Welcome::new);
    }

    /** What becomes of who is not accepted. */
    enum Refusal {
        /** It does not belong here. */
        FOREIGN,
        /** The others go on without it; it may join as another process. */
        EXCLUDED,
        /** Another process is that node, and may have crashed: it may try again. */
        LATER
    }

    /** It is not. */
    record Refused(Refusal kind, String why) implements LinkMessage {
        static final Schema<Refused> SCHEMA = Schema.message("refused", 3, Refused.class, "It is not accepted.").of(
                Field.of("kind", Types.oneOf(Refusal.class), Refused::kind),
                Field.of("why", Types.text(1 << 16), Refused::why), Refused::new);
    }

    /** So many frames have come. */
    record Received(long frames) implements LinkMessage {
        static final Schema<Received> SCHEMA = Schema
                .message("received", 4, Received.class, "So many frames have come.").of(
                        Field.of("frames", Types.NATURAL, Received::frames), Received::new);
    }
}
