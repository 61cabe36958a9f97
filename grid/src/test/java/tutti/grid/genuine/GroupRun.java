package tutti.grid.genuine;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import tutti.core.schema.MessageSet;
import tutti.core.txn.TransactionId;
import tutti.grid.CrashingNodes;
import tutti.grid.MulticastProperties;
import tutti.grid.MulticastProperties.Deliveries;

/**
 * A run of groups of nodes, and of nodes in no group, that send messages to groups, decided by a seed: whatever may happen next happens
 * with some probability, without any notion of time; see {@link CrashingNodes}. At any instant a node may crash, as long as more than half of its group are left, and any member may be told to lead. When nothing
 * more can happen, the properties of section IV-B of the thesis are checked, of all nodes, those that have crashed included.
 */
final class GroupRun {
    private static final int STEPS_MAX = 300_000;
    private static final int ROUNDS_MAX = 60;
    private static final MessageSet<GenuineMessage> MESSAGES = new MessageSet<>("genuine multicast",
            "As part of the grid's messages.", GenuineMessage.schemas());

    /** Makes the state machine under test. */
    interface Factory {
        GroupMulticast make(int self, Groups groups, GroupMulticast.World world);
    }

    private final class Node implements GroupMulticast.World {
        private final int number;
        private final int group;
        private final GroupMulticast multicast;
        private final List<TransactionId> delivered = new ArrayList<>();
        private final List<Long> stamps = new ArrayList<>();

        Node(int number, Factory factory) {
            this.number = number;
            this.group = groups.groupOf(number);
            this.multicast = factory.make(number, groups, this);
        }

        @Override
        public void send(int to, GenuineMessage message) {
            if (!mayTalk(number, to, message)) {
                fail("genuineness: node " + number + " sent " + message + " to node " + to);
            }
            sent++;
            surroundings.send(number, to, message.bytes());
        }

        @Override
        public void delivered(TransactionId id, long stamp, byte[] payload) {
            delivered.add(id);
            stamps.add(stamp);
            if (payload.length != 1 || payload[0] != (byte) id.serial()) {
                fail("node " + number + " delivered " + id + " with another payload");
            }
        }

        @Override
        public void finished(TransactionId id, long stamp) {
            if (!finished.add(id)) {
                fail("node " + number + " was told twice that " + id + " is finished");
            }
        }

        boolean isCrashed() {
            return surroundings.isCrashed(number);
        }

        List<Runnable> receipts() {
            return surroundings.receipts(number,
                    (from, _, message) -> multicast.received(from, MESSAGES.decode(ByteBuffer.wrap(message))));
        }
    }

    private final Random random;
    private final Groups groups;
    private final CrashingNodes<byte[]> surroundings;
    private final List<Node> nodes = new ArrayList<>();
    private final Map<TransactionId, Set<Integer>> destinations = new LinkedHashMap<>();
    private final Set<TransactionId> finished = new HashSet<>();
    private final List<String> failures = new ArrayList<>();
    private int unsent;
    private int crashesLeft;
    private int leadsLeft;
    private int ticksLeft;
    private int crashes;
    private long sent;
    private int steps;

    /** A run of some groups, messages and crashes. */
    GroupRun(long seed, Factory factory) {
        random = new Random(seed);
        Map<Integer, List<Integer>> members = new TreeMap<>();
        int count = 0;
        int groupCount = 1 + random.nextInt(3);
        for (int group = 0; group < groupCount; group++) {
            List<Integer> of = new ArrayList<>();
            for (int size = List.of(1, 2, 3, 3, 3, 4, 5).get(random.nextInt(7)); size > 0; size--) {
                of.add(count++);
            }
            members.put(group, of);
        }
        groups = new Groups(members);
        int number = 0;
        while (number < count + random.nextInt(3)) {
            number++;
        }
        surroundings = new CrashingNodes<>(number, random);
        for (int i = 0; i < number; i++) {
            nodes.add(new Node(i, factory));
        }
        unsent = 1 + random.nextInt(25);
        crashesLeft = random.nextInt(4) == 0 ? 0 : random.nextInt(nodes.size());
        ticksLeft = random.nextInt(20);
        leadsLeft = random.nextInt(3) == 0 ? 0 : random.nextInt(8);
    }

    private void fail(String what) {
        failures.add(what);
    }

    private boolean concerns(TransactionId id, int node) {
        return id.node() == node || destinations.getOrDefault(id, Set.of()).contains(groups.groupOf(node));
    }

    /** Of a message: its sender and destinations; about ballots: a group; about progress: who has a message in common. */
    private boolean mayTalk(int from, int to, GenuineMessage message) {
        return switch (message) {
            case GenuineMessage.Data of -> concerns(of.id(), from) && concerns(of.id(), to);
            case GenuineMessage.Accept of -> concerns(of.id(), from) && concerns(of.id(), to);
            case GenuineMessage.Ack of -> concerns(of.id(), from) && concerns(of.id(), to);
            case GenuineMessage.Delivered of -> concerns(of.id(), from) && of.id().node() == to;
            case GenuineMessage.Prepare _,GenuineMessage.Part _,GenuineMessage.Promise _,GenuineMessage.Install _,GenuineMessage.Installed _,GenuineMessage.Passed _ ->
                groups.groupOf(from) == groups.groupOf(to);
            case GenuineMessage.Progress _ ->
                destinations.keySet().stream().anyMatch(id -> concerns(id, from) && concerns(id, to));
        };
    }

    /** Runs until nothing more can happen; what is wrong, or nothing. */
    List<String> run() {
        int sendWeight = 1 + random.nextInt(20);
        int rareWeight = 1 + random.nextInt(6);
        try {
            int round = 0;
            while (failures.isEmpty() && steps++ < STEPS_MAX && round < ROUNDS_MAX) {
                List<Runnable> possible = receipts();
                if (unsent > 0 && random.nextInt(20) < sendWeight) {
                    possible.add(this::sendOne);
                }
                if (random.nextInt(100) < rareWeight) {
                    List<Runnable> rare = rare();
                    possible = rare.isEmpty() ? possible : rare;
                }
                if (!possible.isEmpty()) {
                    possible.get(random.nextInt(possible.size())).run();
                } else if (unsent == 0) {
                    if (isAtRest()) {
                        break;
                    }
                    help(round++);
                }
            }
            if (failures.isEmpty()) {
                check();
            }
        } catch (IllegalStateException thrown) {
            fail("thrown: " + thrown.getMessage());
        }
        return failures;
    }

    private List<Runnable> receipts() {
        List<Runnable> possible = new ArrayList<>();
        nodes.forEach(node -> possible.addAll(node.receipts()));
        return possible;
    }

    private List<Node> alive() {
        return nodes.stream().filter(node -> !node.isCrashed()).toList();
    }

    private List<Runnable> rare() {
        List<Runnable> possible = new ArrayList<>();
        List<Node> alive = alive();
        Node one = alive.get(random.nextInt(alive.size()));
        if (crashesLeft > 0 && mayCrash(one)) {
            possible.add(() -> crash(one));
        }
        if (leadsLeft > 0 && one.group >= 0) {
            possible.add(() -> {
                leadsLeft--;
                one.multicast.lead();
            });
        }
        if (ticksLeft > 0) {
            possible.add(() -> {
                ticksLeft--;
                one.multicast.tick();
                one.multicast.announce();
            });
        }
        return possible;
    }

    private boolean mayCrash(Node node) {
        if (node.group < 0) {
            return true;
        }
        long left = groups.of(node.group).stream().filter(member -> !surroundings.isCrashed(member)).count();
        return left - 1 >= groups.quorum(node.group);
    }

    private void crash(Node node) {
        crashesLeft--;
        crashes++;
        surroundings.crash(node.number);
    }

    private void sendOne() {
        List<Node> alive = alive();
        Node sender = alive.get(random.nextInt(alive.size()));
        Set<Integer> to = new TreeSet<>();
        int wanted = 1 + random.nextInt(groups.members().size());
        while (to.size() < wanted) {
            to.add(random.nextInt(groups.members().size()));
        }
        TransactionId id = new TransactionId(sender.number, destinations.size());
        destinations.put(id, to);
        unsent--;
        sender.multicast.send(id, to, new byte[]{(byte) id.serial()});
    }

    /** Whether all that is owed has been done. */
    private boolean isAtRest() {
        return failures.isEmpty() && alive().stream().allMatch(node -> node.multicast.pending().isEmpty()
                && destinations.keySet().stream().filter(id -> isOwed(id) && destinations.get(id).contains(node.group))
                        .allMatch(node.delivered::contains)
                && !node.multicast.isWaiting())
                && destinations.keySet().stream()
                        .allMatch(id -> surroundings.isCrashed(id.node()) || finished.contains(id));
    }

    private boolean isOwed(TransactionId id) {
        return !surroundings.isCrashed(id.node()) || nodes.stream().anyMatch(node -> node.delivered.contains(id));
    }

    /** Nothing happens any more unless time passes: then leaders that are gone are replaced. */
    private void help(int round) {
        for (List<Integer> members : groups.members().values()) {
            List<Node> left = members.stream().map(nodes::get).filter(node -> !node.isCrashed()).toList();
            if (left.stream().noneMatch(node -> node.multicast.isLeading())
                    || left.stream().anyMatch(node -> node.multicast.isWaiting())) {
                left.get(round % left.size()).multicast.lead();
            }
        }
        alive().forEach(node -> node.multicast.tick());
    }

    // ------------------------------------------------------------------------------------------ the properties

    private void check() {
        MulticastProperties properties = new MulticastProperties(
                nodes.stream().map(node -> new Deliveries(node.number, node.delivered, node.stamps)).toList(),
                (id, node) -> destinations.getOrDefault(id, Set.of()).contains(nodes.get(node).group), this::fail);
        properties.integrity();
        oneStamp();
        properties.prefixOrder();
        if (failures.isEmpty() && !isAtRest()) {
            fail("validity, uniform agreement or liveness: not all that is owed was delivered");
        }
        if (failures.isEmpty()) {
            forgotten();
        }
    }

    /** Stamps are the same everywhere, and different for different messages: the order is acyclic. */
    private void oneStamp() {
        Map<TransactionId, Long> stampOf = new HashMap<>();
        Map<Long, TransactionId> messageOf = new HashMap<>();
        for (Node node : nodes) {
            for (int i = 0; i < node.delivered.size(); i++) {
                Long stamp = stampOf.putIfAbsent(node.delivered.get(i), node.stamps.get(i));
                TransactionId other = messageOf.putIfAbsent(node.stamps.get(i), node.delivered.get(i));
                if ((stamp != null && !stamp.equals(node.stamps.get(i)))
                        || (other != null && !other.equals(node.delivered.get(i)))) {
                    fail("uniform acyclic order: " + node.delivered.get(i) + " and " + other + " have stamps " + stamp
                            + " and " + node.stamps.get(i));
                }
            }
        }
    }

    /** When all have told how far they are, nothing is kept, but what nobody owes to anybody. */
    private void forgotten() {
        for (Node node : alive()) {
            nodes.stream().filter(other -> other.isCrashed()).forEach(other -> node.multicast.gone(other.number));
        }
        // What one has finished later may stand in the way of another's.
        for (int i = 0; i < 3; i++) {
            alive().forEach(node -> node.multicast.announce());
            for (List<Runnable> all = receipts(); !all.isEmpty(); all = receipts()) {
                all.getFirst().run();
            }
        }
        long lost = destinations.keySet().stream().filter(id -> !isOwed(id)).count();
        for (Node node : alive()) {
            if (node.multicast.size() > lost) {
                fail("memory: node " + node.number + " still keeps " + node.multicast.size() + " messages");
            }
        }
    }

    int deliveries() {
        return nodes.stream().mapToInt(node -> node.delivered.size()).sum();
    }

    int crashes() {
        return crashes;
    }

    long ballots() {
        return nodes.stream().mapToLong(node -> node.multicast.ballot()).max().orElse(0);
    }

    long messages() {
        return sent;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("groups ").append(groups.members()).append(", messages ")
                .append(destinations).append(", steps ").append(steps);
        for (Node node : nodes) {
            text.append("\n node ").append(node.number).append(node.isCrashed() ? " crashed" : "").append(" ballot ")
                    .append(node.multicast.ballot()).append(node.multicast.isWaiting() ? " waiting" : "")
                    .append(" delivered ").append(node.delivered).append(node.stamps).append(" waits for ")
                    .append(node.multicast.pending());
        }
        return text.toString();
    }
}
