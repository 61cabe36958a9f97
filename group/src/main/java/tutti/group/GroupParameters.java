package tutti.group;

import java.util.Collection;
import java.util.List;

/**
 * Parameters of a group's member, the same at every member except {@code self}. GORDA D5.1 section 2.3.3 names the
 * mechanisms and gives no numbers for them; the defaults suit its local network of 100 Mbit/s.
 *
 * @param self this member
 * @param members all configured members, alive or not, ascending: 1 to 63
 * @param flow how much may be under way
 * @param timing how long to wait for what
 */
public record GroupParameters(int self, List<Integer> members, Flow flow, Timing timing) {
    /** What all members know of each other, with the defaults. */
    public static GroupParameters defaults(int self, Collection<Integer> members) {
        return new GroupParameters(self, List.copyOf(members), Flow.defaults(), Timing.defaults());
    }

    public GroupParameters {
        members = members.stream().sorted().distinct().toList();
        if (members.isEmpty() || members.size() > Long.SIZE - 1) {
            throw new IllegalArgumentException(members.size() + " members; 1 to 63 are possible");
        }
        if (!members.contains(self)) {
            throw new IllegalArgumentException("member " + self + " is not among " + members);
        }
    }

    /** How many of the configured members are a majority. */
    int majority() {
        return members.size() / 2 + 1;
    }

    /**
     * How much may be under way.
     *
     * @param windowMessages of a member's stream that are not known to be received by the whole view: 4 to 65,536
     * @param bufferBytes for all members' messages that are not known to be received by the whole view; each member owns
     *            an equal share (D5.1 section 3.5.1): 64 KiB to 1 GiB
     * @param batchBytes of messages put into one packet; a longer message has a packet of its own: 1 to 1 MiB
     * @param payloadBytesMax longest message: 1 to 16 MiB; the network must carry a packet of twice this size or of
     *            twice {@code batchBytes}, whichever is greater
     * @param queueBytes of a member's messages submitted and not yet delivered back; more are refused: at least one
     *            longest message
     * @param rateBytesPerSecond of stream packets that a member sends; 1,000 and up
     * @param burstBytes sent at once before the rate limits: 1 and up
     * @param fetchBytes of messages in one packet to a member that missed them; one at least: 1 to 16 MiB
     * @param joinLagPositions a member that is back joins the view when it lacks at most this many: 0 and up
     */
    public record Flow(int windowMessages, int bufferBytes, int batchBytes, int payloadBytesMax, long queueBytes,
            long rateBytesPerSecond, long burstBytes, int fetchBytes, long joinLagPositions) {
        /** A window of 256 messages, 4 MiB of buffers, packets of 8 KiB, 100 Mbit/s. */
        public static Flow defaults() {
            return new Flow(256, 4 << 20, 8 << 10, 1 << 20, 16 << 20, 12_500_000, 256 << 10, 256 << 10, 1024);
        }

        public Flow {
            check("windowMessages", windowMessages, 4, 1 << 16);
            check("bufferBytes", bufferBytes, 64 << 10, 1 << 30);
            check("batchBytes", batchBytes, 1, 1 << 20);
            check("payloadBytesMax", payloadBytesMax, 1, Packet.PAYLOAD_BYTES_MAX);
            check("queueBytes", queueBytes, payloadBytesMax, Long.MAX_VALUE);
            check("rateBytesPerSecond", rateBytesPerSecond, 1000, 1_000_000_000_000L);
            check("burstBytes", burstBytes, 1, 1L << 40);
            check("fetchBytes", fetchBytes, 1, 16 << 20);
            check("joinLagPositions", joinLagPositions, 0, Long.MAX_VALUE);
        }
    }

    /**
     * How long to wait for what, in nanoseconds, all 1 to 10^12.
     *
     * @param missingDelayNanos after a gap is noticed before its messages are asked for: packets may come out of turn
     * @param missingIntervalNanos between two requests for the same messages
     * @param stabilityIntervalNanos between two gossips of a member while something is not known to be stable
     * @param heartbeatIntervalNanos between two signs of life
     * @param failureTimeoutNanos of silence after which a member is taken for dead; at least two signs of life
     * @param viewTimeoutNanos for a change of view to be made, until somebody else tries
     */
    public record Timing(long missingDelayNanos, long missingIntervalNanos, long stabilityIntervalNanos,
            long heartbeatIntervalNanos, long failureTimeoutNanos, long viewTimeoutNanos) {
        /** 1 ms, 5 ms, 10 ms, 50 ms, 500 ms, 500 ms. */
        public static Timing defaults() {
            return new Timing(1_000_000, 5_000_000, 10_000_000, 50_000_000, 500_000_000, 500_000_000);
        }

        public Timing {
            check("missingDelayNanos", missingDelayNanos, 1, 1_000_000_000_000L);
            check("missingIntervalNanos", missingIntervalNanos, 1, 1_000_000_000_000L);
            check("stabilityIntervalNanos", stabilityIntervalNanos, 1, 1_000_000_000_000L);
            check("heartbeatIntervalNanos", heartbeatIntervalNanos, 1, 1_000_000_000_000L);
            check("failureTimeoutNanos", failureTimeoutNanos, 2 * heartbeatIntervalNanos, 1_000_000_000_000L);
            check("viewTimeoutNanos", viewTimeoutNanos, 1, 1_000_000_000_000L);
        }
    }

    private static void check(String name, long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(name + " is " + value + ", not in " + min + " to " + max);
        }
    }
}
