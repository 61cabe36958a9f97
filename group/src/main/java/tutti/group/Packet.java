package tutti.group;

import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * What one member of a group tells another over a network that may lose, delay, reorder and double it, but delivers it
 * whole or not at all. Members are named by their index in the sorted list of configured members.
 */
public sealed interface Packet extends Encoded {
    /** Bounds what a malformed packet can make a reader allocate. */
    int PAYLOAD_BYTES_MAX = 16 << 20;
    /** Of the things that a packet lists. */
    int COUNT_MAX = 1 << 20;

    /** What the reliable multicast carries. */
    sealed interface Body extends Encoded {
        /** All of them. */
        MessageSet<Body> SET = new MessageSet<>("stream bodies", "What the stream of a member carries.",
                List.of(Data.SCHEMA, Order.SCHEMA));
    }

    /**
     * Messages that a member submitted.
     *
     * @param firstNumber of the first in the sender's life; the others follow
     * @param payloads at least one
     */
    record Data(long firstNumber, List<byte[]> payloads) implements Body {
        public Data {
            if (payloads.isEmpty()) {
                throw new IllegalArgumentException("no messages from number " + firstNumber);
            }
        }

        static final Schema<Data> SCHEMA = Schema.message("data", 1, Data.class, "Messages that a member submitted.")
                .of(
                        Field.of("firstNumber", Types.POSITIVE, Data::firstNumber),
                        Field.of("payloads", Types.list(Types.bytes(PAYLOAD_BYTES_MAX), COUNT_MAX), Data::payloads),
                        Data::new);
    }

    /**
     * The sequencer's decision on what comes next.
     *
     * @param firstPosition of the first message of the first run
     * @param runs at least one
     */
    record Order(long firstPosition, List<Run> runs) implements Body {
        public Order {
            if (runs.isEmpty()) {
                throw new IllegalArgumentException("no runs from position " + firstPosition);
            }
        }

        static final Schema<Order> SCHEMA = Schema.message("order", 2, Order.class, "What comes next.").of(
                Field.of("firstPosition", Types.POSITIVE, Order::firstPosition),
                Field.of("runs", Types.list(Run.SCHEMA, COUNT_MAX), Order::runs), Order::new);
    }

    /**
     * The next messages of one member's stream.
     *
     * @param member whose
     * @param firstNumber of the first message, for the reader to check
     * @param dataMessages how many {@link Data}, at least one
     */
    record Run(int member, long firstNumber, int dataMessages) {
        static final Schema<Run> SCHEMA = Schema.part("run", Run.class).of(
                Field.of("member", Types.COUNT, Run::member),
                Field.of("firstNumber", Types.POSITIVE, Run::firstNumber),
                Field.of("dataMessages", Types.integer(1, Integer.MAX_VALUE), Run::dataMessages), Run::new);
        static final int BYTES = SCHEMA.size(new Run(0, 1, 1));
    }

    /**
     * A message of a member's stream in a view.
     *
     * @param view in which it is valid
     * @param sequence its number in the stream, from 1
     * @param logged up to which position the sender's log has reached stable storage, 0 if it does not yet say
     */
    record Stream(long view, long sequence, long logged, Body body) implements Packet {
        static final Schema<Stream> SCHEMA = Schema
                .message("stream", 3, Stream.class, "A message of a member's stream in a view.").of(
                        Field.of("view", Types.NATURAL, Stream::view),
                        Field.of("sequence", Types.NATURAL, Stream::sequence),
                        Field.of("logged", Types.NATURAL, Stream::logged),
                        Field.of("body", Body.SET, Stream::body), Stream::new);
    }

    /**
     * Asks for messages of the receiver's stream again.
     *
     * @param ranges pairs of a first and a last sequence number
     */
    record Missing(long view, List<Range> ranges) implements Packet {
        static final int RANGES_MAX = 32;

        static final Schema<Missing> SCHEMA = Schema
                .message("missing", 4, Missing.class, "Asks for messages of the receiver's stream again.").of(
                        Field.of("view", Types.NATURAL, Missing::view),
                        Field.of("ranges", Types.list(Range.SCHEMA, COUNT_MAX), Missing::ranges), Missing::new);
    }

    /** Sequence numbers from first to last, both included. */
    record Range(long first, long last) {
        static final Schema<Range> SCHEMA = Schema.part("range", Range.class).of(
                Field.of("first", Types.NATURAL, Range::first), Field.of("last", Types.NATURAL, Range::last),
                Range::new);
    }

    /**
     * How far the sender's stream and log have come.
     *
     * @param sent last sequence number of the sender's stream
     * @param logged as in {@link Stream}
     */
    record Progress(long view, long sent, long logged) implements Packet {
        static final Schema<Progress> SCHEMA = Schema
                .message("progress", 5, Progress.class, "How far the sender's stream and log have come.").of(
                        Field.of("view", Types.NATURAL, Progress::view),
                        Field.of("sent", Types.NATURAL, Progress::sent),
                        Field.of("logged", Types.NATURAL, Progress::logged), Progress::new);
    }

    /**
     * A {@link Progress} with the state of the stability detection; vectors by place in the view.
     *
     * @param round the sender's
     * @param stable S: up to these sequence numbers the streams are known to be received by all
     * @param voted W: a bit for each that has voted in the round
     * @param received M: up to these sequence numbers all that voted have received the streams
     */
    record Gossip(long view, long sent, long logged, long round, long[] stable, long voted,
            long[] received) implements Packet {
        public Gossip {
            int count = stable.length;
            if (received.length != count || count > Long.SIZE - 1 || voted < 0 || voted >>> count != 0) {
                throw new IllegalArgumentException(
                        "votes " + voted + " of " + count + " members, of which " + received.length + " were heard");
            }
            if (LongStream.concat(LongStream.of(stable), LongStream.of(received)).anyMatch(number -> number < 0)) {
                throw new IllegalArgumentException("a negative number in a packet");
            }
        }

        static final Schema<Gossip> SCHEMA = Schema
                .message("gossip", 6, Gossip.class, "The same, with the state of the stability detection.").of(
                        Field.of("view", Types.NATURAL, Gossip::view),
                        Field.of("sent", Types.NATURAL, Gossip::sent),
                        Field.of("logged", Types.NATURAL, Gossip::logged),
                        Field.of("round", Types.NATURAL, Gossip::round),
                        Field.of("stable", Types.longs(Long.SIZE - 1), Gossip::stable),
                        Field.of("voted", Types.NATURAL, Gossip::voted),
                        Field.of("received", Types.longs(Long.SIZE - 1), Gossip::received), Gossip::new);
    }

    /**
     * A sign of life.
     *
     * @param incarnation which life
     * @param promised the sender takes no part in views below this one
     * @param installed the view that it is in, 0 if in none
     * @param end last position of its log
     * @param committed last position that it knows to be stable at a majority
     * @param remembers whether its memory counts, see {@link MessageLog#remembers}
     */
    record Alive(long incarnation, long promised, long installed, long end, long committed,
            boolean remembers) implements Packet {
        static final Schema<Alive> SCHEMA = Schema.message("alive", 7, Alive.class, "A sign of life.").of(
                Field.of("incarnation", Types.NATURAL, Alive::incarnation),
                Field.of("promised", Types.NATURAL, Alive::promised),
                Field.of("installed", Types.NATURAL, Alive::installed),
                Field.of("end", Types.NATURAL, Alive::end),
                Field.of("committed", Types.NATURAL, Alive::committed),
                Field.of("remembers", Types.BOOLEAN, Alive::remembers), Alive::new);
    }

    /**
     * Asks to leave all lower views and to say what the log holds.
     *
     * @param lives by member, the latest life that the sender knows of, 0 if none
     */
    record Prepare(long view, long[] lives) implements Packet {
        static final Schema<Prepare> SCHEMA = Schema
                .message("prepare", 8, Prepare.class, "Asks to leave all lower views.").of(
                        Field.of("view", Types.NATURAL, Prepare::view),
                        Field.of("lives", Types.longs(1 << 16), Prepare::lives), Prepare::new);
    }

    /**
     * The sender has left all views below this one, which is on its stable storage, as is its log.
     *
     * @param incarnation which life of the sender
     * @param accepted the last view whose beginning its log holds
     * @param end last position of its log
     * @param endView in which view that was ordered, 0 if the sender does not know
     * @param remembers as in {@link Alive}
     * @param lives as in {@link Prepare}
     */
    record Flushed(long view, long incarnation, long accepted, long end, long endView, boolean remembers,
            long[] lives) implements Packet {
        static final Schema<Flushed> SCHEMA = Schema
                .message("flushed", 9, Flushed.class, "The sender has left all views below.").of(
                        Field.of("view", Types.NATURAL, Flushed::view),
                        Field.of("incarnation", Types.NATURAL, Flushed::incarnation),
                        Field.of("accepted", Types.NATURAL, Flushed::accepted),
                        Field.of("end", Types.NATURAL, Flushed::end),
                        Field.of("endView", Types.NATURAL, Flushed::endView),
                        Field.of("remembers", Types.BOOLEAN, Flushed::remembers),
                        Field.of("lives", Types.longs(1 << 16), Flushed::lives), Flushed::new);
    }

    /**
     * A new view.
     *
     * @param members who is in it, ascending
     * @param incarnations which life of each
     * @param start last position of the log with which it begins
     * @param startView in which view that was ordered
     * @param committed as in {@link Alive}
     */
    record Install(long view, int[] members, long[] incarnations, long start, long startView,
            long committed) implements Packet {
        public Install {
            for (int i = 0; i < members.length; i++) {
                if (members.length != incarnations.length || incarnations[i] < 0
                        || members[i] <= (i == 0 ? -1 : members[i - 1])) {
                    throw new IllegalArgumentException(
                            "members " + Arrays.toString(members) + " in lives " + Arrays.toString(incarnations));
                }
            }
        }

        static final Schema<Install> SCHEMA = Schema.message("install", 10, Install.class, "A new view.").of(
                Field.of("view", Types.NATURAL, Install::view),
                Field.of("members", Types.ints(1 << 16), Install::members),
                Field.of("incarnations", Types.longs(1 << 16), Install::incarnations),
                Field.of("start", Types.NATURAL, Install::start),
                Field.of("startView", Types.NATURAL, Install::startView),
                Field.of("committed", Types.NATURAL, Install::committed), Install::new);
    }

    /**
     * Asks for what follows a position in the receiver's log.
     *
     * @param view on whose behalf: the log that it begins with; 0 for what is known to be stable at a majority
     * @param after the position
     * @param afterView in which view the sender's log has it; {@link #ANY_VIEW} if it only knows that it was delivered
     */
    record Fetch(long view, long after, long afterView) implements Packet {
        static final Schema<Fetch> SCHEMA = Schema
                .message("fetch", 11, Fetch.class, "Asks for what follows a position in the receiver's log.").of(
                        Field.of("view", Types.NATURAL, Fetch::view),
                        Field.of("after", Types.NATURAL, Fetch::after),
                        Field.of("afterView", Types.NATURAL, Fetch::afterView), Fetch::new);
    }

    /** Answers {@link Fetch}: the logs are equal up to there; what follows may be nothing. */
    record Entries(long view, long after, long afterView, long committed, List<Ordered> messages) implements Packet {
        static final Schema<Entries> SCHEMA = Schema.message("entries", 12, Entries.class, "What follows there.").of(
                Field.of("view", Types.NATURAL, Entries::view),
                Field.of("after", Types.NATURAL, Entries::after),
                Field.of("afterView", Types.NATURAL, Entries::afterView),
                Field.of("committed", Types.NATURAL, Entries::committed),
                Field.of("messages", Types.list(Ordered.SCHEMA, COUNT_MAX), Entries::messages), Entries::new);
    }

    /** Answers {@link Fetch}: the logs are not equal at {@code after}; the sender's has this at {@code position}. */
    record Differs(long view, long after, long position, long positionView) implements Packet {
        static final Schema<Differs> SCHEMA = Schema
                .message("differs", 13, Differs.class, "The logs are not equal there.").of(
                        Field.of("view", Types.NATURAL, Differs::view),
                        Field.of("after", Types.NATURAL, Differs::after),
                        Field.of("position", Types.NATURAL, Differs::position),
                        Field.of("positionView", Types.NATURAL, Differs::positionView), Differs::new);
    }

    /** Answers {@link Fetch}: what follows {@code after} has been forgotten; the log begins at a later position. */
    record Forgotten(long view, long after, long firstRetained) implements Packet {
        static final Schema<Forgotten> SCHEMA = Schema
                .message("forgotten", 14, Forgotten.class, "What follows there has been forgotten.").of(
                        Field.of("view", Types.NATURAL, Forgotten::view),
                        Field.of("after", Types.NATURAL, Forgotten::after),
                        Field.of("firstRetained", Types.NATURAL, Forgotten::firstRetained), Forgotten::new);
    }

    /** In {@link Fetch}: what the receiver has there is right. */
    long ANY_VIEW = Long.MAX_VALUE;

    /** All of them. */
    MessageSet<Packet> SET = new MessageSet<>("group packets",
            "Between the members of a group.",
            List.of(Stream.SCHEMA, Missing.SCHEMA, Progress.SCHEMA, Gossip.SCHEMA, Alive.SCHEMA, Prepare.SCHEMA,
                    Flushed.SCHEMA, Install.SCHEMA, Fetch.SCHEMA, Entries.SCHEMA, Differs.SCHEMA, Forgotten.SCHEMA));
}
