package tutti.group;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What one member of a group tells another over a network that may lose, delay, reorder and double it, but delivers it
 * whole or not at all. Members are named by their index in the sorted list of configured members. Big endian: a type,
 * then the fields in the order of the code below.
 */
public sealed interface Packet {
    /** Exact number of bytes that {@link #encode} writes. */
    int encodedSize();

    /** Appends this packet at the buffer's position; {@link #decode} reads it back. */
    void encode(ByteBuffer to);

    /** Bounds what a malformed packet can make a reader allocate. */
    int PAYLOAD_BYTES_MAX = 16 << 20;

    /** What the reliable multicast carries. */
    sealed interface Body {
        int encodedSize();

        void encode(ByteBuffer to);
    }

    /**
     * Messages that a member submitted.
     *
     * @param firstNumber of the first in the sender's life; the others follow
     * @param payloads at least one
     */
    record Data(long firstNumber, List<byte[]> payloads) implements Body {
        static final int HEADER_BYTES = 1 + 8 + 4;

        @Override
        public int encodedSize() {
            int bytes = HEADER_BYTES;
            for (byte[] payload : payloads) {
                bytes += 4 + payload.length;
            }
            return bytes;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put(DATA).putLong(firstNumber).putInt(payloads.size());
            payloads.forEach(p -> to.putInt(p.length).put(p));
        }
    }

    /**
     * The sequencer's decision on what comes next.
     *
     * @param firstPosition of the first message of the first run
     * @param runs at least one
     */
    record Order(long firstPosition, List<Run> runs) implements Body {
        static final int HEADER_BYTES = 1 + 8 + 4;

        @Override
        public int encodedSize() {
            return HEADER_BYTES + runs.size() * Run.BYTES;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put(ORDER).putLong(firstPosition).putInt(runs.size());
            runs.forEach(r -> to.putInt(r.member).putLong(r.firstNumber).putInt(r.dataMessages));
        }
    }

    /**
     * The next messages of one member's stream.
     *
     * @param member whose
     * @param firstNumber of the first message, for the reader to check
     * @param dataMessages how many {@link Data}, at least one
     */
    record Run(int member, long firstNumber, int dataMessages) {
        static final int BYTES = 16;
    }

    /**
     * A message of a member's stream in a view.
     *
     * @param view in which it is valid
     * @param sequence its number in the stream, from 1
     * @param logged up to which position the sender's log has reached stable storage, 0 if it does not yet say
     */
    record Stream(long view, long sequence, long logged, Body body) implements Packet {
        static final int HEADER_BYTES = 1 + 3 * 8;

        @Override
        public int encodedSize() {
            return HEADER_BYTES + body.encodedSize();
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put(STREAM).putLong(view).putLong(sequence).putLong(logged);
            body.encode(to);
        }
    }

    /**
     * Asks for messages of the receiver's stream again.
     *
     * @param ranges pairs of a first and a last sequence number
     */
    record Missing(long view, List<Range> ranges) implements Packet {
        static final int RANGES_MAX = 32;

        @Override
        public int encodedSize() {
            return 1 + 8 + 4 + 16 * ranges.size();
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put(MISSING).putLong(view).putInt(ranges.size());
            ranges.forEach(r -> to.putLong(r.first).putLong(r.last));
        }
    }

    /** Sequence numbers from first to last, both included. */
    record Range(long first, long last) {}

    /**
     * How far the sender's stream and log have come.
     *
     * @param sent last sequence number of the sender's stream
     * @param logged as in {@link Stream}
     */
    record Progress(long view, long sent, long logged) implements Packet {
        @Override
        public int encodedSize() {
            return 1 + 3 * 8;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put(PROGRESS).putLong(view).putLong(sent).putLong(logged);
        }
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
        @Override
        public int encodedSize() {
            return 1 + 5 * 8 + 4 + 16 * stable.length;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put(GOSSIP).putLong(view).putLong(sent).putLong(logged).putLong(round).putLong(voted)
                    .putInt(stable.length);
            for (int i = 0; i < stable.length; i++) {
                to.putLong(stable[i]).putLong(received[i]);
            }
        }
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
        @Override
        public int encodedSize() {
            return 1 + 5 * 8 + 1;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put(ALIVE).putLong(incarnation).putLong(promised).putLong(installed).putLong(end).putLong(committed)
                    .put(flag(remembers));
        }
    }

    /**
     * Asks to leave all lower views and to say what the log holds.
     *
     * @param lives by member, the latest life that the sender knows of, 0 if none
     */
    record Prepare(long view, long[] lives) implements Packet {
        @Override
        public int encodedSize() {
            return 1 + 8 + 4 + 8 * lives.length;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put(PREPARE).putLong(view);
            putLives(to, lives);
        }
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
        @Override
        public int encodedSize() {
            return 1 + 5 * 8 + 1 + 4 + 8 * lives.length;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put(FLUSHED).putLong(view).putLong(incarnation).putLong(accepted).putLong(end).putLong(endView)
                    .put(flag(remembers));
            putLives(to, lives);
        }
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
        @Override
        public int encodedSize() {
            return 1 + 4 * 8 + 4 + 12 * members.length;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put(INSTALL).putLong(view).putLong(start).putLong(startView).putLong(committed).putInt(members.length);
            for (int i = 0; i < members.length; i++) {
                to.putInt(members[i]).putLong(incarnations[i]);
            }
        }
    }

    /**
     * Asks for what follows a position in the receiver's log.
     *
     * @param view on whose behalf: the log that it begins with; 0 for what is known to be stable at a majority
     * @param after the position
     * @param afterView in which view the sender's log has it; {@link #ANY_VIEW} if it only knows that it was delivered
     */
    record Fetch(long view, long after, long afterView) implements Packet {
        @Override
        public int encodedSize() {
            return 1 + 3 * 8;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put(FETCH).putLong(view).putLong(after).putLong(afterView);
        }
    }

    /** Answers {@link Fetch}: the logs are equal up to there; what follows may be nothing. */
    record Entries(long view, long after, long afterView, long committed, List<Ordered> messages) implements Packet {
        @Override
        public int encodedSize() {
            int bytes = 1 + 4 * 8 + 4;
            for (Ordered message : messages) {
                bytes += message.encodedSize();
            }
            return bytes;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put(ENTRIES).putLong(view).putLong(after).putLong(afterView).putLong(committed).putInt(messages.size());
            messages.forEach(m -> m.encode(to));
        }
    }

    /** Answers {@link Fetch}: the logs are not equal at {@code after}; the sender's has this at {@code position}. */
    record Differs(long view, long after, long position, long positionView) implements Packet {
        @Override
        public int encodedSize() {
            return 1 + 4 * 8;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put(DIFFERS).putLong(view).putLong(after).putLong(position).putLong(positionView);
        }
    }

    /** Answers {@link Fetch}: what follows {@code after} has been forgotten; the log begins at a later position. */
    record Forgotten(long view, long after, long firstRetained) implements Packet {
        @Override
        public int encodedSize() {
            return 1 + 3 * 8;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put(FORGOTTEN).putLong(view).putLong(after).putLong(firstRetained);
        }
    }

    /** In {@link Fetch}: what the receiver has there is right. */
    long ANY_VIEW = Long.MAX_VALUE;

    byte DATA = 1;
    byte ORDER = 2;
    byte STREAM = 3;
    byte MISSING = 4;
    byte PROGRESS = 5;
    byte GOSSIP = 6;
    byte ALIVE = 7;
    byte PREPARE = 8;
    byte FLUSHED = 9;
    byte INSTALL = 10;
    byte FETCH = 11;
    byte ENTRIES = 12;
    byte DIFFERS = 13;
    byte FORGOTTEN = 14;

    /**
     * Reads a packet that takes all of the buffer.
     *
     * @throws IllegalArgumentException if it is malformed
     */
    static Packet decode(ByteBuffer from) {
        Packet read;
        try {
            read = read(from);
        } catch (BufferUnderflowException e) {
            throw new IllegalArgumentException("a packet that ends too early", e);
        }
        if (from.hasRemaining()) {
            throw new IllegalArgumentException(from.remaining() + " bytes after the end of a packet");
        }
        return read;
    }

    private static Packet read(ByteBuffer in) {
        byte type = in.get();
        return switch (type) {
            case STREAM -> new Stream(natural(in), natural(in), natural(in), body(in));
            case MISSING -> {
                long view = natural(in);
                int count = count(in, 16);
                List<Range> ranges = new ArrayList<>(count);
                for (int i = 0; i < count; i++) {
                    ranges.add(new Range(natural(in), natural(in)));
                }
                yield new Missing(view, ranges);
            }
            case PROGRESS -> new Progress(natural(in), natural(in), natural(in));
            case GOSSIP -> gossip(in);
            case ALIVE -> new Alive(natural(in), natural(in), natural(in), natural(in), natural(in), flag(in));
            case PREPARE -> new Prepare(natural(in), lives(in));
            case FLUSHED -> new Flushed(natural(in), natural(in), natural(in), natural(in), natural(in), flag(in),
                    lives(in));
            case INSTALL -> install(in);
            case FETCH -> new Fetch(natural(in), natural(in), natural(in));
            case ENTRIES -> {
                long view = natural(in);
                long after = natural(in);
                long afterView = natural(in);
                long committed = natural(in);
                int count = count(in, 40);
                List<Ordered> messages = new ArrayList<>(count);
                for (int i = 0; i < count; i++) {
                    messages.add(Ordered.decode(in));
                }
                yield new Entries(view, after, afterView, committed, messages);
            }
            case DIFFERS -> new Differs(natural(in), natural(in), natural(in), natural(in));
            case FORGOTTEN -> new Forgotten(natural(in), natural(in), natural(in));
            default -> throw new IllegalArgumentException("unknown packet type " + type);
        };
    }

    private static Body body(ByteBuffer in) {
        byte type = in.get();
        switch (type) {
            case DATA -> {
                long firstNumber = natural(in);
                int count = count(in, 4);
                List<byte[]> payloads = new ArrayList<>(count);
                for (int i = 0; i < count; i++) {
                    payloads.add(bytes(in));
                }
                if (firstNumber < 1 || payloads.isEmpty()) {
                    throw new IllegalArgumentException(count + " messages from number " + firstNumber);
                }
                return new Data(firstNumber, payloads);
            }
            case ORDER -> {
                long firstPosition = natural(in);
                int count = count(in, Run.BYTES);
                List<Run> runs = new ArrayList<>(count);
                for (int i = 0; i < count; i++) {
                    Run run = new Run(in.getInt(), natural(in), in.getInt());
                    if (run.member < 0 || run.firstNumber < 1 || run.dataMessages < 1) {
                        throw new IllegalArgumentException(run.toString());
                    }
                    runs.add(run);
                }
                if (firstPosition < 1 || runs.isEmpty()) {
                    throw new IllegalArgumentException(count + " runs from position " + firstPosition);
                }
                return new Order(firstPosition, runs);
            }
            default -> throw new IllegalArgumentException("unknown stream message type " + type);
        }
    }

    private static Gossip gossip(ByteBuffer in) {
        long view = natural(in);
        long sent = natural(in);
        long logged = natural(in);
        long round = natural(in);
        long voted = in.getLong();
        int count = count(in, 16);
        long[] stable = new long[count];
        long[] received = new long[count];
        for (int i = 0; i < count; i++) {
            stable[i] = natural(in);
            received[i] = natural(in);
        }
        if (count > Long.SIZE - 1 || voted < 0 || voted >>> count != 0) {
            throw new IllegalArgumentException("votes " + voted + " of " + count + " members");
        }
        return new Gossip(view, sent, logged, round, stable, voted, received);
    }

    private static Install install(ByteBuffer in) {
        long view = natural(in);
        long start = natural(in);
        long startView = natural(in);
        long committed = natural(in);
        int count = count(in, 12);
        int[] members = new int[count];
        long[] incarnations = new long[count];
        for (int i = 0; i < count; i++) {
            members[i] = in.getInt();
            incarnations[i] = natural(in);
            if (members[i] <= (i == 0 ? -1 : members[i - 1])) {
                throw new IllegalArgumentException("members " + Arrays.toString(members));
            }
        }
        return new Install(view, members, incarnations, start, startView, committed);
    }

    private static byte flag(boolean set) {
        return (byte) (set ? 1 : 0);
    }

    private static boolean flag(ByteBuffer in) {
        byte read = in.get();
        if (read != 0 && read != 1) {
            throw new IllegalArgumentException("neither yes nor no in a packet: " + read);
        }
        return read == 1;
    }

    private static void putLives(ByteBuffer to, long[] lives) {
        to.putInt(lives.length);
        for (long life : lives) {
            to.putLong(life);
        }
    }

    private static long[] lives(ByteBuffer in) {
        long[] lives = new long[count(in, 8)];
        for (int i = 0; i < lives.length; i++) {
            lives[i] = natural(in);
        }
        return lives;
    }

    private static long natural(ByteBuffer in) {
        long read = in.getLong();
        if (read < 0) {
            throw new IllegalArgumentException("a negative number in a packet: " + read);
        }
        return read;
    }

    /** Reads a count of things of which each takes at least this many of the bytes that remain. */
    private static int count(ByteBuffer in, int bytesEach) {
        int count = in.getInt();
        if (count < 0 || count > in.remaining() / bytesEach) {
            throw new IllegalArgumentException(
                    "a packet says that " + count + " things follow in " + in.remaining() + " bytes");
        }
        return count;
    }

    /** Reads a length and as many bytes. */
    static byte[] bytes(ByteBuffer in) {
        int length = in.getInt();
        if (length < 0 || length > PAYLOAD_BYTES_MAX || length > in.remaining()) {
            throw new IllegalArgumentException(
                    "a packet says that " + length + " bytes follow in " + in.remaining() + " bytes");
        }
        byte[] bytes = new byte[length];
        in.get(bytes);
        return bytes;
    }
}
