package tutti.model;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Message;
import tutti.sim.host.Host;
import tutti.sim.kernel.Clock;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.Address;
import tutti.sim.net.Datagram;

/**
 * What one site sends to others outside of the order, on a network that loses packets: from one sender to one receiver in turn,
 * each message once, and sent again until its receipt comes or the receiver is known to have crashed.
 *
 * <p>
 * How long a sender waits for a receipt is estimated as TCP does (RFC 6298): a smoothed round trip and four times its
 * deviation, but at least the round trip and {@code patience}; one second before the first receipt; doubled when the
 * same message is sent again, and once more after that. A message that was sent twice says nothing about round trips. A receipt is for
 * one message, and for all up to the one that the receiver lacks.
 *
 * <p>
 * A site that has crashed does not come back here, so numbers need no lives ({@code tutti.sim.world.order.Letters} does).
 */
final class Streams {
    /** Where packets come. */
    static final int PORT = 2;
    private static final int HEADER_BYTES = 30;
    private static final int RECEIPT_BYTES = 20;
    private static final long FIRST_WAIT_NANOS = Nanos.SECOND;
    private static final int DOUBLINGS_MAX = 2;
    private static final Label AGAIN = Label.of("stream", "send again");
    private static final Label SELF = Label.of("stream", "to itself");

    private record Letter(long number, Message message) {}

    /** @param lacking the first that the receiver has not got */
    private record Receipt(long number, long lacking) {}

    /** Who sends packets, and hands on messages. */
    interface Site {
        /** Sends a packet to a site, at its cost. */
        void post(int to, Datagram datagram);

        /** A message came. */
        void received(int from, Message message);
    }

    private final class Unreceived {
        final Message message;
        final long sentAt;
        int sent;
        Clock.@Nullable Timer timer;

        Unreceived(Message message) {
            this.message = message;
            this.sentAt = host.now();
        }
    }

    /** To one receiver. */
    private static final class Outgoing {
        long last;
        final TreeMap<Long, Unreceived> unreceived = new TreeMap<>();
        double roundTrip = -1;
        double deviation;
    }

    /** From one sender. */
    private static final class Incoming {
        long next = 1;
        final Map<Long, Message> early = new HashMap<>();
    }

    private final Host host;
    private final Site site;
    private final long patienceNanos;
    private final Address own;
    private final Map<Integer, Outgoing> outgoing = new HashMap<>();
    private final Map<Integer, Incoming> incoming = new HashMap<>();

    /** Of a running site, which has what comes for {@link #PORT} given to {@link #arrived}. */
    Streams(Host host, Site site, long patienceNanos) {
        this.host = host;
        this.site = site;
        this.patienceNanos = patienceNanos;
        this.own = Address.of(host.name(), PORT);
    }

    /** Sends to another site. */
    void send(int to, String name, Message message) {
        Outgoing out = outgoing.computeIfAbsent(to, _ -> new Outgoing());
        long number = ++out.last;
        out.unreceived.put(number, new Unreceived(message));
        post(out, to, name, number);
    }

    /** Sends to this site itself. */
    void sendHome(int self, Message message) {
        host.after(0, SELF, () -> site.received(self, message));
    }

    private void post(Outgoing out, int to, String name, long number) {
        Unreceived one = out.unreceived.get(number);
        if (one == null) {
            return;
        }
        site.post(to, new Datagram(own, Address.of(name, PORT), new Letter(number, one.message),
                HEADER_BYTES + one.message.encodedSize()));
        long patience = out.roundTrip < 0
                ? FIRST_WAIT_NANOS
                : (long) (out.roundTrip + Math.max((double) patienceNanos, 4 * out.deviation));
        one.timer = host.after(patience << Math.min(one.sent, DOUBLINGS_MAX), AGAIN, () -> post(out, to, name, number));
        one.sent++;
    }

    /** A site is known to have crashed: nothing more is for it. */
    void forget(int gone) {
        Outgoing out = outgoing.remove(gone);
        if (out != null) {
            out.unreceived.values().forEach(Streams::stop);
            out.unreceived.clear();
        }
    }

    private static void stop(Unreceived one) {
        if (one.timer != null) {
            one.timer.cancel();
        }
    }

    /** A packet came. */
    void arrived(int from, Datagram datagram) {
        switch (datagram.payload()) {
            case Receipt receipt -> receipt(from, receipt);
            case Letter letter -> letter(from, datagram.from().host(), letter);
            default -> throw new IllegalArgumentException("no letter: " + datagram);
        }
    }

    private void receipt(int from, Receipt receipt) {
        Outgoing out = outgoing.get(from);
        if (out == null) {
            return;
        }
        Unreceived one = out.unreceived.remove(receipt.number);
        Map<Long, Unreceived> below = out.unreceived.headMap(receipt.lacking);
        below.values().forEach(Streams::stop);
        below.clear();
        if (one == null) {
            return;
        }
        stop(one);
        if (one.sent == 1) {
            double took = (double) (host.now() - one.sentAt);
            out.deviation = out.roundTrip < 0
                    ? took / 2
                    : 0.75 * out.deviation + 0.25 * Math.abs(out.roundTrip - took);
            out.roundTrip = out.roundTrip < 0 ? took : 0.875 * out.roundTrip + 0.125 * took;
        }
    }

    private void letter(int from, String name, Letter letter) {
        Incoming in = incoming.computeIfAbsent(from, _ -> new Incoming());
        if (letter.number >= in.next) {
            in.early.put(letter.number, letter.message);
        }
        long lacking = in.next;
        while (in.early.containsKey(lacking)) {
            lacking++;
        }
        site.post(from, new Datagram(own, Address.of(name, PORT), new Receipt(letter.number, lacking), RECEIPT_BYTES));
        for (Message next = in.early.remove(in.next); next != null; next = in.early.remove(in.next)) {
            in.next++;
            site.received(from, next);
        }
    }
}
