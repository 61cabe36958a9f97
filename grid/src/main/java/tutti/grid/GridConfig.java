package tutti.grid;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import tutti.grid.multicast.LamportClock;
import tutti.grid.store.Key;
import tutti.grid.store.Sorted;

/**
 * What a node of a grid must know. All nodes must be given the same, but for {@code self}, {@code nodes} of those that join, times and limits. Immutable.
 *
 * @param name of the grid: nodes of another one are refused
 * @param self this node
 * @param nodes addresses by number, 0 to 255: of the nodes that found the grid, or, for one that joins it, of some that are there, and its own. A node that has founded the grid and is started
 *            anew must be given the same as before
 * @param founders the nodes that found the grid, 0 to 255: all of {@code nodes} unless it is said otherwise. With {@link CommitProtocol#GROUPS} they say which groups there are, for ever, so all nodes must be
 *            given the same; a node that is none of them joins a group
 * @param caches with different names; their order counts
 * @param protocol how transactions commit
 * @param crashes how many nodes may crash at a time without anything being undone that somebody has seen, 0 to 255; with 0 the
 *            protocols are those of the paper
 * @param heartbeat how often nodes hear of each other; like all times, a millisecond at least and 365 days at most
 * @param failureTimeout after which a node that is not heard any more is taken for dead, by a majority; one that was never heard
 *            gets the operation timeout besides, to be started
 * @param lockTimeout for locks of two-phase commit
 * @param operationTimeout after which a read or a commit that has no answer fails
 * @param transactionTimeout after which a transaction that has not ended is rolled back
 * @param transactionsMax how many may be open on this node
 * @param unsentBytesMax how many bytes may wait to be sent to one node; more, and new transactions are refused. With {@link CommitProtocol#GROUPS} also how many are kept, about, of what was written while a member is not
 *            heard; more, and it is given up
 * @param storedBytesMax how many bytes of keys and values, of all versions, this node may have before transactions that write values to keys that it owns are refused; nodes may
 *            differ
 * @param findsDeadlocks whether two-phase commit finds direct cycles of waits at once; otherwise every deadlock lasts until a lock was waited for too long. For comparisons
 * @param furtherGroup with {@link CommitProtocol#GROUPS}, of a node that founds a further group with others, or joins it later: the nodes that may be its members; see {@link #withFurtherGroup}
 */
public record GridConfig(String name, int self, Map<Integer, InetSocketAddress> nodes, Set<Integer> founders,
        List<CacheConfig> caches, CommitProtocol protocol, int crashes, Duration heartbeat, Duration failureTimeout,
        Duration lockTimeout,
        Duration operationTimeout, Duration transactionTimeout, int transactionsMax, long unsentBytesMax,
        long storedBytesMax, boolean findsDeadlocks, Set<Integer> furtherGroup) {
    private static final Duration TIME_MIN = Duration.ofMillis(1);
    /** So that ten times as much can be counted in nanoseconds. */
    private static final Duration TIME_MAX = Duration.ofDays(365);

    /**
     * A cache.
     *
     * @param degree how many nodes own each of its keys
     * @param ownersMin how many must be left for a key to be written; at most the degree
     * @param timeToLive after which an entry is absent, unless who writes it says otherwise; zero if it stays
     * @param l1BytesMax how many bytes this node keeps, about, of entries that other nodes own and that were read here, to read them again without asking; 0 for none. Nodes may
     *            differ
     */
    public record CacheConfig(String name, int degree, int ownersMin, Duration timeToLive, long l1BytesMax) {
        /** Checks the numbers. */
        public CacheConfig {
            if (name.isEmpty() || degree < 1 || ownersMin < 1 || ownersMin > degree) {
                throw new IllegalArgumentException("cache '" + name + "' of degree " + degree + " with at least "
                        + ownersMin + " owners: it needs a name, a degree of at least 1, and at least 1 owner, at most"
                        + " as many as the degree");
            }
            if (timeToLive.isNegative() || (!timeToLive.isZero() && timeToLive.toMillis() == 0)) {
                throw new IllegalArgumentException("cache '" + name + "' whose entries live for " + timeToLive
                        + ": a millisecond is the least; zero, and they stay");
            }
            if (l1BytesMax < 0) {
                throw new IllegalArgumentException("cache '" + name + "' that keeps " + l1BytesMax
                        + " bytes of other nodes' entries: 0 is the least");
            }
        }

        /** One whose entries stay. */
        public CacheConfig(String name, int degree, int ownersMin) {
            this(name, degree, ownersMin, Duration.ZERO, 0);
        }

        /** One that can be written as long as an owner is left. */
        public static CacheConfig of(String name, int degree) {
            return new CacheConfig(name, degree, 1);
        }

        /** The same whose entries live for so long. */
        public CacheConfig withTimeToLive(Duration time) {
            return new CacheConfig(name, degree, ownersMin, time, l1BytesMax);
        }

        /** The same of which this node keeps so many bytes, about, of what other nodes own. */
        public CacheConfig withL1BytesMax(long bytes) {
            return new CacheConfig(name, degree, ownersMin, timeToLive, bytes);
        }

        /** In what nodes must agree. */
        private String agreement() {
            return "CacheConfig[name=" + name + ", degree=" + degree + ", ownersMin=" + ownersMin + ", timeToLive="
                    + timeToLive + ']';
        }
    }

    /** Checks what can be checked. */
    public GridConfig {
        nodes = Sorted.copy(nodes);
        founders = Sorted.copy(founders);
        furtherGroup = Sorted.copy(furtherGroup);
        caches = List.copyOf(caches);
        if (!nodes.containsKey(self)) {
            throw new IllegalArgumentException("node " + self + " is none of " + new TreeMap<>(nodes).keySet());
        }
        if (founders.isEmpty() || Stream.concat(nodes.keySet().stream(), founders.stream())
                .anyMatch(node -> node < 0 || node >= LamportClock.NODES_MAX)) {
            throw new IllegalArgumentException("nodes are numbered 0 to "
                    + (LamportClock.NODES_MAX - 1) + ", and one at least founds the grid");
        }
        Set<String> names = new HashSet<>();
        for (CacheConfig cache : caches) {
            if (!names.add(cache.name())) {
                throw new IllegalArgumentException("there are two caches '" + cache.name() + "'");
            }
            int there = protocol == CommitProtocol.GROUPS ? founders.size() : nodes.size();
            if (cache.degree() > there) {
                throw new GridException(GridException.Reason.NOT_ENOUGH_OWNERS, "cache '" + cache.name()
                        + "' has degree " + cache.degree() + ", but there are " + there
                        + " nodes: add nodes or lower the degree");
            }
        }
        if (caches.isEmpty() || caches.size() > Key.CACHES_MAX) {
            throw new IllegalArgumentException("a grid has 1 to " + Key.CACHES_MAX + " caches, not " + caches.size());
        }
        if (protocol == CommitProtocol.GROUPS && caches.stream().anyMatch(cache -> cache.l1BytesMax() > 0)) {
            throw new IllegalArgumentException(
                    "with GROUPS nothing can be kept of other nodes' entries, since any member of a"
                            + " group answers for what others of it have proposed: leave l1BytesMax at 0, or use TOM_2, TOM_3 or TWO_PHASE");
        }
        checkFurtherGroup(furtherGroup, self, founders, protocol,
                caches.stream().mapToInt(CacheConfig::degree).max().orElse(1));
        if (name.isEmpty()) {
            throw new IllegalArgumentException("a grid needs a name, by which nodes of another one are refused");
        }
        if (crashes < 0 || crashes >= LamportClock.NODES_MAX) {
            throw new IllegalArgumentException("crashes: " + crashes + ", which may be 0 to "
                    + (LamportClock.NODES_MAX - 1));
        }
        checkTime("heartbeat", heartbeat);
        checkTime("failureTimeout", failureTimeout);
        checkTime("lockTimeout", lockTimeout);
        checkTime("operationTimeout", operationTimeout);
        checkTime("transactionTimeout", transactionTimeout);
        if (transactionsMax < 1 || unsentBytesMax < 1 || storedBytesMax < 1) {
            throw new IllegalArgumentException("transactionsMax " + transactionsMax + ", unsentBytesMax "
                    + unsentBytesMax + ", storedBytesMax " + storedBytesMax + ": each must be 1 at least");
        }
        if (heartbeat.multipliedBy(3).compareTo(failureTimeout) > 0) {
            throw new IllegalArgumentException("a failure timeout of " + failureTimeout
                    + " is too short for a heartbeat of " + heartbeat + ": it must be three times as long at least");
        }
    }

    private static void checkTime(String what, Duration time) {
        if (time.compareTo(TIME_MIN) < 0 || time.compareTo(TIME_MAX) > 0) {
            throw new IllegalArgumentException(what + ": " + time + ", which may be " + TIME_MIN + " to " + TIME_MAX);
        }
    }

    /** With what suits a local network. */
    public static GridConfig of(String name, int self, Map<Integer, InetSocketAddress> nodes, List<CacheConfig> caches,
            CommitProtocol protocol) {
        return of(name, self, nodes, nodes.keySet(), caches, protocol);
    }

    /** The same where not all of these nodes have founded the grid, or others have. */
    public static GridConfig of(String name, int self, Map<Integer, InetSocketAddress> nodes, Set<Integer> founders,
            List<CacheConfig> caches, CommitProtocol protocol) {
        return new GridConfig(name, self, nodes, founders, caches, protocol, 1, Duration.ofMillis(50),
                Duration.ofSeconds(2), Duration.ofSeconds(10), Duration.ofSeconds(30), Duration.ofSeconds(60), 10_000,
                64 << 20, Long.MAX_VALUE, true, Set.of());
    }

    /** The same with another number of crashes at a time. */
    public GridConfig withCrashes(int number) {
        return new GridConfig(name, self, nodes, founders, caches, protocol, number, heartbeat, failureTimeout,
                lockTimeout,
                operationTimeout, transactionTimeout, transactionsMax, unsentBytesMax, storedBytesMax, findsDeadlocks,
                furtherGroup);
    }

    /** The same with other times of nodes. */
    public GridConfig withHeartbeat(Duration often, Duration failure) {
        return new GridConfig(name, self, nodes, founders, caches, protocol, crashes, often, failure, lockTimeout,
                operationTimeout, transactionTimeout, transactionsMax, unsentBytesMax, storedBytesMax, findsDeadlocks,
                furtherGroup);
    }

    /** The same with other times of transactions. */
    public GridConfig withTimeouts(Duration lock, Duration operation, Duration transaction) {
        return new GridConfig(name, self, nodes, founders, caches, protocol, crashes, heartbeat, failureTimeout, lock,
                operation,
                transaction, transactionsMax, unsentBytesMax, storedBytesMax, findsDeadlocks, furtherGroup);
    }

    /** The same with a limit to what this node stores. */
    public GridConfig withStoredBytesMax(long bytes) {
        return new GridConfig(name, self, nodes, founders, caches, protocol, crashes, heartbeat, failureTimeout,
                lockTimeout,
                operationTimeout, transactionTimeout, transactionsMax, unsentBytesMax, bytes, findsDeadlocks,
                furtherGroup);
    }

    /** The same with another limit to what waits for one node, or is kept for one that is not heard. */
    public GridConfig withUnsentBytesMax(long bytes) {
        return new GridConfig(name, self, nodes, founders, caches, protocol, crashes, heartbeat, failureTimeout,
                lockTimeout,
                operationTimeout, transactionTimeout, transactionsMax, bytes, storedBytesMax, findsDeadlocks,
                furtherGroup);
    }

    /** The same, but two-phase commit does not look for deadlocks: they end by the lock timeout alone. */
    public GridConfig withoutDeadlockDetection() {
        return new GridConfig(name, self, nodes, founders, caches, protocol, crashes, heartbeat, failureTimeout,
                lockTimeout,
                operationTimeout, transactionTimeout, transactionsMax, unsentBytesMax, storedBytesMax, false,
                furtherGroup);
    }

    /**
     * The same at a node that founds a further group with others, which gets its share of the keys, or joins that group later. It is founded as soon as all of them are there, or for a {@code failureTimeout} as many as the largest degree.
     *
     * @param numbers of the nodes that may be its members, this one too; all of them must be given the same, and none may have been a member of another group
     */
    public GridConfig withFurtherGroup(Set<Integer> numbers) {
        return new GridConfig(name, self, nodes, founders, caches, protocol, crashes, heartbeat, failureTimeout,
                lockTimeout,
                operationTimeout, transactionTimeout, transactionsMax, unsentBytesMax, storedBytesMax, findsDeadlocks,
                numbers);
    }

    /** The largest degree of all caches. */
    public int degreeMax() {
        return caches.stream().mapToInt(CacheConfig::degree).max().orElse(1);
    }

    private static void checkFurtherGroup(Set<Integer> numbers, int self, Set<Integer> founders,
            CommitProtocol protocol,
            int degree) {
        int first = Math.max(1, founders.size() / degree);
        if (numbers.isEmpty()) {
            return;
        }
        if (protocol != CommitProtocol.GROUPS || !numbers.contains(self) || numbers.size() < degree
                || numbers.stream()
                        .anyMatch(node -> node < first || node >= LamportClock.NODES_MAX || founders.contains(node))) {
            throw new IllegalArgumentException("nodes " + new TreeSet<>(numbers) + " cannot found a further group: with"
                    + " GROUPS, " + degree + " nodes at least can, node " + self
                    + " among them, that have not founded the"
                    + " grid and have numbers of " + first + " to " + (LamportClock.NODES_MAX - 1));
        }
    }

    /** In what nodes must agree, as text. */
    public String agreement() {
        return name + ", " + protocol + ", crashes " + crashes
                + (protocol == CommitProtocol.GROUPS ? ", founders " + founders : "") + ", caches "
                + caches.stream().map(CacheConfig::agreement).toList();
    }
}
