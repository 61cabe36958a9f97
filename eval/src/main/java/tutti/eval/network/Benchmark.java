package tutti.eval.network;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * What is measured in both worlds, at one size of messages.
 *
 * @param members of the group
 * @param warmUpNanos that do not count
 * @param nanos that do
 */
record Benchmark(int members, long warmUpNanos, long nanos) {
    /** A group's first view has to be made before anything is ordered. */
    private static final long GROUP_BEGINS_NANOS = 200_000_000;

    /** What is measured, and in what. */
    enum Quantity {
        /** Bytes that one process writes to a socket in a second of its processor (figure 2.10a), whoever else computes. */
        WRITTEN("UDP, written", "MB/s"),
        /** Bytes that another one reads meanwhile in a second of its own (figure 2.10b). */
        READ("UDP, read", "MB/s"),
        /** A datagram's way there and back (figure 2.10c). */
        ROUND_TRIP("UDP, round trip", "us"),
        /** Bytes of messages that the group delivers to a member while all members submit what they can. */
        ORDERED("group, ordered", "MB/s"),
        /** Processor time of all members together for each of these messages. */
        ORDERED_PROCESSOR("group, processor time of a message", "us"),
        /** From submitting a message until it is delivered to the same member, one message at a time. */
        ORDER_LATENCY("group, from submission to delivery", "us"),
        /** Processor time of all members together for each of these messages. */
        LATENCY_PROCESSOR("group, processor time of a message that is alone", "us");

        private final String label;
        private final String unit;

        Quantity(String label, String unit) {
            this.label = label;
            this.unit = unit;
        }

        String label() {
            return label;
        }

        String unit() {
            return unit;
        }
    }

    /** All quantities at a size, in their order; not a number where nothing was seen. */
    double[] measure(Stations stations, int bytes) throws InterruptedException {
        Window window = new Window(warmUpNanos, warmUpNanos + nanos);
        Tally written = new Tally(window);
        Tally read = new Tally(window);
        long[] used = stations.run(List.of(new UdpPrograms.Writer(bytes, written), new UdpPrograms.Reader(read)),
                window);
        Tally trips = new Tally(window);
        stations.run(List.of(new UdpPrograms.Caller(bytes, trips), new UdpPrograms.Echo()), window);
        Window later = new Window(GROUP_BEGINS_NANOS + warmUpNanos, GROUP_BEGINS_NANOS + warmUpNanos + nanos);
        Tally most = new Tally(later);
        double mostNanos = group(stations, GroupProgram.Load.MOST, bytes, most, later);
        Tally one = new Tally(later);
        double oneNanos = group(stations, GroupProgram.Load.ONE, bytes, one, later);
        return new double[]{1e3 * written.bytes() / used[0], 1e3 * read.bytes() / used[1], trips.medianNanos() / 1e3,
                most.bytesPerSecond() / 1e6, mostNanos / 1e3 / most.messages(), one.medianNanos() / 1e3,
                oneNanos / 1e3 / one.messages()};
    }

    /** The last member counts; it is not the one who orders. */
    private double group(Stations stations, GroupProgram.Load load, int bytes, Tally tally, Window window)
            throws InterruptedException {
        AtomicLongArray delivered = new AtomicLongArray(members);
        List<SocketProgram> programs = new ArrayList<>();
        for (int i = 0; i < members; i++) {
            boolean last = i == members - 1;
            programs.add(new GroupProgram(i, members,
                    last || load == GroupProgram.Load.MOST ? load : GroupProgram.Load.NONE, bytes, delivered,
                    last ? tally : new Tally(window)));
        }
        return Arrays.stream(stations.run(programs, window)).sum();
    }
}
