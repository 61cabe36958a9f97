package tutti.sim.world.order;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import tutti.sim.host.Host;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.Address;
import tutti.sim.net.Datagram;
import tutti.sim.net.Network;

/**
 * What a member of a {@link GroupOrder} sends to others outside of the order, by the contract of
 * {@link tutti.core.spi.Group#multicast}: from one sender to one receiver in turn, each letter once at most, and sent
 * again until its receipt comes as long as both live and the receiver is in the sender's view. One object is one life of a node.
 *
 * <p>
 * Letters to one receiver make up a channel, in which they are numbered. When the receiver leaves the sender's view, or
 * turns out to have begun a new life, what it has not received is lost, and a new channel begins with number 1; the receiver
 * goes by the newest channel of the newest life of the sender. A letter says for which life of the receiver it is, once the sender
 * knows; a receiver answers one that is not for its present life by a greeting, which says what that is.
 */
final class Letters {
    private static final int PORT = 2;
    private static final long AGAIN_NANOS = 15 * Nanos.MILLI;
    /** Letters sent again at a time to one receiver. */
    private static final int AGAIN_MAX = 64;
    private static final int HEADER_BYTES = 40;
    private static final int RECEIPT_BYTES = 32;
    private static final Label AGAIN = Label.of("letters", "again");
    private static final Label SELF = Label.of("letters", "to itself");
    private static final long UNKNOWN = 0;

    /** Which channel of which life of a sender. */
    private record Channel(long life, long number) {
        boolean isNewerThan(Channel other) {
            return life > other.life || (life == other.life && number > other.number);
        }
    }

    private record Letter(Channel channel, long toLife, long number, byte[] payload) {}

    private record Receipt(Channel channel, long number) {}

    private record Greeting(Channel channel, long life) {}

    /** Whom letters are for. */
    interface Receiver {
        /** A letter came. */
        void received(String from, byte[] payload);
    }

    /** To one receiver. */
    private static final class Outgoing {
        Channel channel;
        long receiverLife = UNKNOWN;
        long last;
        final TreeMap<Long, byte[]> unreceived = new TreeMap<>();

        Outgoing(long life) {
            channel = new Channel(life, 1);
        }

        /** What has not been received is lost. */
        void beginAnew(long life) {
            channel = new Channel(channel.life, channel.number + 1);
            receiverLife = life;
            last = 0;
            unreceived.clear();
        }
    }

    /** From one sender. */
    private static final class Incoming {
        Channel channel = new Channel(-1, 0);
        long next = 1;
        final Map<Long, byte[]> early = new HashMap<>();
    }

    private final Host host;
    private final long life;
    private final Network network;
    private final Receiver receiver;
    private final Address own;
    private final TreeMap<String, Outgoing> outgoing = new TreeMap<>();
    private final Map<String, Incoming> incoming = new HashMap<>();
    private Set<String> absent = Set.of();
    private boolean armed;

    /** For one life of a node on a host that is up. */
    Letters(Host host, long life, Network network, Receiver receiver) {
        this.host = host;
        this.life = life;
        this.network = network;
        this.receiver = receiver;
        this.own = Address.of(host.name(), PORT);
        network.bind(host, PORT, this::arrived);
    }

    /** Sends. To its own host, too, in a later event. */
    void send(String to, byte[] payload) {
        if (to.equals(host.name())) {
            host.after(0, SELF, () -> receiver.received(to, payload));
        } else if (!absent.contains(to)) {
            Outgoing out = outgoing.computeIfAbsent(to, _ -> new Outgoing(life));
            out.unreceived.put(++out.last, payload);
            post(to, out, out.last);
            arm();
        }
    }

    /** These hosts cannot be reached, for all that is known; all others can. */
    void absent(Set<String> hosts) {
        absent = Set.copyOf(hosts);
        outgoing.forEach((to, out) -> {
            if (absent.contains(to)) {
                out.beginAnew(UNKNOWN);
            }
        });
    }

    /** No more comes or goes. */
    void close() {
        network.unbind(host, PORT);
        outgoing.clear();
    }

    private void post(String to, Outgoing out, long number) {
        byte[] payload = out.unreceived.getOrDefault(number, new byte[0]);
        network.send(new Datagram(own, Address.of(to, PORT),
                new Letter(out.channel, out.receiverLife, number, payload), HEADER_BYTES + payload.length));
    }

    private void postAll(String to, Outgoing out) {
        out.unreceived.keySet().stream().limit(AGAIN_MAX).forEach(number -> post(to, out, number));
    }

    private void arm() {
        if (!armed) {
            armed = true;
            host.after(AGAIN_NANOS, AGAIN, () -> {
                armed = false;
                outgoing.forEach(this::postAll);
                if (outgoing.values().stream().anyMatch(out -> !out.unreceived.isEmpty())) {
                    arm();
                }
            });
        }
    }

    private void arrived(Datagram datagram) {
        String from = datagram.from().host();
        switch (datagram.payload()) {
            case Letter letter -> arrived(from, letter);
            case Receipt receipt -> {
                Outgoing out = outgoing.get(from);
                if (out != null && receipt.channel.equals(out.channel)) {
                    out.unreceived.remove(receipt.number);
                }
            }
            case Greeting greeting -> {
                Outgoing out = outgoing.get(from);
                if (out != null && greeting.channel.equals(out.channel) && greeting.life != out.receiverLife) {
                    if (out.receiverLife == UNKNOWN) {
                        out.receiverLife = greeting.life;
                        postAll(from, out);
                    } else {
                        out.beginAnew(greeting.life);
                    }
                }
            }
            default -> throw new IllegalArgumentException("no letter: " + datagram);
        }
    }

    private void arrived(String from, Letter letter) {
        if (letter.toLife != life) {
            answer(from, new Greeting(letter.channel, life));
            return;
        }
        Incoming in = incoming.computeIfAbsent(from, _ -> new Incoming());
        if (letter.channel.isNewerThan(in.channel)) {
            in.channel = letter.channel;
            in.next = 1;
            in.early.clear();
        } else if (!letter.channel.equals(in.channel)) {
            return;
        }
        answer(from, new Receipt(letter.channel, letter.number));
        if (letter.number >= in.next) {
            in.early.put(letter.number, letter.payload);
        }
        for (byte[] next = in.early.remove(in.next); next != null; next = in.early.remove(in.next)) {
            in.next++;
            receiver.received(from, next);
        }
    }

    private void answer(String to, Record answer) {
        network.send(new Datagram(own, Address.of(to, PORT), answer, RECEIPT_BYTES));
    }
}
