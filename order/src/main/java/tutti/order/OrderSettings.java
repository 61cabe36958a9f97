package tutti.order;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What an operator can say about any order. An order takes no notice of what it has no use for.
 *
 * @param cluster name of the cluster
 * @param clusterId id of the cluster, which no other has; empty if nodes prove nothing to each other
 * @param datagramKeys secrets that the nodes share, with which datagrams are authenticated; the first is used, all are taken;
 *            none if datagrams are believed
 * @param self this node's id, a key of {@code members}
 * @param members every node and where the others reach it, the same at all nodes; addresses may be unresolved
 * @param voters nodes of which a majority decides what is ordered; all of them for an order that has no voters
 * @param queueBytes what may wait to be ordered here
 * @param payloadBytesMax longest message
 * @param batchBytes of waiting messages that are ordered together
 * @param segmentBytes of one file of a log
 * @param failureTimeout how long a node may be silent until the others do without it
 * @param parameters what this kind of order alone wants to know, by name
 */
public record OrderSettings(String cluster, String clusterId, List<byte[]> datagramKeys, int self,
        SortedMap<Integer, InetSocketAddress> members,
        SortedSet<Integer> voters, long queueBytes, int payloadBytesMax, int batchBytes, int segmentBytes,
        Duration failureTimeout, Map<String, String> parameters) {
    /** Copies members, voters and parameters. */
    public OrderSettings {
        datagramKeys = List.copyOf(datagramKeys);
        parameters = Map.copyOf(parameters);
        members = Collections.unmodifiableSortedMap(new TreeMap<>(members));
        voters = Collections.unmodifiableSortedSet(new TreeSet<>(voters));
    }

    /** With what suits most: 64 MiB in the queue, messages of 7 MiB, a second until nodes do without one that is silent. */
    public static OrderSettings of(String cluster, int self, Map<Integer, InetSocketAddress> members) {
        Set<Integer> all = members.keySet();
        return new OrderSettings(cluster, "", List.of(), self, new TreeMap<>(members), new TreeSet<>(all), 1 << 26,
                7 << 20, 1 << 16,
                1 << 24, Duration.ofSeconds(1), Map.of());
    }

    /** A copy for a cluster with this id. */
    public OrderSettings withClusterId(String id) {
        return new OrderSettings(cluster, id, datagramKeys, self, members, voters, queueBytes, payloadBytesMax,
                batchBytes, segmentBytes, failureTimeout, parameters);
    }

    /** A copy with these parameters. */
    public OrderSettings withParameters(Map<String, String> values) {
        return new OrderSettings(cluster, clusterId, datagramKeys, self, members, voters, queueBytes, payloadBytesMax,
                batchBytes, segmentBytes, failureTimeout, values);
    }

    /** A copy that takes messages of so many bytes, of which one at least may wait. */
    public OrderSettings withPayloadBytesMax(int bytes) {
        return new OrderSettings(cluster, clusterId, datagramKeys, self, members, voters, Math.max(queueBytes, bytes),
                bytes, batchBytes, segmentBytes, failureTimeout, parameters);
    }
}
