package tutti.order.raft;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Everything that a node's part in a Raft order is built from. Make one with {@link #of} and change what should differ
 * with the {@code with} methods.
 *
 * @param cluster id of the cluster, which no other has; empty if it has none but its members
 * @param self this node's id, a key of {@code members}
 * @param members every node of the cluster and the host and port at which the others reach it, 1 to 15 of them, the
 *            same at all nodes; this node listens at its own address only
 * @param voters the nodes of which a majority decides what is ordered, and one leads; the same at all nodes. The others
 *            submit and are delivered everything, but nothing waits for them
 * @param segmentBytes size of one file of the log, 4 KiB to 1 GiB
 * @param cacheBytes how many bytes of newest log entries stay in memory
 * @param queueBytes limit of what may wait to be ordered here, in bytes
 * @param payloadBytesMax limit of one message, in bytes, at most 256 MiB
 * @param batchBytes how many bytes of waiting messages are put into one log entry; one longer message goes alone
 * @param batchWindow how many entries of this node may be under way at a time, 1 to 64
 * @param failureTimeout how long a node may be silent until the others do without it; a leader that dies is replaced a
 *            quarter later
 * @param retransmitTimeout how long a batch may be under way until it is sent again
 */
public record RaftOrderConfig(String cluster, int self, SortedMap<Integer, InetSocketAddress> members,
        SortedSet<Integer> voters,
        int segmentBytes, long cacheBytes, long queueBytes, int payloadBytesMax, int batchBytes,
        int batchWindow,
        Duration failureTimeout, Duration retransmitTimeout) {

    /** Longest message that can be chosen, in bytes. */
    static final int PAYLOAD_BYTES_MAX = 1 << 28;

    /** Checks all values. */
    public RaftOrderConfig {
        members = java.util.Collections.unmodifiableSortedMap(new TreeMap<>(members));
        require(!members.isEmpty() && members.size() <= 15, "members", members.size() + " nodes", "1 to 15");
        require(members.containsKey(self), "self", self, "one of " + members.keySet());
        require(members.firstKey() >= 0, "members", members.firstKey(), "ids from 0");
        voters = java.util.Collections.unmodifiableSortedSet(new TreeSet<>(voters));
        require(!voters.isEmpty() && members.keySet().containsAll(voters), "voters", voters,
                "some of " + members.keySet());
        require(members.values().stream().distinct().count() == members.size(), "members", members,
                "a different address for each node");
        require(segmentBytes >= 1 << 12 && segmentBytes <= 1 << 30, "segmentBytes", segmentBytes, "4 KiB to 1 GiB");
        require(cacheBytes >= 0, "cacheBytes", cacheBytes, "0 or more");
        require(payloadBytesMax >= 1 && payloadBytesMax <= PAYLOAD_BYTES_MAX, "payloadBytesMax", payloadBytesMax,
                "1 to 256 MiB");
        require(queueBytes >= payloadBytesMax, "queueBytes", queueBytes, "at least payloadBytesMax");
        require(batchBytes >= 1 && batchBytes <= 1 << 26, "batchBytes", batchBytes, "1 to 64 MiB");
        require(batchWindow >= 1 && batchWindow <= 64, "batchWindow", batchWindow, "1 to 64");
        require(failureTimeout.toMillis() >= 50 && failureTimeout.toMillis() <= 60_000, "failureTimeout",
                failureTimeout, "50 ms to 60 s");
        require(retransmitTimeout.toMillis() >= 10, "retransmitTimeout", retransmitTimeout, "10 ms or more");
    }

    private static void require(boolean holds, String key, Object value, String valid) {
        if (!holds) {
            throw new IllegalArgumentException(key + " is " + value + ", it must be " + valid);
        }
    }

    /** The defaults: files of 16 MiB, 16 MiB in memory, 64 MiB in the queue, messages up to 16 MiB, 1 s to fail over. */
    public static RaftOrderConfig of(int self, Map<Integer, InetSocketAddress> members) {
        return new RaftOrderConfig("", self, new TreeMap<>(members), new TreeSet<>(members.keySet()), 1 << 24,
                1 << 24, 1 << 26, 1 << 24, 1 << 16,
                4, Duration.ofSeconds(1), Duration.ofSeconds(1));
    }

    /** A copy of a cluster with this id. */
    public RaftOrderConfig withCluster(String id) {
        return new RaftOrderConfig(id, self, members, voters, segmentBytes, cacheBytes, queueBytes, payloadBytesMax,
                batchBytes, batchWindow, failureTimeout, retransmitTimeout);
    }

    /** A copy in which only these nodes decide. */
    public RaftOrderConfig withVoters(Set<Integer> nodes) {
        return new RaftOrderConfig(cluster, self, members, new TreeSet<>(nodes), segmentBytes, cacheBytes, queueBytes,
                payloadBytesMax, batchBytes, batchWindow, failureTimeout, retransmitTimeout);
    }

    /** A copy with another size of the log's files. */
    public RaftOrderConfig withSegmentBytes(int bytes) {
        return new RaftOrderConfig(cluster, self, members, voters, bytes, cacheBytes, queueBytes, payloadBytesMax,
                batchBytes,
                batchWindow, failureTimeout, retransmitTimeout);
    }

    /** A copy with another memory for newest entries. */
    public RaftOrderConfig withCacheBytes(long bytes) {
        return new RaftOrderConfig(cluster, self, members, voters, segmentBytes, bytes, queueBytes, payloadBytesMax,
                batchBytes, batchWindow, failureTimeout, retransmitTimeout);
    }

    /** A copy with other limits of the queue and of one message. */
    public RaftOrderConfig withQueue(long bytes, int payloadMax) {
        return new RaftOrderConfig(cluster, self, members, voters, segmentBytes, cacheBytes, bytes, payloadMax,
                batchBytes,
                batchWindow, failureTimeout, retransmitTimeout);
    }

    /** A copy with another batching. */
    public RaftOrderConfig withBatches(int bytes, int window) {
        return new RaftOrderConfig(cluster, self, members, voters, segmentBytes, cacheBytes, queueBytes,
                payloadBytesMax,
                bytes, window, failureTimeout, retransmitTimeout);
    }

    /** A copy with other timeouts. */
    public RaftOrderConfig withTimeouts(Duration failure, Duration retransmit) {
        return new RaftOrderConfig(cluster, self, members, voters, segmentBytes, cacheBytes, queueBytes,
                payloadBytesMax,
                batchBytes, batchWindow, failure, retransmit);
    }

    /** Members and voters in words: the same at all nodes of the cluster. */
    String membership() {
        return members.entrySet().stream()
                .map(e -> e.getKey() + "=" + e.getValue().getHostString() + ":" + e.getValue().getPort())
                .collect(Collectors.joining(",")) + (voters.size() == members.size() ? "" : " decided by " + voters);
    }

    /** This node in words. */
    String identity() {
        return "node " + self + " of " + membership();
    }
}
