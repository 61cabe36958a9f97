package tutti.jgroups;

import java.util.ArrayList;
import java.util.List;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.grid.multicast.MulticastMessages;

/**
 * What members tell each other about a view of JGroups: members are meant by their places in it, 0 for its coordinator. Kinds below 100 are
 * the multicast's.
 */
sealed interface ViewMessages extends Encoded {
    /** Most members of a view. */
    int MEMBERS_MAX = 256;

    /** All that travels. */
    static MessageSet<Encoded> set() {
        return Holder.SET;
    }

    /** Made when it is first used, after the messages. */
    final class Holder {
        private static final MessageSet<Encoded> SET;

        static {
            List<Schema<? extends Encoded>> all = new ArrayList<>(MulticastMessages.schemas());
            all.addAll(List.of(Report.SCHEMA, Numbers.SCHEMA, Refused.SCHEMA, Again.SCHEMA, Settled.SCHEMA,
                    Missed.SCHEMA));
            SET = new MessageSet<>("jgroups", "Behind the header of TOM2 and TOM3.", all);
        }

        private Holder() {}
    }

    /**
     * An earlier view, as seen from the one that a message is about.
     *
     * @param view its number
     * @param size how many members it had
     * @param coordinated whether its first member is in the view that the message is about
     * @param places which members of the view that the message is about it had
     */
    record Earlier(long view, int size, boolean coordinated, int[] places) {
        static final Schema<Earlier> SCHEMA = Schema.part("earlier view", Earlier.class).of(
                Field.of("view", Types.NATURAL, Earlier::view),
                Field.of("size", Types.integer(0, MEMBERS_MAX), Earlier::size),
                Field.of("coordinated", Types.BOOLEAN, Earlier::coordinated),
                Field.of("places", Types.ints(MEMBERS_MAX), Earlier::places), Earlier::new);
    }

    /**
     * To the coordinator of a view: what the sender knows of those before it. From then on it counts the view as one that may be in use.
     *
     * @param own the sender's number; -1 if it has none
     * @param given how many numbers had been given when that was used
     * @param clean whether the sender keeps no message that others take part in than the members of {@code used}
     * @param used the last view that messages are ordered in here; of size 0 if there was none
     * @param numbers the numbers of its members: first of those at its places, then of those who are gone
     * @param tried views after it that may be in use elsewhere
     */
    record Report(int own, int given, boolean clean, Earlier used, int[] numbers,
            List<Earlier> tried) implements ViewMessages {
        static final Schema<Report> SCHEMA = Schema.message("report", 101, Report.class,
                "To the coordinator of a view: what its sender knows of earlier ones.").of(
                        Field.of("own", Types.integer(-1, MEMBERS_MAX - 1), Report::own),
                        Field.of("given", Types.COUNT, Report::given),
                        Field.of("clean", Types.BOOLEAN, Report::clean),
                        Field.of("used", Earlier.SCHEMA, Report::used),
                        Field.of("numbers", Types.ints(MEMBERS_MAX), Report::numbers),
                        Field.of("tried", Types.list(Earlier.SCHEMA, 1 << 16), Report::tried), Report::new);
    }

    /**
     * From the coordinator, which has the reports of all: the view is used from now on.
     *
     * @param given how many numbers have been given
     * @param numbers of each place
     */
    record Numbers(int given, int[] numbers) implements ViewMessages {
        static final Schema<Numbers> SCHEMA = Schema.message("numbers", 102, Numbers.class,
                "From the coordinator of a view: it is used from now on, with these numbers of its members.").of(
                        Field.of("given", Types.COUNT, Numbers::given),
                        Field.of("numbers", Types.ints(MEMBERS_MAX), Numbers::numbers), Numbers::new);
    }

    /** From the coordinator: the view will never be used. */
    record Refused(String why) implements ViewMessages {
        static final Schema<Refused> SCHEMA = Schema
                .message("refused", 103, Refused.class, "From the coordinator of a view: it will not be used.").of(
                        Field.of("why", Types.text(1 << 12), Refused::why), Refused::new);
    }

    /** From the coordinator: asks for another report. */
    record Again() implements ViewMessages {
        static final Schema<Again> SCHEMA = Schema
                .message("again", 105, Again.class, "From the coordinator of a view: asks for another report.")
                .of(Again::new);
    }

    /** To the coordinator: the sender has let go of messages of the view before it heard that it is used, and needs another one. */
    record Missed() implements ViewMessages {
        static final Schema<Missed> SCHEMA = Schema
                .message("missed", 106, Missed.class,
                        "To the coordinator of a view: the sender lacks messages of it, and needs another view.")
                .of(Missed::new);
    }

    /** What the sender delivers from now on has a larger stamp. */
    record Settled(long stamp) implements ViewMessages {
        static final Schema<Settled> SCHEMA = Schema
                .message("settled", 104, Settled.class, "What its sender delivers from now on has a larger stamp.").of(
                        Field.of("stamp", Types.NATURAL, Settled::stamp), Settled::new);
    }
}
