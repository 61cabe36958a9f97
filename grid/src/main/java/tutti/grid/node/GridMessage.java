package tutti.grid.node;

import java.util.ArrayList;
import java.util.List;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.grid.commit.CommitMessage;
import tutti.grid.genuine.GenuineMessage;
import tutti.grid.multicast.MulticastMessage;
import tutti.grid.multicast.MulticastMessages;
import tutti.grid.store.Key;
import tutti.grid.store.Version;
import tutti.grid.view.ViewMessage;

/** What nodes tell each other besides {@link MulticastMessage}, {@link GenuineMessage}, {@link CommitMessage} and {@link ViewMessage}. */
sealed interface GridMessage extends Encoded {
    /** All messages of nodes. */
    static MessageSet<Encoded> set() {
        return Holder.SET;
    }

    /** Made when it is first used, after the messages. */
    final class Holder {
        private static final MessageSet<Encoded> SET = new MessageSet<>("grid messages",
                "What the nodes of a grid tell each other, in frames of grid links.", schemas());

        private Holder() {}

        private static List<Schema<? extends Encoded>> schemas() {
            List<Schema<? extends Encoded>> all = new ArrayList<>(MulticastMessages.schemas());
            all.addAll(ViewMessage.schemas());
            all.addAll(CommitMessage.schemas());
            all.addAll(List.of(Heartbeat.SCHEMA, Read.SCHEMA, Value.SCHEMA, Trimmed.SCHEMA, Present.SCHEMA));
            all.addAll(GenuineMessage.schemas());
            return all;
        }
    }

    /**
     * The sender lives.
     *
     * @param settled what it, and what it asks of others from now on, needs nothing below of
     * @param timeMillis no transaction that it has, or begins from now on, has an earlier time; see {@link Times}
     */
    record Heartbeat(long view, long settled, long timeMillis) implements GridMessage {
        static final Schema<Heartbeat> SCHEMA = Schema.message("heartbeat", 50, Heartbeat.class,
                "The sender lives, in this view, and needs nothing below a stamp, nor what has expired at a time.").of(
                        Field.of("view", Types.NATURAL, Heartbeat::view),
                        Field.of("settled", Types.NATURAL, Heartbeat::settled),
                        Field.of("time", Types.NATURAL, Heartbeat::timeMillis), Heartbeat::new);
    }

    /** Asks for the value of a key; see {@link tutti.grid.store.Store#read}. */
    record Read(long number, Key key, long stamp, boolean latest) implements GridMessage {
        static final Schema<Read> SCHEMA = Schema.message("read", 51, Read.class, "Asks an owner for a value.").of(
                Field.of("number", Types.POSITIVE, Read::number), Field.of("key", Key.SCHEMA, Read::key),
                Field.of("stamp", Types.NATURAL, Read::stamp), Field.of("latest", Types.BOOLEAN, Read::latest),
                Read::new);
    }

    /** The answer. */
    record Value(long number, Version version) implements GridMessage {
        static final Schema<Value> SCHEMA = Schema.message("value", 52, Value.class, "The value of a key, if any.").of(
                Field.of("number", Types.POSITIVE, Value::number), Field.of("version", Version.SCHEMA, Value::version),
                Value::new);
    }

    /** Without views: something was committed at this stamp, or above. */
    record Present(long stamp) implements GridMessage {
        static final Schema<Present> SCHEMA = Schema.message("present", 54, Present.class,
                "Something was committed at this stamp: a snapshot that begins now may have it.").of(
                        Field.of("stamp", Types.NATURAL, Present::stamp), Present::new);
    }

    /** Answers a read: what its snapshot would find may have been dropped. */
    record Trimmed(long number) implements GridMessage {
        static final Schema<Trimmed> SCHEMA = Schema.message("trimmed", 53, Trimmed.class,
                "Answer to a read: versions of so old a snapshot are not kept.").of(
                        Field.of("number", Types.POSITIVE, Trimmed::number), Trimmed::new);
    }
}
