package tutti.grid.multicast;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import tutti.core.txn.TransactionId;
import tutti.grid.CrashingNodes;
import tutti.grid.MulticastProperties;
import tutti.grid.MulticastProperties.Deliveries;

/**
 * A run of nodes that send messages to each other, decided by a seed: whatever may happen next happens with some probability,
 * without any notion of time; see {@link CrashingNodes}. When nothing more can happen, the properties of section IV-B of the paper are checked.
 */
final class MulticastRun {
    private static final int STEPS_MAX = 200_000;

    /** Makes the state machine under test. */
    interface Factory {
        Multicast make(int self, Multicast.Steps steps, int crashes, LamportClock clock, Set<Integer> view,
                Multicast.World world);
    }

    /** How far a node has delivered: its heartbeat. The other messages are those of the protocol. */
    private record Settled(long stamp) {}

    private final class Node implements Multicast.World {
        private final int number;
        private final LamportClock clock;
        private final Multicast multicast;
        private final List<TransactionId> delivered = new ArrayList<>();
        private final Map<Integer, Long> settled = new HashMap<>();
        private final List<Long> stamps = new ArrayList<>();

        Node(int number, Factory factory, Multicast.Steps steps) {
            this.number = number;
            this.clock = new LamportClock(number);
            this.multicast = factory.make(number, steps, crashes, clock, surroundings.all(), this);
        }

        boolean isCorrect() {
            return surroundings.isCorrect(number);
        }

        @Override
        public void send(int to, MulticastMessage message) {
            Set<Integer> concerned = concerned(message.id());
            if (!concerned.contains(number) || !concerned.contains(to)) {
                fail("genuineness: node " + number + " sent " + message + " to node " + to);
            }
            surroundings.send(number, to, message);
        }

        @Override
        public void announced(Ordered message) {
            if (delivered.contains(message.id())) {
                fail("node " + number + " was told again of " + message);
            }
        }

        @Override
        public void ordered(Ordered message) {
            // Nothing follows here.
        }

        @Override
        public void delivered(Ordered message) {
            delivered.add(message.id());
            stamps.add(message.stamp());
        }

        @Override
        public void lost(Ordered message) {
            lost.add(message.id());
        }

        void received(int from, int view, Object message) {
            if (!(message instanceof Settled settledThere)) {
                multicast.received(from, (MulticastMessage) message);
            } else if (view == surroundings.view(number)) {
                settled.put(from, settledThere.stamp);
                forget();
            }
        }

        /** As a heartbeat does. */
        void announce() {
            settled.put(number, multicast.settled());
            for (int to : surroundings.members(number)) {
                if (to != number) {
                    surroundings.send(number, to, new Settled(multicast.settled()));
                }
            }
            forget();
        }

        private void forget() {
            Set<Integer> members = surroundings.members(number);
            if (settled.keySet().containsAll(members)) {
                multicast.forget(members.stream().mapToLong(settled::get).min().orElse(0));
            }
        }

        void changeView() {
            settled.clear();
            int view = surroundings.changeView(number);
            surroundings.enter(number);
            multicast.view(view, surroundings.members(number));
        }
    }

    private final Random random;
    private final int crashes;
    private final CrashingNodes<Object> surroundings;
    private final List<Node> nodes = new ArrayList<>();
    private final Map<TransactionId, Set<Integer>> destinations = new LinkedHashMap<>();
    private final Set<TransactionId> lost = new HashSet<>();
    private final List<String> failures = new ArrayList<>();
    private final boolean forgets;
    private int unsent;
    private int crashesLeft;
    private int steps;

    /**
     * A run of some nodes, messages and crashes.
     *
     * @param crashes at a time, for which uniformity is promised
     */
    MulticastRun(long seed, Factory factory, Multicast.Steps steps, int crashes) {
        random = new Random(seed);
        this.crashes = crashes;
        int count = 2 + random.nextInt(5);
        surroundings = new CrashingNodes<>(count, random);
        for (int i = 0; i < count; i++) {
            nodes.add(new Node(i, factory, steps));
            // Some have seen more than others.
            nodes.get(i).clock.seen(random.nextInt(1 << 14));
        }
        unsent = 1 + random.nextInt(30);
        crashesLeft = random.nextInt(4) == 0 ? 0 : random.nextInt(count);
        forgets = random.nextBoolean();
    }

    /** From now on messages do not wait for the view in which they were sent: more than the state machine must bear. */
    MulticastRun withoutHolding() {
        surroundings.holdNothing();
        return this;
    }

    private void fail(String what) {
        failures.add(what);
    }

    private Set<Integer> concerned(TransactionId id) {
        Set<Integer> concerned = new TreeSet<>(destinations.getOrDefault(id, Set.of()));
        concerned.add(id.node());
        return concerned;
    }

    /** Runs until nothing more can happen; what is wrong, or nothing. */
    List<String> run() {
        int sendWeight = 1 + random.nextInt(20);
        int crashWeight = 1 + random.nextInt(5);
        while (failures.isEmpty() && steps++ < STEPS_MAX) {
            List<Runnable> possible = new ArrayList<>();
            for (Node node : nodes) {
                possible.addAll(surroundings.receipts(node.number, node::received));
                if (surroundings.canChangeView(node.number)) {
                    possible.add(node::changeView);
                }
            }
            if (unsent > 0 && random.nextInt(20) < sendWeight) {
                possible.add(this::sendOne);
            }
            if (crashesLeft > 0 && random.nextInt(40) < crashWeight && mayCrash()) {
                possible.add(this::crash);
            }
            if (possible.isEmpty()) {
                if (unsent == 0) {
                    break;
                }
                continue;
            }
            possible.get(random.nextInt(possible.size())).run();
            if (forgets && random.nextInt(10) == 0) {
                nodes.get(random.nextInt(nodes.size())).announce();
            }
        }
        if (failures.isEmpty()) {
            check();
        }
        return failures;
    }

    int deliveries() {
        return nodes.stream().mapToInt(node -> node.delivered.size()).sum();
    }

    int views() {
        return surroundings.views();
    }

    private void sendOne() {
        List<Node> able = nodes.stream().filter(node -> !surroundings.isCrashed(node.number)).toList();
        Node sender = able.get(random.nextInt(able.size()));
        Set<Integer> to = new TreeSet<>();
        List<Integer> members = List.copyOf(surroundings.members(sender.number));
        int wanted = 1 + random.nextInt(Math.min(4, members.size()));
        while (to.size() < wanted) {
            to.add(members.get(random.nextInt(members.size())));
        }
        TransactionId id = new TransactionId(sender.number, destinations.size());
        destinations.put(id, to);
        unsent--;
        sender.multicast.send(id, to, new byte[0]);
    }

    /** So many at a time as is promised: all must have recovered from those before. */
    private boolean mayCrash() {
        return nodes.stream().filter(Node::isCorrect)
                .allMatch(node -> surroundings.isInLast(node.number) && node.multicast.isSettled());
    }

    private void crash() {
        int most = Math.max(1, crashes);
        int now = Math.min(crashesLeft, 1 + random.nextInt(most));
        crashesLeft -= now;
        surroundings.goOnWithout(now);
    }

    // ------------------------------------------------------------------------------------------ the properties

    private void check() {
        if (steps >= STEPS_MAX) {
            fail("it does not come to rest");
            return;
        }
        // What is promised of nodes that crashed depends on how many may crash at a time.
        List<Node> bound = nodes.stream().filter(node -> crashes > 0 || node.isCorrect()).toList();
        properties(nodes).integrity();
        for (Node node : nodes) {
            if (node.isCorrect() && !node.multicast.pending().isEmpty()) {
                fail("liveness: node " + node.number + " waits for " + node.multicast.pending());
            }
        }
        destinations.forEach((id, to) -> agreement(id, to, bound));
        properties(bound).prefixOrder();
        properties(bound).acyclicOrder();
    }

    private MulticastProperties properties(List<Node> of) {
        return new MulticastProperties(
                of.stream().map(node -> new Deliveries(node.number, node.delivered, node.stamps)).toList(),
                (id, node) -> destinations.getOrDefault(id, Set.of()).contains(node), this::fail);
    }

    private void agreement(TransactionId id, Set<Integer> to, List<Node> bound) {
        boolean owed = nodes.get(id.node()).isCorrect() || bound.stream().anyMatch(node -> node.delivered.contains(id));
        for (int number : to) {
            Node node = nodes.get(number);
            if (owed && node.isCorrect() && !node.delivered.contains(id)) {
                fail("validity or uniform agreement: node " + number + " has not delivered " + id + " to " + to);
            }
        }
        if (lost.contains(id) && to.stream().anyMatch(number -> nodes.get(number).isCorrect())) {
            fail("a message was given up with a destination left: " + id + " to " + to);
        }
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("views ").append(surroundings).append(", messages ")
                .append(destinations);
        for (Node node : nodes) {
            text.append("\n node ").append(node.number).append(" delivered ").append(node.delivered)
                    .append(Arrays.toString(node.stamps.toArray()));
        }
        return text.toString();
    }
}
