package tutti.sim.world.order;

import java.util.HashMap;
import java.util.HashSet;
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
 * Carries messages between hosts reliably and in no particular order: each is sent again until its receipt comes, and handed
 * over once in a life of the receiver. What a sender has not delivered when it crashes is never sent again. One object is
 * one life of a host.
 */
public final class Courier {
    private static final int PORT = 2;
    private static final long AGAIN_NANOS = 15 * Nanos.MILLI;
    /** Letters sent again at a time to one receiver. */
    private static final int AGAIN_MAX = 64;
    private static final int HEADER_BYTES = 24;
    private static final int RECEIPT_BYTES = 16;
    private static final Label AGAIN = Label.of("courier", "again");
    private static final Label SELF = Label.of("courier", "to itself");

    private record Letter(long life, long number, byte[] payload) {}

    private record Receipt(long life, long number) {}

    /** Whom letters are for. */
    public interface Receiver {
        /** A letter came. */
        void received(String from, byte[] payload);
    }

    /** What came from one life of a sender: all up to a number, and some beyond. */
    private static final class Came {
        private long all;
        private final Set<Long> some = new HashSet<>();

        boolean add(long number) {
            if (number <= all || !some.add(number)) {
                return false;
            }
            while (some.remove(all + 1)) {
                all++;
            }
            return true;
        }
    }

    private final Host host;
    private final Network network;
    private final Receiver receiver;
    private final Address own;
    private final Map<String, Long> numbers = new HashMap<>();
    private final TreeMap<String, TreeMap<Long, Letter>> unreceived = new TreeMap<>();
    private final Map<String, Map<Long, Came>> came = new HashMap<>();
    private boolean armed;

    /** For this life of a host, which is up. */
    public Courier(Host host, Network network, Receiver receiver) {
        this.host = host;
        this.network = network;
        this.receiver = receiver;
        this.own = Address.of(host.name(), PORT);
        network.bind(host, PORT, this::arrived);
    }

    /** Sends. To its own host, too, in a later event. */
    public void send(String to, byte[] payload) {
        if (to.equals(host.name())) {
            host.after(0, SELF, () -> receiver.received(to, payload));
            return;
        }
        Letter letter = new Letter(host.life(), numbers.merge(to, 1L, Long::sum), payload);
        unreceived.computeIfAbsent(to, _ -> new TreeMap<>()).put(letter.number, letter);
        post(to, letter);
        arm();
    }

    private void post(String to, Letter letter) {
        network.send(new Datagram(own, Address.of(to, PORT), letter, HEADER_BYTES + letter.payload.length));
    }

    private void arm() {
        if (!armed) {
            armed = true;
            host.after(AGAIN_NANOS, AGAIN, () -> {
                armed = false;
                unreceived.forEach((to, letters) -> letters.values().stream().limit(AGAIN_MAX)
                        .forEach(letter -> post(to, letter)));
                if (!unreceived.isEmpty()) {
                    arm();
                }
            });
        }
    }

    private void arrived(Datagram datagram) {
        String from = datagram.from().host();
        switch (datagram.payload()) {
            case Letter letter -> {
                network.send(new Datagram(own, Address.of(from, PORT), new Receipt(letter.life, letter.number),
                        RECEIPT_BYTES));
                if (came.computeIfAbsent(from, _ -> new HashMap<>()).computeIfAbsent(letter.life, _ -> new Came())
                        .add(letter.number)) {
                    receiver.received(from, letter.payload);
                }
            }
            case Receipt receipt -> {
                TreeMap<Long, Letter> letters = unreceived.get(from);
                if (letters != null && receipt.life == host.life()) {
                    letters.remove(receipt.number);
                    if (letters.isEmpty()) {
                        unreceived.remove(from);
                    }
                }
            }
            default -> throw new IllegalArgumentException("no letter: " + datagram);
        }
    }
}
