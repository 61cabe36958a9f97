package tutti.grid.genuine;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Type;
import tutti.core.schema.Types;
import tutti.core.txn.TransactionId;
import tutti.grid.multicast.MulticastMessages;

/** What nodes tell each other to order a message by {@link GroupMulticast}. */
public sealed interface GenuineMessage extends Encoded {
    /** All of them. */
    static List<Schema<? extends GenuineMessage>> schemas() {
        return List.of(Data.SCHEMA, Accept.SCHEMA, Ack.SCHEMA, Delivered.SCHEMA, Prepare.SCHEMA, Promise.SCHEMA,
                Install.SCHEMA, Installed.SCHEMA, Passed.SCHEMA, Progress.SCHEMA, Part.SCHEMA, Members.SCHEMA);
    }

    /** The message itself, to the leaders of the groups that it goes to. */
    record Data(TransactionId id, int[] groups, byte[] payload) implements GenuineMessage {
        static final Schema<Data> SCHEMA = Schema.message("group data", 60, Data.class,
                "A message that is to be delivered by all members of some groups, in total order.").of(
                        Field.of("id", TransactionId.SCHEMA, Data::id),
                        Field.of("groups", Groups.NUMBERS, Data::groups),
                        Field.of("payload", Types.bytes(MulticastMessages.PAYLOAD_BYTES_MAX), Data::payload),
                        Data::new);
    }

    /**
     * The stamp that the leader of a group proposes.
     *
     * @param last the final stamp, if the leader knows it; otherwise 0
     * @param payload of the message for members of this group that lack it; empty for others
     */
    record Accept(TransactionId id, int[] groups, int group, long ballot, long stamp, long last, byte[] payload)
            implements
                GenuineMessage {
        static final Schema<Accept> SCHEMA = Schema.message("group accept", 61, Accept.class,
                "The stamp that the leader of a group proposes for a message, to all members of all of its groups.").of(
                        Field.of("id", TransactionId.SCHEMA, Accept::id),
                        Field.of("groups", Groups.NUMBERS, Accept::groups),
                        Field.of("group", Types.u8(0, Groups.GROUPS_MAX - 1), Accept::group),
                        Field.of("ballot", Types.NATURAL, Accept::ballot),
                        Field.of("stamp", Types.POSITIVE, Accept::stamp),
                        Field.of("last", Types.NATURAL, Accept::last),
                        Field.of("payload", Types.bytes(MulticastMessages.PAYLOAD_BYTES_MAX), Accept::payload),
                        Accept::new);
    }

    /**
     * The sender has accepted what all leaders have proposed.
     *
     * @param ballots of the proposals, by group as the message names them
     * @param stamp the largest proposal
     */
    record Ack(TransactionId id, long[] ballots, long stamp) implements GenuineMessage {
        static final Schema<Ack> SCHEMA = Schema
                .message("group ack", 62, Ack.class, "The sender has accepted the proposals of these ballots.").of(
                        Field.of("id", TransactionId.SCHEMA, Ack::id),
                        Field.of("ballots", Types.longs(Groups.GROUPS_MAX), Ack::ballots),
                        Field.of("stamp", Types.POSITIVE, Ack::stamp), Ack::new);
    }

    /** The sender has delivered a message. From a leader to who has sent the message: it need not be sent again. To a destination that waits for it: so may that, if one of the two leads its group. */
    record Delivered(TransactionId id, long stamp) implements GenuineMessage {
        static final Schema<Delivered> SCHEMA = Schema
                .message("group delivered", 63, Delivered.class,
                        "To the sender of a message, or a destination that waits for it: it is ordered for good.")
                .of(
                        Field.of("id", TransactionId.SCHEMA, Delivered::id),
                        Field.of("stamp", Types.POSITIVE, Delivered::stamp), Delivered::new);
    }

    /** Who wants to lead its group asks for what the members know. */
    record Prepare(long ballot) implements GenuineMessage {
        static final Schema<Prepare> SCHEMA = Schema
                .message("group prepare", 64, Prepare.class, "The sender wants to lead its group in a ballot.").of(
                        Field.of("ballot", Types.POSITIVE, Prepare::ballot), Prepare::new);
    }

    /**
     * The answer, after which its sender takes no part in lower ballots.
     *
     * @param since which life of its node the sender is; see {@link Configuration.Member}
     * @param joined the highest ballot whose state the sender has installed
     * @param configuration who takes part in that ballot
     * @param clock of the sender
     */
    record Promise(long ballot, long since, long joined, Configuration configuration, long clock,
            List<Entry> entries) implements GenuineMessage {
        static final Schema<Promise> SCHEMA = Schema
                .message("group promise", 65, Promise.class, "What a member knows; it takes part in no lower ballot.")
                .of(
                        Field.of("ballot", Types.POSITIVE, Promise::ballot),
                        Field.of("since", Types.NATURAL, Promise::since),
                        Field.of("joined", Types.NATURAL, Promise::joined),
                        Field.of("configuration", Configuration.SCHEMA, Promise::configuration),
                        Field.of("clock", Types.NATURAL, Promise::clock),
                        Field.of("entries", Entry.LIST, Promise::entries), Promise::new);

        /** With what to go on: what is final, and what was accepted by those who had joined the highest ballot. */
        static Collection<Entry> chosen(Collection<Promise> of) {
            long highest = of.stream().mapToLong(Promise::joined).max().orElseThrow();
            Map<TransactionId, Entry> chosen = new LinkedHashMap<>();
            for (Promise promise : of) {
                for (Entry entry : promise.entries()) {
                    if (entry.stamp() > 0) {
                        chosen.put(entry.id(), entry);
                    } else if (promise.joined() == highest) {
                        chosen.putIfAbsent(entry.id(), entry);
                    }
                }
            }
            return chosen.values();
        }
    }

    /** A part of what the sender's next promise or install of this ballot says, before it: together they may be too much for one message. */
    record Part(long ballot, List<Entry> entries) implements GenuineMessage {
        static final Schema<Part> SCHEMA = Schema.message("group part", 71, Part.class,
                "Entries that belong to the sender's next promise or install of this ballot.").of(
                        Field.of("ballot", Types.POSITIVE, Part::ballot),
                        Field.of("entries", Entry.LIST, Part::entries), Part::new);

        public Part {
            entries = List.copyOf(entries);
        }
    }

    /**
     * With what a group goes on in a ballot.
     *
     * @param configuration who takes part in it
     * @param above all that its leader has delivered with a stamp above this is among the entries
     */
    record Install(long ballot, long clock, Configuration configuration, long above,
            List<Entry> entries) implements GenuineMessage {
        static final Schema<Install> SCHEMA = Schema
                .message("group install", 66, Install.class, "With what a group goes on in a ballot, from its leader.")
                .of(
                        Field.of("ballot", Types.POSITIVE, Install::ballot),
                        Field.of("clock", Types.NATURAL, Install::clock),
                        Field.of("configuration", Configuration.SCHEMA, Install::configuration),
                        Field.of("above", Types.NATURAL, Install::above),
                        Field.of("entries", Entry.LIST, Install::entries), Install::new);
    }

    /**
     * The sender has installed the state of a ballot.
     *
     * @param asks whether it waits to hear the same of the receiver, which may have said so to a life before
     */
    record Installed(long ballot, boolean asks) implements GenuineMessage {
        static final Schema<Installed> SCHEMA = Schema
                .message("group installed", 67, Installed.class, "The sender goes on in this ballot.").of(
                        Field.of("ballot", Types.NATURAL, Installed::ballot),
                        Field.of("asks", Types.BOOLEAN, Installed::asks), Installed::new);
    }

    /** The sender takes part in no lower ballot than this one, so what it was asked in a lower one is in vain. */
    record Passed(long ballot) implements GenuineMessage {
        static final Schema<Passed> SCHEMA = Schema
                .message("group passed", 68, Passed.class, "The sender takes part in no lower ballot.").of(
                        Field.of("ballot", Types.POSITIVE, Passed::ballot), Passed::new);
    }

    /** Who takes part in a ballot of a group, in which more than half of them go on. A leader says so to each node before it proposes anything to it in that ballot. */
    record Members(int group, long ballot, Configuration configuration) implements GenuineMessage {
        static final Schema<Members> SCHEMA = Schema
                .message("group members", 77, Members.class, "Who takes part in a ballot of a group.").of(
                        Field.of("group", Types.u8(0, Groups.GROUPS_MAX - 1), Members::group),
                        Field.of("ballot", Types.NATURAL, Members::ballot),
                        Field.of("configuration", Configuration.SCHEMA, Members::configuration), Members::new);
    }

    /**
     * How far the sender is.
     *
     * @param stamp up to which it needs nothing any more to be kept for it of what it has delivered; 0 if nothing
     * @param unfinished the lowest serial of its own messages that it may send again, or of the next one
     * @param asks whether it keeps something until it hears the same of the receiver, which may not know that
     */
    record Progress(long stamp, long unfinished, boolean asks) implements GenuineMessage {
        static final Schema<Progress> SCHEMA = Schema
                .message("group progress", 69, Progress.class, "What the sender is through with, and may send again.")
                .of(
                        Field.of("stamp", Types.NATURAL, Progress::stamp),
                        Field.of("unfinished", Types.LONG, Progress::unfinished),
                        Field.of("asks", Types.BOOLEAN, Progress::asks), Progress::new);
    }

    /**
     * What a member knows of a message.
     *
     * @param proposal the stamp that its group has proposed
     * @param stamp the final one, or 0 if it is not known
     */
    record Entry(TransactionId id, int[] groups, byte[] payload, long proposal, long stamp) {
        static final Schema<Entry> SCHEMA = Schema.part("entry", Entry.class).of(
                Field.of("id", TransactionId.SCHEMA, Entry::id),
                Field.of("groups", Groups.NUMBERS, Entry::groups),
                Field.of("payload", Types.bytes(MulticastMessages.PAYLOAD_BYTES_MAX), Entry::payload),
                Field.of("proposal", Types.POSITIVE, Entry::proposal),
                Field.of("stamp", Types.NATURAL, Entry::stamp), Entry::new);
        /** How they are written. */
        public static final Type<List<Entry>> LIST = Types.list(SCHEMA, 1 << 20);
        /** What it takes besides groups and payload, at least. */
        private static final int FIXED_BYTES = 64;

        /** How many bytes it takes in a message, about. */
        long size() {
            return FIXED_BYTES + (long) Integer.BYTES * groups.length + payload.length;
        }
    }
}
