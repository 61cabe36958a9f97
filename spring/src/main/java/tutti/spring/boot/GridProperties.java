package tutti.spring.boot;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.IsolationLevel;

/**
 * {@code tutti.grid.*}. What is not given is as {@link GridConfig#of} has it.
 *
 * @param name of the grid, the same at all nodes
 * @param self number of this process's node; without it there is no grid
 * @param nodes HOST:PORT by number, this one among them
 * @param founders numbers of the nodes that have founded the grid; nothing if these are {@code nodes}
 * @param furtherGroup numbers of the nodes that found, or join, a further group, this one among them; nothing for a member of a group of founders
 * @param caches by name, the same at all nodes
 * @param protocol by which transactions commit, the same at all nodes
 * @param isolation of transactions that ask for none
 * @param crashes how many nodes may crash at a time, the same at all nodes
 * @param heartbeat how often nodes hear of each other
 * @param failureTimeout after which a node that is not heard is taken for dead, at least three heartbeats
 * @param operationTimeout how long an operation, a commit included, waits for an answer
 * @param transactionTimeout how long a transaction may stay open
 * @param unsentBytesMax how much may wait for another node; nothing for what is usual
 * @param storedBytesMax what this node stores at most, keys and values of all versions; nothing for no limit
 */
@ConfigurationProperties("tutti.grid")
public record GridProperties(@DefaultValue("tutti") String name, int self, Map<Integer, String> nodes,
        @Nullable Set<Integer> founders, @Nullable Set<Integer> furtherGroup, Map<String, CacheProperties> caches,
        @DefaultValue("tom_3") CommitProtocol protocol,
        @DefaultValue("serializable") IsolationLevel isolation, @DefaultValue("1") int crashes,
        @DefaultValue("50ms") Duration heartbeat, @DefaultValue("2s") Duration failureTimeout,
        @DefaultValue("30s") Duration operationTimeout, @DefaultValue("60s") Duration transactionTimeout,
        @Nullable DataSize unsentBytesMax, @Nullable DataSize storedBytesMax) {
    /**
     * A cache.
     *
     * @param degree how many nodes own each of its keys
     * @param ownersMin how many of them must be left for a key to be written
     * @param timeToLive after which an entry is absent; nothing if it stays
     * @param l1BytesMax how much this node keeps of entries of other nodes
     */
    public record CacheProperties(@DefaultValue("2") int degree, @DefaultValue("1") int ownersMin,
            @DefaultValue("0") Duration timeToLive, @DefaultValue("0") DataSize l1BytesMax) {}

    /**
     * As the grid takes it.
     *
     * @throws IllegalArgumentException if something is missing or cannot be, saying which property
     */
    GridConfig config() {
        if (nodes == null || caches == null) {
            throw new IllegalArgumentException("tutti.grid.self is set, and " + (nodes == null
                    ? "tutti.grid.nodes is not: give all nodes as tutti.grid.nodes.0=host:port"
                    : "there are no caches: give them as tutti.grid.caches.NAME.degree=2"));
        }
        Map<Integer, InetSocketAddress> addresses = new TreeMap<>();
        nodes.forEach((node, address) -> addresses.put(node, address(node, address)));
        List<GridConfig.CacheConfig> all = new ArrayList<>();
        new TreeMap<>(caches).forEach((cache, of) -> all
                .add(new GridConfig.CacheConfig(cache, of.degree, of.ownersMin, of.timeToLive,
                        of.l1BytesMax.toBytes())));
        GridConfig usual = GridConfig
                .of(name, self, addresses, founders == null ? addresses.keySet() : founders, all, protocol)
                .withCrashes(crashes)
                .withHeartbeat(heartbeat, failureTimeout);
        GridConfig grouped = furtherGroup == null ? usual : usual.withFurtherGroup(furtherGroup);
        return grouped.withTimeouts(usual.lockTimeout(), operationTimeout, transactionTimeout)
                .withUnsentBytesMax(unsentBytesMax == null ? usual.unsentBytesMax() : unsentBytesMax.toBytes())
                .withStoredBytesMax(storedBytesMax == null ? usual.storedBytesMax() : storedBytesMax.toBytes());
    }

    private static InetSocketAddress address(int node, String text) {
        int colon = text.lastIndexOf(':');
        try {
            if (colon > 0) {
                return new InetSocketAddress(text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
            }
        } catch (IllegalArgumentException noPort) {
            // Told below.
        }
        throw new IllegalArgumentException("tutti.grid.nodes." + node + " is '" + text + "': write HOST:PORT");
    }
}
