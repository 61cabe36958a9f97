package tutti.order.group;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import tutti.group.GroupParameters;

/**
 * Everything that a node's part in a group is built from.
 *
 * @param cluster name; datagrams of groups with another name, or other members, are dropped
 * @param self this node's id, a key of {@code members}
 * @param members every node and the host and UDP port at which the others reach it, 1 to 63 of them, ids from 0, the same at
 *            all nodes; this node listens at its own address only
 * @param queueBytes limit of what may wait to be ordered here, in bytes; at least one longest message
 * @param flow how much may be under way; its queue is not used
 * @param timing how long to wait for what
 * @param datagramKeys secrets that the nodes share, by which they know each other's datagrams: the first is used, all are taken;
 *            none if datagrams are believed
 */
public record GroupOrderConfig(String cluster, int self, SortedMap<Integer, InetSocketAddress> members, long queueBytes,
        GroupParameters.Flow flow, GroupParameters.Timing timing, List<byte[]> datagramKeys) {
    /** Longest message that a group takes, in bytes. */
    public static final int PAYLOAD_BYTES_MAX = 8 << 20;
    private static final long NO_LIMIT = Long.MAX_VALUE / 2;
    private static final int HEARTBEATS = 10;

    /** Checks all values. */
    public GroupOrderConfig {
        datagramKeys = List.copyOf(datagramKeys);
        members = Collections.unmodifiableSortedMap(new TreeMap<>(members));
        if (members.isEmpty() || members.firstKey() < 0 || !members.containsKey(self)) {
            throw new IllegalArgumentException("node " + self + " of members " + members
                    + ": a group has members with ids from 0, this node among them");
        }
        if (members.values().stream().distinct().count() != members.size()) {
            throw new IllegalArgumentException("members " + members + ": each needs an address of its own");
        }
        if (flow.payloadBytesMax() > PAYLOAD_BYTES_MAX || queueBytes < flow.payloadBytesMax()) {
            throw new IllegalArgumentException(
                    "messages of " + flow.payloadBytesMax() + " bytes, a queue of " + queueBytes
                            + " bytes: a group takes messages of at most " + PAYLOAD_BYTES_MAX
                            + " bytes, and its queue a longest one at least");
        }
    }

    /**
     * With what suits a local network.
     *
     * @param payloadBytesMax longest message, in bytes
     * @param failureTimeout how long a node may be silent until the others do without it, 50 ms and up
     */
    public static GroupOrderConfig of(String cluster, int self, Map<Integer, InetSocketAddress> members,
            long queueBytes, int payloadBytesMax, Duration failureTimeout) {
        long nanos = failureTimeout.toNanos();
        return new GroupOrderConfig(cluster, self, new TreeMap<>(members), queueBytes,
                new GroupParameters.Flow(256, 64 << 20, 8 << 10, payloadBytesMax, NO_LIMIT, 125_000_000, 1 << 20,
                        8 << 10,
                        1024),
                new GroupParameters.Timing(1_000_000, 5_000_000, 10_000_000, nanos / HEARTBEATS, nanos, nanos / 2),
                List.of());
    }

    /** A copy whose datagrams are authenticated by these secrets. */
    public GroupOrderConfig withDatagramKeys(List<byte[]> secrets) {
        return new GroupOrderConfig(cluster, self, members, queueBytes, flow, timing, secrets);
    }

    GroupParameters parameters() {
        return new GroupParameters(self, members.keySet().stream().toList(),
                new GroupParameters.Flow(flow.windowMessages(),
                        flow.bufferBytes(), flow.batchBytes(), flow.payloadBytesMax(), NO_LIMIT,
                        flow.rateBytesPerSecond(),
                        flow.burstBytes(), flow.fetchBytes(), flow.joinLagPositions()),
                timing);
    }
}
