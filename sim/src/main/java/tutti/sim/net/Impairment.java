package tutti.sim.net;

import java.util.List;
import tutti.sim.kernel.Distribution;

/**
 * What is wrong with the network between some hosts, in one direction, for as long as it lasts. It is applied when a
 * datagram arrives at its destination, to each destination independently (D5.1, table 3.3); a host's way to itself is never
 * impaired.
 *
 * @param from names of the hosts whose datagrams suffer; {@code *} is every host
 * @param to names of the hosts that they are for; {@code *} is every host
 * @param effect what happens to them
 */
public record Impairment(List<String> from, List<String> to, Effect effect) {
    /** Every host. */
    public static final String ANY = "*";

    public Impairment {
        from = List.copyOf(from);
        to = List.copyOf(to);
    }

    boolean concerns(String sender, String receiver) {
        return contains(from, sender) && contains(to, receiver);
    }

    private static boolean contains(List<String> names, String name) {
        return names.contains(name) || names.contains(ANY);
    }

    /** What happens to a datagram. */
    public sealed interface Effect {
        /** Each fragment is lost with this probability, and with one fragment the datagram. */
        record Lose(double rate) implements Effect {}

        /** Each datagram is lost with this probability, however many fragments it has: the messages of D5.1, table 3.3. */
        record Discard(double rate) implements Effect {}

        /** Times in which everything is lost take turns with times in which all arrives. */
        record LoseInBursts(Distribution lost, Distribution received) implements Effect {}

        /** It arrives twice with this probability, the second time after a further delay. */
        record Duplicate(double rate, Distribution after) implements Effect {}

        /** It arrives later. */
        record Delay(Distribution by) implements Effect {}

        /** With this probability it arrives later, and others overtake it. */
        record Reorder(double rate, Distribution by) implements Effect {}

        /** Nothing arrives. */
        record Block() implements Effect {}

        /** Nothing arrives until this is over; then all does, in the order in which it would have. */
        record Clog() implements Effect {}
    }
}
