package tutti.order.group;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import tutti.order.group.Frame.Channel;
import tutti.order.group.Frame.Completes;
import tutti.runtime.Loop;

/**
 * What a node of a group sends to others outside of the order, by the contract of {@link tutti.core.spi.Group#multicast}: from
 * one sender to one receiver in turn, each message once at most, and sent again until its receipt comes as long as both live and
 * the receiver is in the sender's view. Packets that are too long for a datagram go this way, too. One object is one life
 * of a node; of the group's loop.
 *
 * <p>
 * A message is cut into letters. Letters to one receiver make up a channel, in which they are numbered; {@link #WINDOW} of them
 * are under way at most. When the receiver leaves the sender's view, or turns out to have begun a new life, what it has
 * not received is lost, and a new channel begins with number 1; the receiver goes by the newest channel of the newest life of the
 * sender. A letter says for which life of the receiver it is, once the sender knows; a receiver answers one that is not for
 * its present life by a greeting, which says what that is.
 */
final class ReliableUnicast {
    private static final int WINDOW = 8;
    private static final long AGAIN_NANOS = 15_000_000;
    private static final long UNKNOWN = 0;

    /** Where letters go, and whom messages are for. */
    interface Post {
        /** Sends a datagram, which may be lost. */
        void send(int to, Frame frame);

        /** A message came. */
        void message(int from, ByteBuffer payload);

        /** A packet of the group communication came. */
        void packet(int from, ByteBuffer packet);
    }

    private record Waiting(Completes completes, ByteBuffer bytes) {}

    /** To one receiver. */
    private static final class Outgoing {
        Channel channel;
        long receiverLife = UNKNOWN;
        long last;
        long bytes;
        final TreeMap<Long, Waiting> unreceived = new TreeMap<>();
        /** Behind those. */
        final ArrayDeque<Waiting> later = new ArrayDeque<>();

        Outgoing(long life) {
            channel = new Channel(life, 1);
        }

        boolean isEmpty() {
            return unreceived.isEmpty() && later.isEmpty();
        }

        /** What has not been received is lost. */
        void beginAnew(long life) {
            channel = new Channel(channel.life(), channel.number() + 1);
            receiverLife = life;
            last = 0;
            bytes = 0;
            unreceived.clear();
            later.clear();
        }
    }

    /** From one sender. */
    private static final class Incoming {
        Channel channel = new Channel(-1, 0);
        long next = 1;
        final Map<Long, Waiting> early = new HashMap<>();
        /** What has come of a message that is not complete. */
        final ArrayDeque<ByteBuffer> parts = new ArrayDeque<>();
        long partBytes;
    }

    private final int self;
    private final long life;
    private final Loop loop;
    private final Post post;
    private final long messageBytesMax;
    private final TreeMap<Integer, Outgoing> outgoing = new TreeMap<>();
    private final Map<Integer, Incoming> incoming = new HashMap<>();
    private Set<Integer> absent = Set.of();
    private boolean armed;

    /** @param messageBytesMax longest message or packet; what is longer was not sent by a node of this group */
    ReliableUnicast(int self, long life, Loop loop, long messageBytesMax, Post post) {
        this.self = self;
        this.life = life;
        this.loop = loop;
        this.messageBytesMax = messageBytesMax;
        this.post = post;
    }

    /** Sends a message. To its own node, too, in a later turn. */
    void send(int to, byte[] payload) {
        if (to == self) {
            loop.execute(() -> post.message(to, ByteBuffer.wrap(payload).asReadOnlyBuffer()));
        } else {
            send(to, Completes.MESSAGE, ByteBuffer.wrap(payload));
        }
    }

    /** Sends a packet, or loses it if so much waits already: whoever needs it asks again. */
    void sendPacket(int to, ByteBuffer packet) {
        Outgoing out = outgoing.get(to);
        if (out == null || out.bytes < messageBytesMax) {
            send(to, Completes.PACKET, packet);
        }
    }

    private void send(int to, Completes last, ByteBuffer bytes) {
        if (absent.contains(to)) {
            return;
        }
        Outgoing out = outgoing.computeIfAbsent(to, _ -> new Outgoing(life));
        int at = bytes.position();
        do {
            int length = Math.min(Frame.LETTER_BYTES_MAX, bytes.limit() - at);
            out.later.add(new Waiting(at + length == bytes.limit() ? last : Completes.NOTHING,
                    bytes.slice(at, length)));
            at += length;
        } while (at < bytes.limit());
        out.bytes += bytes.remaining();
        fill(to, out);
        arm();
    }

    /** Lets as many go as may be under way. */
    private void fill(int to, Outgoing out) {
        while (!out.later.isEmpty()
                && (out.unreceived.isEmpty() || out.last + 1 - out.unreceived.firstKey() < WINDOW)) {
            Waiting next = out.later.remove();
            out.unreceived.put(++out.last, next);
            post(to, out, out.last, next);
        }
    }

    /** These nodes cannot be reached, for all that is known; all others can. */
    void absent(Set<Integer> nodes) {
        absent = Set.copyOf(nodes);
        outgoing.forEach((to, out) -> {
            if (absent.contains(to)) {
                out.beginAnew(UNKNOWN);
            }
        });
    }

    private void post(int to, Outgoing out, long number, Waiting letter) {
        post.send(to, new Frame.Letter(out.channel, out.receiverLife, number, letter.completes, letter.bytes));
    }

    private void postAll(int to, Outgoing out) {
        out.unreceived.forEach((number, letter) -> post(to, out, number, letter));
    }

    private void arm() {
        if (!armed) {
            armed = true;
            loop.schedule(AGAIN_NANOS, () -> {
                armed = false;
                outgoing.forEach(this::postAll);
                if (outgoing.values().stream().anyMatch(out -> !out.isEmpty())) {
                    arm();
                }
            });
        }
    }

    /** The receiver has a letter. */
    void received(int from, Frame.Receipt receipt) {
        Outgoing out = outgoing.get(from);
        if (out != null && receipt.channel().equals(out.channel)) {
            Waiting received = out.unreceived.remove(receipt.number());
            if (received != null) {
                out.bytes -= received.bytes.remaining();
                fill(from, out);
            }
        }
    }

    /** The receiver says which life it is in. */
    void received(int from, Frame.Greeting greeting) {
        Outgoing out = outgoing.get(from);
        if (out != null && greeting.channel().equals(out.channel) && greeting.life() != out.receiverLife) {
            if (out.receiverLife == UNKNOWN) {
                out.receiverLife = greeting.life();
                postAll(from, out);
            } else {
                out.beginAnew(greeting.life());
            }
        }
    }

    /**
     * A letter came.
     *
     * @return whether a node of this group could have sent it
     */
    boolean received(int from, Frame.Letter letter) {
        if (letter.toLife() != life) {
            post.send(from, new Frame.Greeting(letter.channel(), life));
            return true;
        }
        Incoming in = incoming.computeIfAbsent(from, _ -> new Incoming());
        if (letter.channel().isNewerThan(in.channel)) {
            in.channel = letter.channel();
            in.next = 1;
            in.early.clear();
            in.parts.clear();
            in.partBytes = 0;
        } else if (!letter.channel().equals(in.channel)) {
            return true;
        }
        if (letter.number() >= in.next + WINDOW
                || (letter.completes() == Completes.NOTHING && !letter.piece().hasRemaining())) {
            return false;
        }
        post.send(from, new Frame.Receipt(letter.channel(), letter.number()));
        if (letter.number() >= in.next) {
            ByteBuffer kept = ByteBuffer.allocate(letter.piece().remaining()).put(letter.piece().duplicate()).flip();
            in.early.put(letter.number(), new Waiting(letter.completes(), kept));
        }
        for (Waiting next = in.early.remove(in.next); next != null; next = in.early.remove(in.next)) {
            in.next++;
            in.parts.add(next.bytes);
            in.partBytes += next.bytes.remaining();
            if (in.partBytes > messageBytesMax) {
                in.parts.clear();
                in.partBytes = 0;
                return false;
            }
            switch (next.completes) {
                case NOTHING -> {
                }
                case MESSAGE -> post.message(from, whole(in));
                case PACKET -> post.packet(from, whole(in));
            }
        }
        return true;
    }

    private static ByteBuffer whole(Incoming in) {
        ByteBuffer whole;
        if (in.parts.size() == 1) {
            whole = in.parts.remove();
        } else {
            whole = ByteBuffer.allocate((int) in.partBytes);
            in.parts.forEach(whole::put);
            in.parts.clear();
            whole.flip();
        }
        in.partBytes = 0;
        return whole.asReadOnlyBuffer();
    }
}
