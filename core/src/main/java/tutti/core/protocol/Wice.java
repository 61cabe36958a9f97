package tutti.core.protocol;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import tutti.core.protocol.WiceMessage.Ask;
import tutti.core.protocol.WiceMessage.Numbered;
import tutti.core.protocol.WiceMessage.Relay;
import tutti.core.protocol.WiceMessage.Stored;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Type;
import tutti.core.schema.Types;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;

/**
 * {@code wice}: {@link SnapshotIsolation} for clusters joined by a WAN: one-copy snapshot isolation, ordered in one of the
 * clusters, answered when another one has it (wide-area inter-cluster enhancements: GORDA D5.1 section 3.4).
 *
 * <pre>
 *  primary cluster     executed -- order --+-- certify, commit, locks released ............... answer
 *                                          |                                                     |
 *  ----------------------------------------+-- Relay ------ t_max -----+             +-- Stored -+ t_max --------
 *                                                                      |             |
 *  another cluster     executed -- Numbered -- t_max --> order         +-- certify, apply, committed: answers its own
 * </pre>
 *
 * <p>
 * <b>One order.</b> The primary cluster's order is the order. Certification is that of {@code si}, at every replica, of the
 * same messages at the same positions; everything about isolation is argued there. What is added here is how messages get
 * into the order and out of it, and when a client is told.
 *
 * <p>
 * <b>Out of the order</b> messages reach other clusters by {@link Relay}: the lowest replica of the primary cluster
 * that is alive sends each position with the one before it, and again until the receiver says that it has it. Relays may come twice,
 * in any order, and from two replicas when views differ. A replica hands a position on when it has handed on the one before it,
 * and no position twice ({@link #handOn}).
 *
 * <p>
 * <b>Into the order</b> a transaction of another cluster comes as a message to the relaying replica, sent again until
 * it is seen in the order. It may be ordered twice, or after a later one of its sender. Messages are numbered, per
 * sender and life of the sender, and count only in turn; this is decided by the ordered prefix alone, so alike everywhere. Without
 * it, a transaction that was refused could be ordered again and pass. A transaction is open to
 * conflicts for t_max to 2 t_max in other clusters, and for the local order only in the primary.
 *
 * <p>
 * <b>The answer</b> waits until a replica of a cluster other than the one that ordered it has made it visible: losing the
 * primary cluster then loses nothing that a client was told. Locks are not held meanwhile. If no other cluster can
 * be reached, answers wait until one can; the clients that wait bound how many.
 *
 * <p>
 * <b>The primary moves</b> to the cluster that most of the last transactions came from, at the position at which that many
 * have been certified: all replicas count alike. This needs an order that spans all clusters. With relays it is refused: a replica that was down
 * over several moves could find what it missed only at replicas that have become outsiders, which do not relay.
 *
 * <p>
 * <b>In a world whose order spans all nodes</b> (a log with voters in the primary cluster and learners elsewhere) the order
 * itself is the relay: every replica is delivered everything and asks the order directly ({@link Parameters#spanning}). Nothing
 * is relayed, sent again or skipped; what remains is that answers wait for another cluster. Moving the primary is then
 * advice to the order, whose leader should lie there ({@link #orderers()}). Where only the primary cluster's nodes vote
 * ({@link ProtocolDescriptor#voters}) nothing that is ordered waits for the wide area, and the primary stays where it is.
 */
public final class Wice implements Protocol {
    /** The name in configurations. */
    public static final String NAME = "wice";

    private static final long RETRY_TIMER = 0;

    /**
     * Parameters; the same at every replica except {@code node}.
     *
     * @param node this replica
     * @param clusters which replicas are in which cluster; each is in one
     * @param firstPrimary the cluster that orders at first
     * @param spanning whether the world's order spans all clusters
     * @param moveTransactions after how many transactions the primary may move to the cluster that most of them came from;
     *            0 if it never moves
     * @param relayMax how many positions a replica keeps for replicas of other clusters; one whose last snapshot is further
     *            behind needs a copy of the state
     * @param retryNanos after how long what was not heard of is sent again, in nanoseconds: more than a round trip
     * @param windowPositions as in {@link SnapshotIsolation.Parameters}
     * @param keysMax as in {@link SnapshotIsolation.Parameters}
     * @param progressIntervalNanos as in {@link SnapshotIsolation.Parameters}
     */
    public record Parameters(int node, Map<String, Set<Integer>> clusters, String firstPrimary, boolean spanning,
            int moveTransactions, int relayMax, long retryNanos, long windowPositions, int keysMax,
            long progressIntervalNanos) {
        public Parameters {
            Map<String, Set<Integer>> copy = new TreeMap<>();
            clusters.forEach((name, nodes) -> copy.put(name, Set.copyOf(nodes)));
            clusters = java.util.Collections.unmodifiableMap(copy);
            Set<Integer> all = new HashSet<>();
            for (Map.Entry<String, Set<Integer>> cluster : clusters.entrySet()) {
                for (int one : cluster.getValue()) {
                    if (!all.add(one)) {
                        throw new IllegalArgumentException("node " + one + " is in two clusters");
                    }
                }
            }
            if (!all.contains(node)) {
                throw new IllegalArgumentException("node " + node + " is in none of the clusters " + clusters);
            }
            if (clusters.getOrDefault(firstPrimary, Set.of()).isEmpty()) {
                throw new IllegalArgumentException("cluster " + firstPrimary + " has no nodes, clusters " + clusters);
            }
            if (moveTransactions > 0 && !spanning) {
                throw new IllegalArgumentException("moveTransactions " + moveTransactions
                        + ": the primary can move only where the order spans all clusters; use 0");
            }
            if (moveTransactions < 0 || relayMax < 1 || retryNanos < 1) {
                throw new IllegalArgumentException("moveTransactions " + moveTransactions + ", relayMax " + relayMax
                        + ", retryNanos " + retryNanos);
            }
        }

        /** The cluster of a node. */
        String clusterOf(int of) {
            return clusters.entrySet().stream().filter(cluster -> cluster.getValue().contains(of)).findFirst()
                    .orElseThrow(() -> new IllegalArgumentException("node " + of + " is in no cluster")).getKey();
        }

        Set<Integer> replicas() {
            Set<Integer> all = new HashSet<>();
            clusters.values().forEach(all::addAll);
            return all;
        }

        SnapshotIsolation.Parameters certification() {
            return new SnapshotIsolation.Parameters(node, replicas(), windowPositions, keysMax, progressIntervalNanos,
                    0);
        }
    }

    /** The last message of a sender that counted. */
    record Last(long life, long number) {
        static final Schema<Last> SCHEMA = Schema.part("last number", Last.class).of(
                Field.of("life", Types.NATURAL, Last::life), Field.of("number", Types.NATURAL, Last::number),
                Last::new);
    }

    /**
     * What it keeps in a snapshot.
     *
     * @param since position behind which the primary cluster is the one of this name
     */
    record Snapshot(long handed, long since, String primary, Map<Integer, Last> last, Map<String, Integer> certified,
            List<Relay> kept, NonVotingCertification.Image certification) implements Encoded {
        private static final Type<String> NAME_OF_CLUSTER = Types.text(1 << 16);
        static final Schema<Snapshot> SCHEMA = Schema.message("wice", 8, Snapshot.class, "Of protocol `wice`.").of(
                Field.of("handed", Types.NATURAL, Snapshot::handed), Field.of("since", Types.NATURAL, Snapshot::since),
                Field.of("primary", NAME_OF_CLUSTER, Snapshot::primary),
                Field.of("last", Types.map(Types.u8(0, 255), Last.SCHEMA, 256), Snapshot::last),
                Field.of("certified", Types.map(NAME_OF_CLUSTER, Types.COUNT, 256), Snapshot::certified),
                Field.of("kept", Types.list(Relay.SCHEMA, Integer.MAX_VALUE), Snapshot::kept),
                Field.of("certification", NonVotingCertification.Image.SCHEMA, Snapshot::certification),
                Snapshot::new);
    }

    /** From this position on, exclusive, this cluster orders. */
    private record Reign(long after, String cluster) {}

    /** What has come before its turn, from the world's own order or from a relaying replica. */
    private record Waiting(Relay relay, boolean byWorld) {}

    /** Committed here; to be answered once another cluster than that which ordered it has stored it. */
    private record Unstable(long position, TransactionId transaction) {}

    private final Parameters parameters;
    private final ReplicaWorld world;
    private final String cluster;
    private final SnapshotIsolation certification;

    /* A function of the ordered prefix. */
    private final Map<Integer, Last> last = new TreeMap<>();
    private final Map<String, Integer> certified = new TreeMap<>();
    /** The latest is the present one; older ones as long as answers may depend on them. */
    private final ArrayDeque<Reign> reigns = new ArrayDeque<>();
    private long handed;

    /** Of the order and of relays, not handed on yet, by position. */
    private final TreeMap<Long, Waiting> waiting = new TreeMap<>();
    /** Handed on last, for replicas of other clusters that missed it or restart, by position. */
    private final TreeMap<Long, Relay> kept = new TreeMap<>();
    /** Own messages not seen in the order, by number. */
    private final TreeMap<Long, Numbered> pending = new TreeMap<>();
    /** Up to where each node has made positions visible, and handed them on. */
    private final Map<Integer, Long> stored = new HashMap<>();
    private final Map<Integer, Long> reached = new HashMap<>();
    private final ArrayDeque<Unstable> unstable = new ArrayDeque<>();
    /** Positions handed on and not visible that somebody may wait for an answer to. */
    private final ArrayDeque<Long> mattering = new ArrayDeque<>();
    private Set<Integer> alive;
    private long number;
    private long visible;
    /** Last position that the world's own order delivered here. */
    private long worldDelivered;
    /** Where the world's own order began at this replica. */
    private long began;
    private boolean timerRuns;

    /** A replica at the beginning of the order. */
    public Wice(Parameters parameters, ReplicaWorld world) {
        this.parameters = parameters;
        this.world = world;
        this.cluster = parameters.clusterOf(parameters.node());
        this.alive = parameters.replicas();
        this.certification = new SnapshotIsolation(parameters.certification(), new Certifier());
        reigns.add(new Reign(0, parameters.firstPrimary()));
    }

    /** The cluster whose order is the order, as of the last position handed on. */
    public String primaryCluster() {
        return reigns.getLast().cluster();
    }

    @Override
    public Set<Integer> orderers() {
        return parameters.spanning() ? parameters.clusters().getOrDefault(primaryCluster(), Set.of()) : Set.of();
    }

    /** The position after which it has been so. */
    public long primarySince() {
        return reigns.getLast().after();
    }

    // ------------------------------------------------------------------------------------------ into the order

    /** The world of the certification: messages go into the order from wherever they are, answers wait. */
    private final class Certifier extends PassingWorld {
        Certifier() {
            super(Wice.this.world);
        }

        @Override
        public void order(Message message) {
            long life = switch (message) {
                case SnapshotIsolation.Certify certify -> certify.transaction().incarnation();
                case Barrier barrier -> barrier.transaction().incarnation();
                default -> -1;
            };
            if (life < 0) {
                // How far a replica has come may be said twice, or never.
                send(new Numbered(parameters.node(), 0, 0, message));
            } else {
                Numbered numbered = new Numbered(parameters.node(), life, ++number, message);
                pending.put(numbered.number(), numbered);
                send(numbered);
                watch();
            }
        }

        @Override
        public void answer(TransactionId transaction, Outcome outcome) {
            if (outcome instanceof Outcome.Committed committed && committed.position() > 0) {
                unstable.add(new Unstable(committed.position(), transaction));
                answerStable();
                watch();
            } else {
                world.answer(transaction, outcome);
            }
        }
    }

    private boolean orders() {
        return parameters.spanning() || primaryCluster().equals(cluster);
    }

    private void send(Numbered message) {
        if (orders()) {
            world.order(message);
        } else {
            world.multicast(message, Set.of(relaying()));
        }
    }

    /** The replica of the primary cluster that speaks with the other clusters: the lowest that is alive. */
    private int relaying() {
        Set<Integer> nodes = parameters.clusters().getOrDefault(primaryCluster(), Set.of());
        return nodes.stream().filter(alive::contains).min(Integer::compare)
                .orElseGet(() -> nodes.stream().min(Integer::compare).orElseThrow());
    }

    // ------------------------------------------------------------------------------------------ out of the order

    @Override
    public void delivered(long position, int sender, Message message) {
        if (position <= worldDelivered) {
            throw new IllegalStateException("position " + position + " delivered after " + worldDelivered);
        }
        long previous = worldDelivered;
        worldDelivered = position;
        offer(new Relay(position, previous, (Numbered) message), true);
    }

    private void offer(Relay relay, boolean byWorld) {
        if (relay.position() <= handed) {
            return;
        }
        Waiting there = new Waiting(relay, byWorld);
        if (byWorld) {
            waiting.putIfAbsent(relay.position(), there);
        } else if (waiting.size() < parameters.relayMax() || relay.previous() == handed) {
            // Beyond the bound it is forgotten, and sent again later.
            waiting.put(relay.position(), there);
        }
        while (!waiting.isEmpty() && follows(waiting.firstEntry().getValue())) {
            handOn(waiting.pollFirstEntry().getValue().relay());
        }
    }

    /**
     * Whether nothing is missing before it. A relay says which position comes before it; so does the order, except for the
     * first position that it delivers after it began, or began again, at this replica; and what it delivers counts only
     * once this replica knows that it began.
     */
    private boolean follows(Waiting there) {
        if (!there.byWorld()) {
            return there.relay().previous() == handed;
        }
        long since = primaryCluster().equals(cluster) ? Math.max(began, primarySince()) : began;
        return orders() && (there.relay().previous() == handed || handed == since);
    }

    private void handOn(Relay relay) {
        long position = relay.position();
        Numbered message = relay.message();
        long previous = handed;
        handed = position;
        if (!parameters.spanning()) {
            kept.put(position, new Relay(position, previous, message));
            if (kept.size() > parameters.relayMax()) {
                kept.pollFirstEntry();
            }
            relay(List.of(kept.lastEntry().getValue()), others());
        }
        if (message.origin() == parameters.node()) {
            Numbered mine = pending.get(message.number());
            if (mine != null && mine.life() == message.life() && counts(message)) {
                pending.headMap(message.number(), true).clear();
            }
        }
        if (counts(message)) {
            if (message.number() > 0) {
                last.put(message.origin(), new Last(message.life(), message.number()));
            }
            certification.delivered(position, message.origin(), message.message());
            if (message.number() > 0) {
                mattering.add(position);
                maybeMove(position, message.origin());
            }
        } else {
            world.skip(position);
        }
    }

    /** Whether it is the next of its sender. */
    private boolean counts(Numbered message) {
        Last before = last.getOrDefault(message.origin(), new Last(-1, 0));
        return message.number() == 0
                || (message.life() == before.life() && message.number() == before.number() + 1)
                || (message.life() > before.life() && message.number() == 1);
    }

    private void maybeMove(long position, int origin) {
        if (parameters.moveTransactions() == 0) {
            // Nothing is counted that nobody looks at: without an end it would become too large for a snapshot.
            return;
        }
        certified.merge(parameters.clusterOf(origin), 1, Integer::sum);
        int all = certified.values().stream().mapToInt(Integer::intValue).sum();
        if (all < parameters.moveTransactions()) {
            return;
        }
        Map.Entry<String, Integer> busiest = certified.entrySet().stream().max(Map.Entry.comparingByValue())
                .orElseThrow();
        certified.clear();
        if (busiest.getValue() > all / 2 && !busiest.getKey().equals(primaryCluster())) {
            reigns.add(new Reign(position, busiest.getKey()));
        }
    }

    /** The replicas that the world's order does not reach. */
    private Set<Integer> others() {
        Set<Integer> others = parameters.replicas();
        others.removeAll(parameters.clusters().getOrDefault(primaryCluster(), Set.of()));
        return others;
    }

    private void relay(List<Relay> relays, Set<Integer> to) {
        if (relaying() == parameters.node() && !to.isEmpty()) {
            relays.forEach(relay -> world.multicast(relay, to));
            watch();
        }
    }

    @Override
    public void received(int sender, Message message) {
        switch (message) {
            case Numbered numbered -> {
                if (orders()) {
                    world.order(numbered);
                }
            }
            case Relay relay -> {
                if (relay.position() <= visible) {
                    world.multicast(new Stored(visible, handed), Set.of(sender));
                }
                offer(relay, false);
            }
            case Stored told -> {
                stored.merge(sender, told.position(), Math::max);
                reached.put(sender, told.reached());
                answerStable();
                if (told.reached() < handed) {
                    watch();
                }
            }
            case Ask _ -> world.multicast(new Stored(visible, handed), Set.of(sender));
            default -> throw new IllegalArgumentException("not a multicast message of " + NAME + ": " + message);
        }
    }

    // ------------------------------------------------------------------------------------------ stability

    @Override
    public void committed(long position, long horizon) {
        boolean wanted = false;
        long before = visible;
        String by = orderedBy(before + 1);
        for (Reign reign : reigns) {
            by = reign.after() <= before ? by : reign.cluster();
            wanted |= reign.after() < position && !by.equals(cluster);
        }
        boolean matters = false;
        while (!mattering.isEmpty() && mattering.peek() <= position) {
            matters |= mattering.remove() > before;
        }
        visible = position;
        certification.committed(position, horizon);
        Set<Integer> tell = otherClusters();
        if (wanted && matters && !tell.isEmpty()) {
            world.multicast(new Stored(position, handed), tell);
        }
        answerStable();
    }

    private String orderedBy(long position) {
        String by = reigns.getFirst().cluster();
        for (Reign reign : reigns) {
            by = reign.after() < position ? reign.cluster() : by;
        }
        return by;
    }

    private void answerStable() {
        while (!unstable.isEmpty() && stable(unstable.peek().position())) {
            Unstable answered = unstable.remove();
            world.answer(answered.transaction(), new Outcome.Committed(answered.position()));
        }
        long needed = unstable.isEmpty() ? visible : Math.min(visible, unstable.peek().position() - 1);
        while (reigns.size() > 1 && reigns.stream().skip(1).findFirst().orElseThrow().after() < needed) {
            reigns.remove();
        }
    }

    /** Whether another cluster than that which ordered it has it. */
    private boolean stable(long position) {
        String by = orderedBy(position);
        if (parameters.clusters().size() == 1 || !by.equals(cluster)) {
            return true;
        }
        return stored.entrySet().stream()
                .anyMatch(told -> told.getValue() >= position && !parameters.clusterOf(told.getKey()).equals(by));
    }

    // ------------------------------------------------------------------------------------------ once more

    private void watch() {
        if (!timerRuns && (!parameters.spanning() || !unstable.isEmpty())) {
            timerRuns = true;
            world.timer(RETRY_TIMER, parameters.retryNanos());
        }
    }

    @Override
    public void timer(long timer) {
        if (timer != RETRY_TIMER) {
            certification.timer(timer);
            return;
        }
        timerRuns = false;
        ask();
        if (!orders()) {
            pending.values().forEach(this::send);
            if (!pending.isEmpty()) {
                watch();
            }
        }
        for (int node : others()) {
            long has = reached.getOrDefault(node, 0L);
            if (has < handed && alive.contains(node)) {
                relay(List.copyOf(kept.tailMap(has, false).values()), Set.of(node));
            }
        }
    }

    /** What another cluster said of a position may have been lost; whoever waits for it asks. */
    private void ask() {
        if (!unstable.isEmpty()) {
            Set<Integer> asked = otherClusters();
            asked.retainAll(alive);
            if (!asked.isEmpty()) {
                world.multicast(new Ask(), asked);
            }
            watch();
        }
    }

    private Set<Integer> otherClusters() {
        Set<Integer> others = parameters.replicas();
        others.removeAll(parameters.clusters().getOrDefault(cluster, Set.of()));
        return others;
    }

    @Override
    public void view(Set<Integer> nodes) {
        alive = Set.copyOf(nodes);
        certification.view(nodes);
        if (!orders()) {
            // Perhaps it has just begun, or somebody else relays from now on.
            world.multicast(new Stored(visible, handed), Set.of(relaying()));
        }
        watch();
    }

    // ------------------------------------------------------------------------------------------ as si does

    @Override
    public void submitted(TransactionId transaction, TransactionRequest request) {
        certification.submitted(transaction, request);
    }

    @Override
    public void executed(TransactionId transaction, Execution execution) {
        certification.executed(transaction, execution);
    }

    @Override
    public void prepared(TransactionId transaction) {
        certification.prepared(transaction);
    }

    @Override
    public void failed(TransactionId transaction, AbortReason.Failed cause) {
        certification.failed(transaction, cause);
    }

    @Override
    public void victim(TransactionId transaction, long forPosition) {
        certification.victim(transaction, forPosition);
    }

    @Override
    public int remembered() {
        return certification.remembered();
    }

    @Override
    public byte[] snapshot() {
        return new Snapshot(handed, primarySince(), primaryCluster(), last, certified, List.copyOf(kept.values()),
                certification.image()).bytes();
    }

    @Override
    public void restore(byte[] snapshot) {
        Snapshot from = Snapshots.open(snapshot, Snapshot.class);
        handed = from.handed();
        began = handed;
        worldDelivered = handed;
        reigns.clear();
        reigns.add(new Reign(from.since(), from.primary()));
        last.putAll(from.last());
        certified.putAll(from.certified());
        from.kept().forEach(relay -> kept.put(relay.position(), relay));
        certification.restore(from.certification());
    }
}
