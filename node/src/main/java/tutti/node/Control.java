package tutti.node;

import java.nio.ByteBuffer;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Message;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Type;
import tutti.core.schema.Types;
import tutti.core.txn.TransactionId;
import tutti.node.trace.TraceContext;

/**
 * What nodes tell each other through the total order: the messages of their protocol, and what they need besides. Which
 * protocol that is, {@link Messages} is told.
 */
sealed interface Control extends Encoded {
    /**
     * A message of the protocol.
     *
     * @param schema as {@link Messages} has it
     */
    record Said(Message message, Schema<Said> schema) implements Control {}

    /**
     * A message of the protocol about a transaction that is followed. Nothing is decided by that.
     *
     * @param context of the sender's span
     * @param schema as {@link Messages} has it
     */
    record Traced(TraceContext context, Message message, Schema<Traced> schema) implements Control {}

    /**
     * A node has started. When it has been delivered to itself and all before it is visible, the node has caught up.
     *
     * @param incarnation of the node, larger than any before
     * @param mark of this life alone: a node that has lost count of its lives knows its own by it
     * @param protocol name of the protocol it runs
     */
    record Hello(long incarnation, long mark, String protocol) implements Control {
        static final Schema<Hello> SCHEMA = Schema.message("hello", 1, Hello.class, "A node has started.").of(
                Field.of("incarnation", Types.NATURAL, Hello::incarnation),
                Field.of("mark", Types.LONG, Hello::mark),
                Field.of("protocol", Types.text(1 << 16), Hello::protocol), Hello::new);
    }

    /**
     * After a crash now, the node would need the log from behind this position, and nothing before.
     *
     * @param position of a protocol snapshot in the node's files, restart in its engine
     */
    record Restart(long position) implements Control {
        static final Schema<Restart> SCHEMA = Schema.message("restart", 2, Restart.class,
                "After a crash now, the node would need the log from behind this position.").of(
                        Field.of("position", Types.NATURAL, Restart::position), Restart::new);
    }

    /** Somebody wants to know what became of a transaction: its node is to end it if need be, and say so. */
    record Question(TransactionId transaction) implements Control {
        static final Schema<Question> SCHEMA = Schema
                .message("question", 3, Question.class, "Somebody wants to know what became of a transaction.").of(
                        Field.of("transaction", TransactionId.SCHEMA, Question::transaction), Question::new);
    }

    /** A transaction of the sender has ended: if it has committed, that was ordered before this. */
    record Ended(TransactionId transaction) implements Control {
        static final Schema<Ended> SCHEMA = Schema
                .message("ended", 4, Ended.class, "A transaction of the sender has ended.").of(
                        Field.of("transaction", TransactionId.SCHEMA, Ended::transaction), Ended::new);
    }

    /**
     * A transaction of the sender that has lost is run again: if this run commits, that transaction has, as far as whoever asks for it
     * is concerned.
     *
     * @param name of the transaction, as its client knows it
     * @param run under which it may commit; of the same life
     */
    record Again(TransactionId name, TransactionId run) implements Control {
        static final Schema<Again> SCHEMA = Schema
                .message("again", 11, Again.class, "A transaction of the sender that has lost is run again.").of(
                        Field.of("name", TransactionId.SCHEMA, Again::name),
                        Field.of("run", TransactionId.SCHEMA, Again::run), Again::new);
    }

    /**
     * A transaction of the sender is about to look at something, under this key, that others want to look at and change: it waits until those
     * before it are over ({@link Bookings}).
     */
    record Booked(TransactionId booking, long key) implements Control {
        static final Schema<Booked> SCHEMA = Schema
                .message("booked", 21, Booked.class,
                        "A transaction of the sender is about to look at what others want to change, when those before it are over.")
                .of(Field.of("booking", TransactionId.SCHEMA, Booked::booking),
                        Field.of("key", Types.LONG, Booked::key), Booked::new);
    }

    /** What the sender has booked is over when this transaction commits. */
    record BookedFor(TransactionId booking, TransactionId transaction) implements Control {
        static final Schema<BookedFor> SCHEMA = Schema
                .message("booked-for", 22, BookedFor.class,
                        "What the sender has booked is over when this transaction commits.")
                .of(Field.of("booking", TransactionId.SCHEMA, BookedFor::booking),
                        Field.of("transaction", TransactionId.SCHEMA, BookedFor::transaction), BookedFor::new);
    }

    /** What the sender has booked is over. */
    record BookingOver(TransactionId booking) implements Control {
        static final Schema<BookingOver> SCHEMA = Schema
                .message("booking-over", 23, BookingOver.class, "What the sender has booked is over.")
                .of(Field.of("booking", TransactionId.SCHEMA, BookingOver::booking), BookingOver::new);
    }

    /** From here on nothing counts that this life of a node has sent; see {@link Outcomes}. */
    record Fence(int node, long incarnation) implements Control {
        static final Schema<Fence> SCHEMA = Schema
                .message("fence", 5, Fence.class, "From here on nothing counts that this life of a node has sent.").of(
                        Field.of("node", Types.u8(0, 255), Fence::node),
                        Field.of("incarnation", Types.NATURAL, Fence::incarnation), Fence::new);
    }

    /** The sender wants to know when it has caught up with this. */
    record Mark(long number) implements Control {
        static final Schema<Mark> SCHEMA = Schema
                .message("mark", 6, Mark.class, "The sender wants to know when it has caught up with this.").of(
                        Field.of("number", Types.LONG, Mark::number), Mark::new);
    }

    /** What a node says of the effects of a position. */
    enum Vote {
        /** It has made them. */
        MADE,
        /** Its engine refuses them: the reason is in the position. */
        REFUSED,
        /** Its database is in trouble, and says nothing of them. An earlier life of the node may have made them. */
        TROUBLED,
        /** The same, and no life of the node has ever made them. */
        NEVER_MADE
    }

    /**
     * The sender cannot make the effects of a position, and does not go beyond it. What becomes of it is for {@link Ballots}.
     *
     * @param transactions whose effects they are, at least one; then the names of those that are runs of others, as far as the sender knows
     * @param everywhere whether each node executes it by itself
     * @param sqlState of the sender's error
     * @param message likewise
     * @param vote not {@link Vote#MADE}
     */
    record Inapplicable(long position, List<TransactionId> transactions, boolean everywhere, String sqlState,
            String message, Vote vote) implements Control {
        static final int STATE_BYTES_MAX = 5;
        static final int MESSAGE_BYTES_MAX = 2000;
        static final Type<List<TransactionId>> TRANSACTIONS = Types.list(TransactionId.SCHEMA, 1 << 16);
        static final Schema<Inapplicable> SCHEMA = Schema.message("inapplicable", 7, Inapplicable.class,
                "The sender cannot make the effects of a position, and does not go beyond it.").of(
                        Field.of("position", Types.NATURAL, Inapplicable::position),
                        Field.of("transactions", TRANSACTIONS, Inapplicable::transactions),
                        Field.of("everywhere", Types.BOOLEAN, Inapplicable::everywhere),
                        Field.of("sql state", Types.text(STATE_BYTES_MAX), Inapplicable::sqlState),
                        Field.of("message", Types.text(MESSAGE_BYTES_MAX), Inapplicable::message),
                        Field.of("vote", Types.oneOf(Vote.class), Inapplicable::vote), Inapplicable::new);

        /** @throws IllegalArgumentException if there is no transaction */
        public Inapplicable {
            transactions = List.copyOf(transactions);
            if (transactions.isEmpty()) {
                throw new IllegalArgumentException("effects of no transaction");
            }
            if (vote == Vote.MADE) {
                throw new IllegalArgumentException("effects that are made are not inapplicable");
            }
        }
    }

    /**
     * The same of the effects of a write set that changes tables which some nodes lack: who keeps none of these has nothing to make, and no vote.
     *
     * @param tables that it changes, by their keys, at least one
     */
    record InapplicableToKeepers(Inapplicable told, Set<Long> tables) implements Control {
        static final Type<Set<Long>> TABLES = Types.set(Types.LONG, 1 << 16);
        static final Schema<InapplicableToKeepers> SCHEMA = Schema
                .message("inapplicable-to-keepers", 24, InapplicableToKeepers.class,
                        "The same of the effects of a write set that changes tables which some nodes lack.")
                .of(Field.of("told", Inapplicable.SCHEMA, InapplicableToKeepers::told),
                        Field.of("tables", TABLES, InapplicableToKeepers::tables), InapplicableToKeepers::new);

        /** @throws IllegalArgumentException if there is no table */
        public InapplicableToKeepers {
            tables = new TreeSet<>(tables);
            if (tables.isEmpty()) {
                throw new IllegalArgumentException("changes of no table");
            }
        }
    }

    /** The sender has made the effects of a position that another node cannot make. */
    record Applied(long position) implements Control {
        static final Schema<Applied> SCHEMA = Schema.message("applied", 8, Applied.class,
                "The sender has made the effects of a position that another node cannot make.").of(
                        Field.of("position", Types.NATURAL, Applied::position), Applied::new);
    }

    /** Somebody decides by hand whether the effects of a position hold that some node cannot make. */
    record Decided(long position, boolean holds) implements Control {
        static final Schema<Decided> SCHEMA = Schema.message("decided", 9, Decided.class,
                "Somebody decides by hand whether the effects of a position hold that some node cannot make.").of(
                        Field.of("position", Types.NATURAL, Decided::position),
                        Field.of("holds", Types.BOOLEAN, Decided::holds), Decided::new);
    }

    /**
     * The sender gives a node a copy to begin anew with, since that has lost what it had or may not use it any more. All up to here
     * is ordered without the node. It counts if nothing was ordered behind what the sender knew when it was asked that concerns where the node begins:
     * another of these, or a life of the node. For whoever asks gives donors up that are slow, and what they send later must not shut out the copy with
     * which the node has begun.
     *
     * @param directory number of the copy's order directory, by which it is known from here on
     * @param life number of the node's last life that the sender had heard of then
     * @param since position up to which the sender had been delivered all then
     */
    record Replaced(int node, long directory, long life, long since) implements Control {
        static final Schema<Replaced> SCHEMA = Schema.message("replaced", 10, Replaced.class,
                "The sender gives a node a copy to begin anew with.").of(
                        Field.of("node", Types.u8(0, 255), Replaced::node),
                        Field.of("directory", Types.LONG, Replaced::directory),
                        Field.of("life", Types.NATURAL, Replaced::life),
                        Field.of("since", Types.NATURAL, Replaced::since), Replaced::new);
    }

    /** Nodes that were asked to look at their databases as they are at this position, before anything behind it can be seen. */
    record Look(long number) implements Control {
        static final Schema<Look> SCHEMA = Schema
                .message("look", 20, Look.class, "Nodes that were asked to look at their databases as they are here.")
                .of(
                        Field.of("number", Types.LONG, Look::number), Look::new);
    }

    /**
     * Somebody asks for a change of the members. It counts if these have not changed since: see {@link Members}.
     *
     * @param before number of the list that the sender knew
     * @param step what happens with the node
     * @param addresses where all members are then, and where the node was that goes
     */
    record Changed(long before, Step step, int node, Map<Integer, String> addresses) implements Control {
        /** What happens with a node. */
        enum Step {
            ADDED,
            REMOVED,
            MOVED
        }

        static final Schema<Changed> SCHEMA = Schema
                .message("changed", 12, Changed.class, "Somebody asks for a change of the members.").of(
                        Field.of("before", Types.NATURAL, Changed::before),
                        Field.of("step", Types.oneOf(Step.class), Changed::step),
                        Field.of("node", Types.u8(0, 255), Changed::node),
                        Field.of("addresses", Types.map(Types.u8(0, 255), Types.text(300), 256), Changed::addresses),
                        Changed::new);
    }

    /**
     * The sender, which is new, has caught up, and decides with the others from here on.
     *
     * @param number of the list of members that it knows
     */
    record CaughtUp(long number) implements Control {
        static final Schema<CaughtUp> SCHEMA = Schema
                .message("caught-up", 13, CaughtUp.class,
                        "The sender, which is new, has caught up, and decides with the others from here on.")
                .of(Field.of("number", Types.NATURAL, CaughtUp::number), CaughtUp::new);
    }

    /**
     * Somebody asks for tables to be kept on some nodes only, or for that to be forgotten: see {@link Placements}.
     *
     * @param tables names of the tables, by the keys that write sets name them by
     * @param nodes that keep them; none to forget that they are placed
     */
    record Place(Map<Long, String> tables, Set<Integer> nodes) implements Control {
        static final int NAME_BYTES_MAX = 1 << 10;
        static final Type<Map<Long, String>> TABLES = Types.map(Types.LONG, Types.text(NAME_BYTES_MAX),
                Placements.TABLES_MAX);
        static final Type<Set<Integer>> NODES = Types.set(Types.u8(0, 255), 256);
        static final Schema<Place> SCHEMA = Schema
                .message("place", 25, Place.class,
                        "Somebody asks for tables to be kept on some nodes only: only if all members have the capability `placements`.")
                .of(Field.of("tables", TABLES, Place::tables), Field.of("nodes", NODES, Place::nodes), Place::new);

        /** Keeps copies, in order. */
        public Place {
            tables = new TreeMap<>(tables);
            nodes = new TreeSet<>(nodes);
        }
    }

    /** What has become in the databases of what the sender has {@linkplain Place asked for}. */
    record Placed(Map<Long, String> tables, Set<Integer> nodes, boolean tookEffect) implements Control {
        static final Schema<Placed> SCHEMA = Schema
                .message("placed", 26, Placed.class, "What has become in the databases of a placement of tables.")
                .of(Field.of("tables", Place.TABLES, Placed::tables), Field.of("nodes", Place.NODES, Placed::nodes),
                        Field.of("took effect", Types.BOOLEAN, Placed::tookEffect), Placed::new);

        /** Keeps copies, in order. */
        public Placed {
            tables = new TreeMap<>(tables);
            nodes = new TreeSet<>(nodes);
        }
    }

    /** How they are written in a cluster that runs one protocol. Immutable, for any thread. */
    final class Messages {
        private final Schema<Said> said;
        private final Schema<Traced> traced;
        private final MessageSet<Control> set;

        /** @param protocol its messages */
        Messages(MessageSet<Message> protocol) {
            said = Schema.message("said", 0, Said.class, "A message of the cluster's protocol.")
                    .of(Field.of("message", protocol, Said::message), this::said);
            traced = Schema
                    .message("traced", 30, Traced.class,
                            "A message of the cluster's protocol, about a transaction that is followed: only if all members have the capability `traces`.")
                    .of(Field.of("context", TraceContext.SCHEMA, Traced::context),
                            Field.of("message", protocol, Traced::message), this::traced);
            set = new MessageSet<>("ordered payloads", "In the total order, each the payload of one position.",
                    List.of(said, Hello.SCHEMA, Restart.SCHEMA, Question.SCHEMA, Ended.SCHEMA, Fence.SCHEMA,
                            Mark.SCHEMA, Inapplicable.SCHEMA, InapplicableToKeepers.SCHEMA, Applied.SCHEMA,
                            Decided.SCHEMA, Replaced.SCHEMA, Again.SCHEMA, Changed.SCHEMA, CaughtUp.SCHEMA, Look.SCHEMA,
                            Booked.SCHEMA, BookedFor.SCHEMA, BookingOver.SCHEMA, Place.SCHEMA, Placed.SCHEMA, traced));
        }

        /** A message of the protocol as one of these. */
        Said said(Message message) {
            return new Said(message, said);
        }

        private Traced traced(TraceContext context, Message message) {
            return new Traced(context, message, traced);
        }

        /**
         * A message of the protocol as one of these.
         *
         * @param context what goes with it; null for nothing
         */
        Control said(Message message, @Nullable TraceContext context) {
            return context == null ? said(message) : traced(context, message);
        }

        /** All of them. */
        MessageSet<Control> set() {
            return set;
        }

        /** Reads one that was ordered. */
        Control read(ByteBuffer payload) {
            return set.decode(payload);
        }
    }
}
