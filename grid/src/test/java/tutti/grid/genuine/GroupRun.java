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
import org.jspecify.annotations.Nullable;
import tutti.core.schema.MessageSet;
import tutti.core.txn.TransactionId;
import tutti.grid.CrashingNodes;
import tutti.grid.MulticastProperties;
import tutti.grid.MulticastProperties.Deliveries;
import tutti.grid.multicast.LamportClock;

/**
 * A run of groups of nodes, and of nodes in no group, that send messages to groups, decided by a seed: whatever may happen next happens
 * with some probability, without any notion of time; see {@link CrashingNodes}. At any instant a node may crash, as long as more than half of its group are left, whichever its members may be by then, and any member may be told to lead. Nodes that have
 * crashed are started anew, and others join that were never there, knowing nothing, and others learn of that one by one; what they have sent before is lost. Who has not been taken in by its group counts as crashed. Members leave, and those that have crashed are taken out. When nothing
 * more can happen, the properties of section IV-B of the thesis are checked, of all nodes, those that have crashed included.
 */
final class GroupRun {
    private static final int STEPS_MAX = 300_000;
    private static final int ROUNDS_MAX = 100;
    private static final MessageSet<GenuineMessage> MESSAGES = new MessageSet<>("genuine multicast",
            "As part of the grid's messages.", GenuineMessage.schemas());

    /** Makes the state machine under test. */
    interface Factory {
        GroupMulticast make(int self, Groups groups, GroupMulticast.World world, long process);
    }

    private record Sent(int life, byte[] message) {}

    /** What a leader has asked its group for, in a ballot after the one that it has led. */
    private record Change(int group, long led, Configuration to) {}

    /** What a leader had delivered when a life that is started anew began to copy it. */
    private record Copied(Node from, List<TransactionId> delivered, List<Long> stamps, long stamp,
            GroupMulticast.Over over) {}

    private final class Node implements GroupMulticast.World {
        private final int number;
        private final int life;
        private final int group;
        private final GroupMulticast multicast;
        /** Which life of each node this one talks to. */
        private final int[] talksTo;
        private @Nullable Copied copied;
        private boolean hasAsked;
        /** Whether somebody wanted its group to go on without this life, and whether it knows. */
        private boolean isUnwanted;
        private boolean isOver;
        private final List<TransactionId> delivered = new ArrayList<>();
        private final List<Long> stamps = new ArrayList<>();

        Node(int number, int life) {
            this.number = number;
            this.life = life;
            this.group = groups.groupOf(number);
            this.multicast = factory.make(number, groups, this, life);
            this.talksTo = new int[surroundings.all().size()];
            for (Node other : nodes) {
                talksTo[other.number] = other.life;
            }
        }

        @Override
        public void send(int to, GenuineMessage message) {
            if (!mayTalk(number, to, message)) {
                fail("genuineness: node " + number + " sent " + message + " to node " + to);
            }
            sent++;
            if (talksTo[to] == nodes.get(to).life) {
                surroundings.send(number, to, new Sent(life, message.bytes()));
            }
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

        @Override
        public void over() {
            isOver = true;
            // It may have been taken in by a ballot that others have passed.
            if (!isUnwanted && (life == 0 || multicast.isStable())) {
                fail("node " + number + " is over, and nobody wanted that");
            }
        }

        /** Whether it does not live, or has not been taken in by its group. */
        boolean isAway() {
            return surroundings.isCrashed(number) || !multicast.takesPart();
        }

        boolean isJoining() {
            return !surroundings.isCrashed(number) && !multicast.takesPart() && !isOver && nodes.get(number) == this;
        }

        /** Learns of another life of a node. */
        void talkTo(Node other) {
            if (talksTo[other.number] < other.life) {
                talksTo[other.number] = other.life;
                multicast.begins(other.number, other.life);
                multicast.introduce(other.number);
            }
        }

        boolean leads() {
            return !isAway() && multicast.isLeading();
        }

        /** As the leader: whether it may ask for that. Too few may be left to go on, since some have crashed; then the member must stay. */
        boolean mayTakeOut(int member) {
            Configuration of = multicast.configuration();
            return leads() && member != number && of.has(member) && of.members().size() > 1;
        }

        void takeOut(int member) {
            Node other = nodes.get(member);
            Configuration.Member its = multicast.configuration().of(member);
            if (its != null && its.process() == other.life) {
                other.isUnwanted = true;
            }
            Configuration to = multicast.configuration().without(member);
            long led = multicast.ballot();
            if (multicast.takeOut(member)) {
                changes.add(new Change(group, led, to));
            }
        }

        /** As the leader: whether its group could go on with a member more, if that crashed. */
        boolean mayTakeIn(Node other) {
            Configuration of = multicast.configuration();
            return leads() && !of.has(other.number) && isEnough(
                    of.with(new Configuration.Member(other.number, Long.MAX_VALUE, other.life, "")), -1);
        }

        /** Whether it can, or can take out what is left of a life before. */
        boolean mayGive(Node other) {
            Configuration.Member before = multicast.configuration().of(other.number);
            return mayTakeIn(other) || (before != null && before.process() != other.life && mayTakeOut(other.number));
        }

        boolean takeIn(Node other) {
            long led = multicast.ballot();
            Configuration to = multicast.configuration()
                    .with(new Configuration.Member(other.number, Long.MAX_VALUE, other.life, ""));
            boolean asked = mayTakeIn(other) && multicast.takeIn(other.number, other.life, "");
            if (asked) {
                changes.add(new Change(group, led, to));
            }
            return asked;
        }

        List<Runnable> receipts() {
            return surroundings.receipts(number, (from, _, message) -> {
                if (message.life == nodes.get(from).life) {
                    talkTo(nodes.get(from));
                    multicast.there(from);
                }
                if (message.life == talksTo[from]) {
                    multicast.received(from, MESSAGES.decode(ByteBuffer.wrap(message.message)));
                }
            });
        }

        // As a life that is started anew.

        /** Copies what its leader has, if there is one; what is left of a life before must be taken out first. */
        void copy(Node leader) {
            leader.talkTo(this);
            Configuration.Member before = leader.multicast.configuration().of(number);
            if (before != null && before.process() != life && leader.mayTakeOut(number)) {
                leader.takeOut(number);
            }
            GroupMulticast.Over over = leader.multicast.give(number, life);
            if (over != null) {
                copied = new Copied(leader, List.copyOf(leader.delivered), List.copyOf(leader.stamps),
                        leader.multicast.deliveredStamp(), over);
            }
        }

        void ask(Copied all) {
            hasAsked = true;
            delivered.addAll(all.delivered);
            stamps.addAll(all.stamps);
            multicast.given(all.stamp, all.over);
            if (surroundings.isCrashed(all.from.number) || nodes.get(all.from.number) != all.from
                    || !all.from.takeIn(this)) {
                beginAnew();
            }
        }

        void beginAnew() {
            if (isJoining() && hasAsked) {
                start(this);
            } else if (isJoining()) {
                copied = null;
            }
        }
    }

    private final Random random;
    private final Groups groups;
    private final Factory factory;
    private final CrashingNodes<Sent> surroundings;
    private final List<Node> nodes = new ArrayList<>();
    private final List<Node> past = new ArrayList<>();
    /** By message: which life of its node has sent it. */
    private final Map<TransactionId, Node> senders = new HashMap<>();
    private final Map<TransactionId, Set<Integer>> destinations = new LinkedHashMap<>();
    private final Set<TransactionId> finished = new HashSet<>();
    private final List<String> failures = new ArrayList<>();
    private final List<Change> changes = new ArrayList<>();
    private int unsent;
    private int leavesLeft;
    private int crashesLeft;
    private int leadsLeft;
    private int ticksLeft;
    private int startsLeft;
    private int crashes;
    private long sent;
    private int steps;

    /** A run of some groups, messages and crashes. */
    GroupRun(long seed, Factory factory) {
        random = new Random(seed);
        this.factory = factory;
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
        int number = count + random.nextInt(3);
        Map<Integer, Integer> others = new TreeMap<>();
        for (int joining = random.nextInt(4); joining > 0; joining--) {
            others.put(number++, random.nextInt(groupCount));
        }
        groups = new Groups(members, others);
        surroundings = new CrashingNodes<>(number, random);
        for (int i = 0; i < number; i++) {
            nodes.add(new Node(i, 0));
        }
        // Those that join have not been there.
        others.keySet().forEach(surroundings::crash);
        unsent = 1 + random.nextInt(25);
        crashesLeft = random.nextInt(4) == 0 ? 0 : random.nextInt(nodes.size());
        ticksLeft = random.nextInt(20);
        leadsLeft = random.nextInt(3) == 0 ? 0 : random.nextInt(8);
        // In half of the runs no more crash than can be missed for ever.
        startsLeft = random.nextBoolean() ? 0 : 1 + random.nextInt(8);
        crashesLeft += startsLeft;
        startsLeft += others.isEmpty() ? 0 : random.nextInt(2 * others.size() + 1);
        leavesLeft = random.nextBoolean() ? 0 : random.nextInt(5);
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
            case GenuineMessage.Delivered of -> concerns(of.id(), from) && concerns(of.id(), to);
            case GenuineMessage.Prepare _,GenuineMessage.Part _,GenuineMessage.Promise _,GenuineMessage.Install _,GenuineMessage.Installed _,GenuineMessage.Passed _ ->
                groups.groupOf(from) == groups.groupOf(to);
            // To all, when members come or go.
            case GenuineMessage.Members _ -> true;
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
                nodes.stream().filter(node -> node.isOver && !surroundings.isCrashed(node.number))
                        .forEach(node -> surroundings.crash(node.number));
                List<Runnable> possible = receipts();
                if (unsent > 0 && random.nextInt(20) < sendWeight && !alive().isEmpty()) {
                    possible.add(this::sendOne);
                }
                for (Node node : nodes) {
                    if (node.isJoining()) {
                        joiningOf(node, possible);
                    }
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
        } catch (IllegalStateException | IllegalArgumentException thrown) {
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
        return nodes.stream().filter(node -> !node.isAway()).toList();
    }

    private void joiningOf(Node node, List<Runnable> possible) {
        Copied copied = node.copied;
        if (copied == null) {
            alive().stream().filter(leader -> leader.group == node.group && leader.mayGive(node)).findFirst()
                    .ifPresent(leader -> possible.add(() -> node.copy(leader)));
        } else if (!node.hasAsked) {
            possible.add(() -> node.ask(copied));
        } else if (random.nextInt(50) == 0) {
            // It has waited for long, it thinks.
            possible.add(node::beginAnew);
        }
    }

    private List<Runnable> rare() {
        List<Runnable> possible = new ArrayList<>();
        List<Node> alive = alive();
        if (startsLeft > 0) {
            nodes.stream().filter(node -> surroundings.isCrashed(node.number) && node.group >= 0)
                    .forEach(node -> possible.add(() -> {
                        startsLeft--;
                        start(node);
                    }));
        }
        Node other = nodes.get(random.nextInt(nodes.size()));
        if (crashesLeft > 0 && other.isJoining()) {
            possible.add(() -> crash(other));
        } else if (!alive.isEmpty() && !other.isAway()) {
            possible.add(() -> alive.get(random.nextInt(alive.size())).talkTo(other));
        }
        if (alive.isEmpty()) {
            return possible;
        }
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
        if (other.group == one.group && one.mayTakeOut(other.number)
                && (surroundings.isCrashed(other.number) || leavesLeft > 0)) {
            possible.add(() -> {
                leavesLeft -= other.isAway() ? 0 : 1;
                one.takeOut(other.number);
            });
        }
        if (ticksLeft > 0) {
            possible.add(() -> {
                ticksLeft--;
                one.multicast.tick();
                // Now and then all do, so that what is over is forgotten.
                (random.nextBoolean() ? alive : List.of(one)).forEach(node -> node.multicast.announce());
            });
        }
        return possible;
    }

    private boolean mayCrash(Node node) {
        return node.group < 0 || configurations(node.group).stream().allMatch(of -> isEnough(of, node.number));
    }

    /** Whether more than half of these are there, without one of them. */
    private boolean isEnough(Configuration of, int without) {
        long left = of.members().stream().filter(member -> member.node() != without
                && !nodes.get(member.node()).isAway() && nodes.get(member.node()).life == member.process()).count();
        return left >= of.quorum();
    }

    /** Whatever may be the configuration of a group in the next ballot: no ballot has a parent below one that is stable. */
    private List<Configuration> configurations(int group) {
        List<Node> members = all().stream()
                .filter(node -> node.group == group && (node.multicast.takesPart() || node.isOver)).toList();
        long stable = members.stream().filter(node -> node.multicast.isStable())
                .mapToLong(node -> node.multicast.ballot()).max().orElse(0);
        List<Configuration> all = new ArrayList<>(members.stream().filter(node -> node.multicast.ballot() >= stable)
                .map(node -> node.multicast.configuration()).toList());
        changes.stream().filter(change -> change.group == group && change.led >= stable).map(Change::to)
                .filter(this::mayBeJoined).forEach(all::add);
        return all;
    }

    /** Who is taken in joins a ballot before anybody else does. */
    private boolean mayBeJoined(Configuration next) {
        return next.members().stream().filter(member -> member.since() == Long.MAX_VALUE)
                .allMatch(member -> all().stream().anyMatch(node -> node.number == member.node()
                        && node.life == member.process() && (node.multicast.takesPart() || node.isOver)));
    }

    private void crash(Node node) {
        crashesLeft--;
        crashes++;
        surroundings.crash(node.number);
    }

    private void start(Node before) {
        past.add(before);
        before.isUnwanted = true;
        surroundings.start(before.number);
        nodes.set(before.number, new Node(before.number, before.life + 1));
    }

    private void sendOne() {
        List<Node> alive = alive();
        Node sender = alive.get(random.nextInt(alive.size()));
        Set<Integer> to = new TreeSet<>();
        int wanted = 1 + random.nextInt(groups.members().size());
        while (to.size() < wanted) {
            to.add(random.nextInt(groups.members().size()));
        }
        TransactionId id = new TransactionId(sender.number, sender.multicast.firstSerial()
                + destinations.keySet().stream().filter(one -> one.node() == sender.number).count());
        senders.put(id, sender);
        destinations.put(id, to);
        unsent--;
        sender.multicast.send(id, to, new byte[]{(byte) id.serial()});
    }

    /** Whether all that is owed has been done. */
    private boolean isAtRest() {
        return failures.isEmpty() && nodes.stream().noneMatch(node -> node.isJoining() && !isAlone(node.group))
                && alive().stream().allMatch(node -> node.multicast.pending().isEmpty()
                        && destinations.keySet().stream()
                                .filter(id -> isOwed(id) && destinations.get(id).contains(node.group))
                                .allMatch(node.delivered::contains)
                        && !node.multicast.isWaiting())
                && destinations.keySet().stream()
                        .allMatch(id -> !isSenderAlive(id) || finished.contains(id));
    }

    /** A group of one takes in nobody: if that one crashed then, nobody could go on. */
    private boolean isAlone(int group) {
        return alive().stream()
                .anyMatch(node -> node.group == group && node.multicast.configuration().members().size() == 1);
    }

    private boolean isSenderAlive(TransactionId id) {
        return !surroundings.isCrashed(id.node()) && nodes.get(id.node()) == senders.get(id);
    }

    private boolean isOwed(TransactionId id) {
        return isSenderAlive(id) || all().stream().anyMatch(node -> node.delivered.contains(id));
    }

    /** Lives that are over as well. */
    private List<Node> all() {
        List<Node> all = new ArrayList<>(past);
        all.addAll(nodes);
        return all;
    }

    /** Nothing happens any more unless time passes: then leaders that are gone are replaced, and all learn of lives that have begun. */
    private void help(int round) {
        for (int group : groups.members().keySet()) {
            List<Node> all = nodes.stream().filter(node -> node.group == group).toList();
            all.stream().filter(Node::isJoining).toList().forEach(Node::beginAnew);
            List<Node> left = all.stream().filter(node -> !node.isAway()).toList();
            if (left.stream().noneMatch(Node::leads) || left.stream().anyMatch(node -> node.multicast.isWaiting())) {
                left.get(round % left.size()).multicast.lead();
            } else if (round % 2 == 0) {
                // Who does not come back is given up.
                left.stream().filter(Node::leads).forEach(leader -> leader.multicast.configuration().nodes().stream()
                        .filter(member -> nodes.get(member).isAway() && leader.mayTakeOut(member)).findFirst()
                        .ifPresent(leader::takeOut));
            }
        }
        // Connections are made anew.
        alive().forEach(node -> alive().forEach(node::talkTo));
        introduceAll();
        alive().forEach(node -> node.multicast.tick());
    }

    private void introduceAll() {
        alive().forEach(node -> nodes.stream().filter(other -> !surroundings.isCrashed(other.number))
                .forEach(other -> node.multicast.introduce(other.number)));
    }

    // ------------------------------------------------------------------------------------------ the properties

    private void check() {
        MulticastProperties properties = new MulticastProperties(
                all().stream().map(node -> new Deliveries(node.number, node.delivered, node.stamps)).toList(),
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
        for (Node node : all()) {
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

    /** When all have told how far they are, nothing is kept. */
    private void forgotten() {
        for (Node node : alive()) {
            nodes.stream().filter(Node::isAway).forEach(other -> node.multicast.gone(other.number));
            alive().forEach(other -> {
                node.talkTo(other);
                node.multicast.there(other.number);
            });
        }
        // What one has finished later may stand in the way of another's.
        for (int i = 0; i < 6; i++) {
            introduceAll();
            alive().forEach(node -> node.multicast.tick());
            alive().forEach(node -> node.multicast.announce());
            for (List<Runnable> all = receipts(); !all.isEmpty(); all = receipts()) {
                all.getFirst().run();
            }
        }
        for (Node node : alive()) {
            if (node.multicast.size() > 0) {
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

    /** Lives that were taken in by their group. */
    long takenIn() {
        return all().stream().filter(node -> node.life > 0 && node.multicast.takesPart()).count();
    }

    /** Members that have gone, but did not crash. */
    long left() {
        return all().stream().filter(node -> node.isOver).count();
    }

    /** Whether nobody but the first ever led. */
    boolean isFirstBallot() {
        return nodes.stream().allMatch(node -> node.group < 0 || (node.multicast.ballot() < LamportClock.NODES_MAX
                && node.multicast.ballot() == groups.firstBallot(node.group)));
    }

    long messages() {
        return sent;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("groups ").append(groups).append(", messages ")
                .append(destinations).append(", steps ").append(steps);
        for (Node node : nodes) {
            text.append("\n node ").append(node.number).append(" life ").append(node.life)
                    .append(node.isOver ? " over" : "")
                    .append(surroundings.isCrashed(node.number) ? " crashed" : node.isAway() ? " joining" : "")
                    .append(" ballot ")
                    .append(node.multicast.ballot()).append(node.multicast.isWaiting() ? " waiting" : "")
                    .append(" of ").append(node.multicast.configuration().members().stream()
                            .map(member -> member.node() + "/" + member.process()).toList())
                    .append(" delivered ").append(node.delivered).append(node.stamps).append(" waits for ")
                    .append(node.multicast.pending());
        }
        return text.toString();
    }
}
