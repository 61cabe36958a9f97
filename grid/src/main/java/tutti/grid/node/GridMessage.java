package tutti.grid.node;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Type;
import tutti.core.schema.Types;
import tutti.core.txn.TransactionId;
import tutti.grid.commit.CommitMessage;
import tutti.grid.genuine.Configuration;
import tutti.grid.genuine.GenuineMessage;
import tutti.grid.genuine.GroupMulticast;
import tutti.grid.multicast.MulticastMessage;
import tutti.grid.multicast.MulticastMessages;
import tutti.grid.store.GroupLayout;
import tutti.grid.store.Key;
import tutti.grid.store.Sorted;
import tutti.grid.store.Version;
import tutti.grid.view.ViewMessage;

/** What nodes tell each other besides {@link MulticastMessage}, {@link GenuineMessage}, {@link CommitMessage} and {@link ViewMessage}. */
sealed interface GridMessage extends Encoded {
    /** After how many bytes of keys an answer goes on in another message. */
    int PART_BYTES = 1 << 16;

    /** Layouts of groups. */
    Type<List<GroupLayout>> LAYOUTS = Types.list(GroupLayout.SCHEMA, 1 << 10);

    /** Before each message: the sender's view and clock. */
    int ENVELOPE_BYTES = 2 * Long.BYTES;

    /** A message as it is sent, with the sender's view and clock. */
    static byte[] frame(long view, long clock, Encoded message) {
        ByteBuffer bytes = ByteBuffer.allocate(ENVELOPE_BYTES + message.encodedSize());
        bytes.putLong(view).putLong(clock);
        message.encode(bytes);
        return bytes.array();
    }

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
            all.addAll(List.of(Heartbeat.SCHEMA, Read.SCHEMA, Value.SCHEMA, Trimmed.SCHEMA, Present.SCHEMA,
                    Scan.SCHEMA, Keys.SCHEMA, Apply.SCHEMA, Fetch.SCHEMA, Copies.SCHEMA, Invalidated.SCHEMA,
                    Given.SCHEMA,
                    Undecided.SCHEMA, Taken.SCHEMA, Decided.SCHEMA, Over.SCHEMA, Leave.SCHEMA,
                    Addresses.SCHEMA, Founded.SCHEMA, Hand.SCHEMA, Handed.SCHEMA, HasCopied.SCHEMA));
            all.addAll(GenuineMessage.schemas());
            return all;
        }
    }

    /**
     * The sender lives.
     *
     * @param settled what it, and what it asks of others from now on, needs nothing below of
     * @param timeMillis no transaction that it has, or begins from now on, has an earlier time; see {@link Times}
     * @param full whether it stores as much as it may
     * @param moving how far it is with what the next view must wait for; see {@link Relocation}
     */
    record Heartbeat(long view, long settled, long timeMillis, boolean full,
            Moving moving) implements GridMessage {
        static final Schema<Heartbeat> SCHEMA = Schema.message("heartbeat", 50, Heartbeat.class,
                "The sender lives, in this view, and needs nothing below a stamp, nor what has expired at a time.").of(
                        Field.of("view", Types.NATURAL, Heartbeat::view),
                        Field.of("settled", Types.NATURAL, Heartbeat::settled),
                        Field.of("time", Types.NATURAL, Heartbeat::timeMillis),
                        Field.of("full", Types.BOOLEAN, Heartbeat::full),
                        Field.of("moving", Moving.SCHEMA, Heartbeat::moving), Heartbeat::new);
    }

    /** How far a node is with something. */
    enum Step {
        /** It is not done here. */
        OPEN,
        /** It is done here. */
        DONE,
        /** It is done here, and was when all others were known to be done. */
        DONE_BY_ALL
    }

    /**
     * What a node says of itself, for keys to be moved.
     *
     * @param drained nothing is under way here that was sent in an earlier layout
     * @param clean nothing is kept here of nodes that are not in the view
     * @param copied the last layout of which this node has copied what it must
     * @param leaving whether it wants to leave
     * @param acceptsLoss whether what has no owner any more may be taken for removed
     */
    record Moving(Step drained, Step clean, long copied, boolean leaving, boolean acceptsLoss) {
        static final Moving NOTHING = new Moving(Step.OPEN, Step.OPEN, 0, false, false);
        static final Schema<Moving> SCHEMA = Schema.part("moving keys", Moving.class).of(
                Field.of("drained", Types.oneOf(Step.class), Moving::drained),
                Field.of("clean", Types.oneOf(Step.class), Moving::clean),
                Field.of("copied", Types.NATURAL, Moving::copied),
                Field.of("leaving", Types.BOOLEAN, Moving::leaving),
                Field.of("acceptsLoss", Types.BOOLEAN, Moving::acceptsLoss), Moving::new);
    }

    /** Without views: to a life of a node that is to be taken in by its group, what the sender has, but for keys, which come as {@link Copies} of this number; see {@link Replacement}. */
    record Given(long number, long delivered, long floor, long present, long horizon,
            long timeMillis, List<GroupLayout> layouts) implements GridMessage {
        static final Schema<Given> SCHEMA = Schema.message("given", 72, Given.class,
                "What a leader gives to a life that is to be taken in; more follows.").of(
                        Field.of("number", Types.NATURAL, Given::number),
                        Field.of("delivered", Types.NATURAL, Given::delivered),
                        Field.of("floor", Types.NATURAL, Given::floor),
                        Field.of("present", Types.NATURAL, Given::present),
                        Field.of("horizon", Types.NATURAL, Given::horizon),
                        Field.of("time", Types.NATURAL, Given::timeMillis),
                        Field.of("layouts", LAYOUTS, Given::layouts), Given::new);

        public Given {
            layouts = List.copyOf(layouts);
        }
    }

    /**
     * Without views: a further group is founded. To its first members, by each node that has delivered the message that says so, and by each other.
     *
     * @param layouts the last one is that in which it is founded
     */
    record Founded(List<GroupLayout> layouts, Configuration first) implements GridMessage {
        static final Schema<Founded> SCHEMA = Schema.message("founded", 80, Founded.class,
                "The receiver is one of the first members of a group.").of(
                        Field.of("layouts", LAYOUTS, Founded::layouts),
                        Field.of("first", Configuration.SCHEMA, Founded::first), Founded::new);

        public Founded {
            layouts = List.copyOf(layouts);
        }
    }

    /** Without views: asks for the keys that are moved from the receiver's group to the sender's in a layout, the first part, or another; see {@link Handover}. */
    record Hand(long layout, boolean first) implements GridMessage {
        static final Schema<Hand> SCHEMA = Schema.message("hand", 81, Hand.class,
                "Asks for a part of the keys that are moved from the receiver's group to the sender's.").of(
                        Field.of("layout", Types.NATURAL, Hand::layout),
                        Field.of("first", Types.BOOLEAN, Hand::first), Hand::new);
    }

    /** The part that was asked for. What has expired at a time, or only snapshots below a stamp would find, may not be there any more. */
    record Handed(long layout, boolean last, long horizon, long timeMillis,
            List<Copy> copies) implements GridMessage {
        static final Schema<Handed> SCHEMA = Schema
                .message("handed", 82, Handed.class, "A part of the keys that are moved.").of(
                        Field.of("layout", Types.NATURAL, Handed::layout),
                        Field.of("last", Types.BOOLEAN, Handed::last),
                        Field.of("horizon", Types.NATURAL, Handed::horizon),
                        Field.of("time", Types.NATURAL, Handed::timeMillis),
                        Field.of("copies", Types.list(Copy.SCHEMA, 1 << 20), Handed::copies), Handed::new);

        public Handed {
            copies = List.copyOf(copies);
        }
    }

    /**
     * Without views: the sender has all that its group gets in a layout.
     *
     * @param since which life of its node it is
     */
    record HasCopied(long layout, long since) implements GridMessage {
        static final Schema<HasCopied> SCHEMA = Schema.message("has copied", 83, HasCopied.class,
                "The sender has all keys that its group gets.").of(
                        Field.of("layout", Types.NATURAL, HasCopied::layout),
                        Field.of("since", Types.NATURAL, HasCopied::since), HasCopied::new);
    }

    /** Behind {@link Given}: which messages are over; see {@link GroupMulticast.Over}. */
    record Over(long number, List<TransactionId> finishedBelow,
            List<GenuineMessage.Entry> messages) implements GridMessage {
        static final Schema<Over> SCHEMA = Schema.message("over", 76, Over.class, "Which messages are over.").of(
                Field.of("number", Types.NATURAL, Over::number),
                Field.of("finishedBelow", Types.list(TransactionId.SCHEMA, 1 << 20), Over::finishedBelow),
                Field.of("messages", GenuineMessage.Entry.LIST, Over::messages), Over::new);

        public Over {
            finishedBelow = List.copyOf(finishedBelow);
            messages = List.copyOf(messages);
        }
    }

    /** Behind {@link Given}: outcomes that others may ask for. */
    record Decided(long number, List<CommitMessage.Outcome> outcomes) implements GridMessage {
        static final Schema<Decided> SCHEMA = Schema.message("decided", 75, Decided.class,
                "Outcomes of transactions that others may ask for.").of(
                        Field.of("number", Types.NATURAL, Decided::number),
                        Field.of("outcomes", Types.list(CommitMessage.Outcome.SCHEMA, 1 << 20), Decided::outcomes),
                        Decided::new);

        public Decided {
            outcomes = List.copyOf(outcomes);
        }
    }

    /** Behind {@link Given}: a transaction that waits for votes. */
    record Undecided(long number, TransactionId name, TransactionId id, byte[] request, long stamp, long floor,
            Map<Integer, Boolean> votes) implements GridMessage {
        static final Schema<Undecided> SCHEMA = Schema.message("undecided", 73, Undecided.class,
                "A transaction that is delivered and waits for votes.").of(
                        Field.of("number", Types.NATURAL, Undecided::number),
                        Field.of("name", TransactionId.SCHEMA, Undecided::name),
                        Field.of("id", TransactionId.SCHEMA, Undecided::id),
                        Field.of("request", Types.bytes(MulticastMessages.PAYLOAD_BYTES_MAX), Undecided::request),
                        Field.of("stamp", Types.POSITIVE, Undecided::stamp),
                        Field.of("floor", Types.NATURAL, Undecided::floor),
                        Field.of("votes", Types.map(Types.integer(0, 255), Types.BOOLEAN, 256), Undecided::votes),
                        Undecided::new);

        public Undecided {
            votes = Sorted.copy(votes);
        }
    }

    /** The sender has all that it was given by this number. */
    record Taken(long number) implements GridMessage {
        static final Schema<Taken> SCHEMA = Schema.message("taken", 74, Taken.class,
                "The sender has copied all that it was given, and is to be taken in.").of(
                        Field.of("number", Types.NATURAL, Taken::number), Taken::new);
    }

    /** Without views: to who has applied, where the nodes are that the sender knows, as host, colon, port. */
    record Addresses(Map<Integer, String> nodes) implements GridMessage {
        static final Schema<Addresses> SCHEMA = Schema.message("addresses", 79, Addresses.class,
                "Where nodes are, for a process that wants to join.").of(
                        Field.of("nodes", Types.map(Types.integer(0, 255), Types.text(1 << 10), 256), Addresses::nodes),
                        Addresses::new);

        public Addresses {
            nodes = Sorted.copy(nodes);
        }
    }

    /**
     * Without views: a group is to go on without a member, which is the sender, or has crashed.
     *
     * @param since the ballot that has taken it in: which life of the node it is
     */
    record Leave(int node, long since) implements GridMessage {
        static final Schema<Leave> SCHEMA = Schema
                .message("leave", 78, Leave.class,
                        "A group is to go on without a member: the sender, or one that has crashed.")
                .of(
                        Field.of("node", Types.u8(0, 255), Leave::node),
                        Field.of("since", Types.NATURAL, Leave::since), Leave::new);
    }

    /**
     * The sender is no member, and wants to be one.
     *
     * @param nodes of the further group that it wants to found or join; none of any other
     */
    record Apply(long process, String address, Set<Integer> nodes) implements GridMessage {
        static final Schema<Apply> SCHEMA = Schema.message("apply", 57, Apply.class, "A process wants to join.").of(
                Field.of("process", Types.LONG, Apply::process),
                Field.of("address", Types.text(1 << 10), Apply::address),
                Field.of("nodes", Types.set(Types.integer(0, 255), 256), Apply::nodes), Apply::new);

        public Apply {
            nodes = Sorted.copy(nodes);
        }
    }

    /** In a view, or by the number of what was {@linkplain Given given}: asks for what the receiver has to give of keys that the sender must copy; the first part, or another. */
    record Fetch(long view, boolean first) implements GridMessage {
        static final Schema<Fetch> SCHEMA = Schema.message("fetch", 58, Fetch.class,
                "Asks for a part of the keys that are copied from the receiver to the sender, in a view.").of(
                        Field.of("view", Types.NATURAL, Fetch::view), Field.of("first", Types.BOOLEAN, Fetch::first),
                        Fetch::new);
    }

    /** A version of a key. */
    record Copy(Key key, Version version) {
        static final Schema<Copy> SCHEMA = Schema.part("copied version", Copy.class).of(
                Field.of("key", Key.SCHEMA, Copy::key),
                Field.of("version", Version.SCHEMA, Copy::version), Copy::new);
        /** About how many bytes of keys and values are sent at a time. */
        static final int PART_BYTES = 1 << 18;

        /** As many of the next ones as are sent at a time. */
        static List<Copy> part(Iterator<Copy> all) {
            List<Copy> part = new ArrayList<>();
            long bytes = 0;
            while (bytes < PART_BYTES && all.hasNext()) {
                Copy copy = all.next();
                part.add(copy);
                bytes += copy.bytes();
            }
            return part;
        }

        /** How many bytes it takes in a message, about. */
        int bytes() {
            byte[] value = version.value();
            return key.bytes().length + (value == null ? 0 : value.length) + 2 * Long.BYTES;
        }
    }

    /** The part that was asked for. */
    record Copies(long view, boolean last, List<Copy> copies) implements GridMessage {
        static final Schema<Copies> SCHEMA = Schema
                .message("copies", 59, Copies.class, "A part of the keys that are copied.").of(
                        Field.of("view", Types.NATURAL, Copies::view), Field.of("last", Types.BOOLEAN, Copies::last),
                        Field.of("copies", Types.list(Copy.SCHEMA, 1 << 20), Copies::copies), Copies::new);

        public Copies {
            copies = List.copyOf(copies);
        }
    }

    /**
     * Asks for the value of a key; see {@link tutti.grid.store.Store#read}.
     *
     * @param layout by which the receiver owns it
     * @param keep whether the sender wants to keep the answer; see {@link L1}
     */
    record Read(long number, long layout, Key key, long stamp, boolean latest, boolean keep) implements GridMessage {
        static final Schema<Read> SCHEMA = Schema.message("read", 51, Read.class, "Asks an owner for a value.").of(
                Field.of("number", Types.POSITIVE, Read::number), Field.of("layout", Types.NATURAL, Read::layout),
                Field.of("key", Key.SCHEMA, Read::key),
                Field.of("stamp", Types.NATURAL, Read::stamp), Field.of("latest", Types.BOOLEAN, Read::latest),
                Field.of("keep", Types.BOOLEAN, Read::keep), Read::new);
    }

    /**
     * The answer.
     *
     * @param kept whether the receiver may keep it, and is told when the key is written
     */
    record Value(long number, Version version, boolean kept) implements GridMessage {
        static final Schema<Value> SCHEMA = Schema.message("value", 52, Value.class, "The value of a key, if any.").of(
                Field.of("number", Types.POSITIVE, Value::number), Field.of("version", Version.SCHEMA, Value::version),
                Field.of("kept", Types.BOOLEAN, Value::kept), Value::new);
    }

    /** Something is about to write a key that the receiver keeps. */
    record Invalidated(Key key) implements GridMessage {
        static final Schema<Invalidated> SCHEMA = Schema.message("invalidated", 70, Invalidated.class,
                "A key is about to be written whose newest version the receiver keeps.").of(
                        Field.of("key", Key.SCHEMA, Invalidated::key), Invalidated::new);
    }

    /** Without views: something was committed at this stamp, or above. */
    record Present(long stamp) implements GridMessage {
        static final Schema<Present> SCHEMA = Schema.message("present", 54, Present.class,
                "Something was committed at this stamp: a snapshot that begins now may have it.").of(
                        Field.of("stamp", Types.NATURAL, Present::stamp), Present::new);
    }

    /** Asks which of the keys that a node owns, by a layout, begin like this and are in a snapshot; see {@link Scans}. */
    record Scan(long number, long layout, int cache, byte[] prefix, long stamp,
            long timeMillis) implements GridMessage {
        static final Schema<Scan> SCHEMA = Schema
                .message("scan", 55, Scan.class, "Asks for the keys of a snapshot that a node owns.").of(
                        Field.of("number", Types.POSITIVE, Scan::number),
                        Field.of("layout", Types.NATURAL, Scan::layout),
                        Field.of("cache", Types.u8(0, Key.CACHES_MAX - 1), Scan::cache),
                        Field.of("prefix", Types.bytes(Key.BYTES_MAX), Scan::prefix),
                        Field.of("stamp", Types.NATURAL, Scan::stamp),
                        Field.of("time", Types.NATURAL, Scan::timeMillis),
                        Scan::new);
    }

    /** What an answer is of all that there is to answer. */
    enum Part {
        MORE_FOLLOWS,
        LAST,
        /** Versions of so old a snapshot are not kept. */
        TRIMMED
    }

    /** A part of the answer. */
    record Keys(long number, Part part, List<byte[]> keys) implements GridMessage {
        static final Schema<Keys> SCHEMA = Schema.message("keys", 56, Keys.class, "Answer to a scan, in parts.").of(
                Field.of("number", Types.POSITIVE, Keys::number), Field.of("part", Types.oneOf(Part.class), Keys::part),
                Field.of("keys", Types.list(Types.bytes(Key.BYTES_MAX), PART_BYTES), Keys::keys), Keys::new);

        public Keys {
            keys = List.copyOf(keys);
        }

        /** An answer of any length as messages. */
        static void send(long number, List<byte[]> all, Consumer<Keys> to) {
            List<byte[]> part = new ArrayList<>();
            long bytes = 0;
            for (byte[] key : all) {
                bytes += key.length + Integer.BYTES;
                part.add(key);
                if (bytes >= PART_BYTES) {
                    to.accept(new Keys(number, Part.MORE_FOLLOWS, part));
                    part.clear();
                    bytes = 0;
                }
            }
            to.accept(new Keys(number, Part.LAST, part));
        }
    }

    /** Answers a read: what its snapshot would find may have been dropped. */
    record Trimmed(long number) implements GridMessage {
        static final Schema<Trimmed> SCHEMA = Schema.message("trimmed", 53, Trimmed.class,
                "Answer to a read: versions of so old a snapshot are not kept.").of(
                        Field.of("number", Types.POSITIVE, Trimmed::number), Trimmed::new);
    }
}
