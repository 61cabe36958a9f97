package tutti.grid.commit;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Encoded;
import tutti.core.txn.TransactionId;
import tutti.grid.CommitProtocol;
import tutti.grid.CrashingNodes;
import tutti.grid.multicast.LamportClock;
import tutti.grid.multicast.Multicast;
import tutti.grid.store.Floors;
import tutti.grid.store.Key;
import tutti.grid.store.Layouts;
import tutti.grid.store.RingOwners;
import tutti.grid.store.Store;
import tutti.grid.store.Version;
import tutti.grid.view.View;
import tutti.grid.view.ViewEntry;

/**
 * A run of nodes that read and commit on each other's keys, decided by a seed: whatever may happen next happens with some probability, without
 * any notion of time; see {@link CrashingNodes}. One node at a time crashes, or is left out though it lives. When
 * nothing more can happen, it is looked at what owners have applied, what clients were answered, and what snapshots have found.
 */
final class CommitsRun {
    private static final long LOCK_TIMEOUT = 100;
    private static final int STEPS_MAX = 200_000;
    private static final int TICKS_MAX = 100;

    /** Sent when the sender's clock was so far: what the protocol says, or one of the four below. */
    private record Sent(long clock, Object message) {}

    /** The sender takes nothing any more from who is not in this view. */
    private record Closed(int view) {}

    /** How far a node has settled: its heartbeat. */
    private record Settled(long stamp) {}

    private record Ask(Running of, Key key, boolean latest) {}

    private record Told(Running of, Key key, long stamp) {}

    private record Found(Key key, Running of, long stamp, Node by) {}

    /** A transaction that ran. */
    private final class Running {
        private final Node node;
        private final TransactionId id;
        private final long begin;
        private final boolean snapshot;
        private final Deque<Key> unread;
        private final List<CommitRequest.Write> writes = new ArrayList<>();
        private final List<CommitRequest.Check> checks = new ArrayList<>();
        private int asked = -1;
        private boolean isOver;
        private Result.@Nullable Kind result;

        Running(Node node, TransactionId id, List<Key> reads, List<Key> writes, boolean snapshot) {
            this.node = node;
            this.id = id;
            if (random.nextInt(4) == 0) {
                // It has seen what others have committed elsewhere.
                node.clock.seen(node.clock.latest() + random.nextInt(1 << 14));
            }
            this.begin = node.commits.present();
            this.snapshot = snapshot;
            this.unread = new ArrayDeque<>(reads);
            writes.forEach(key -> this.writes.add(new CommitRequest.Write(key, new byte[0], Version.NEVER)));
            node.begins.add(begin);
        }

        void goOn() {
            Key key = unread.poll();
            if (key == null) {
                commit();
                return;
            }
            int[] left = left(key, surroundings.members(node.number));
            if (left.length == 0) {
                over();
                return;
            }
            asked = left[random.nextInt(left.length)];
            Ask ask = new Ask(this, key, !snapshot);
            if (asked == node.number) {
                node.store.read(key, begin, ask.latest,
                        version -> node.tasks.add(() -> told(new Told(this, key, version.stamp()), node)));
            } else {
                node.send(asked, ask);
            }
        }

        void told(Told told, Node by) {
            if (isOver) {
                return;
            }
            asked = -1;
            answered = by == node || !by.isCorrect() ? -1 : by.number;
            found.add(new Found(told.key, this, told.stamp, by));
            checks.add(new CommitRequest.Check(told.key, snapshot ? begin : Math.max(begin, told.stamp)));
            goOn();
        }

        private void commit() {
            node.commits.commit(id, new CommitRequest(begin, writes, checks), ended -> node.tasks.add(() -> {
                if (result != null) {
                    fail(id + " was answered twice");
                }
                result = ended.kind();
                over();
            }));
        }

        void over() {
            if (!isOver) {
                isOver = true;
                node.begins.remove(begin);
            }
        }
    }

    private final class Node implements Commits.World {
        private final int number;
        private final LamportClock clock;
        private final Store store = new Store();
        private final Commits commits;
        private final Floors begins = new Floors();
        private final Map<TransactionId, Long> applied = new LinkedHashMap<>();
        private final Deque<Runnable> tasks = new ArrayDeque<>();
        private final Map<Integer, Long> settled = new HashMap<>();
        private final ViewEntry entry = new ViewEntry(new View(0, surroundings.all()));

        Node(int number, CommitProtocol protocol) {
            this.number = number;
            this.clock = new LamportClock(number);
            clock.seen(random.nextInt(1 << 12));
            Layouts layouts = new Layouts(0, owners);
            Set<Integer> all = surroundings.all();
            this.commits = protocol == CommitProtocol.TWO_PHASE
                    ? new TwoPhaseCommit(number, clock, all, layouts, store, LOCK_TIMEOUT, true, this)
                    : new TotalOrderCommit(number,
                            protocol == CommitProtocol.TOM_2 ? Multicast.Steps.TWO : Multicast.Steps.THREE, 1, clock,
                            all,
                            layouts, store, this);
        }

        boolean isCorrect() {
            return surroundings.isCorrect(number);
        }

        boolean isCrashed() {
            return surroundings.isCrashed(number);
        }

        /** Nothing goes to who is not there any more. */
        void send(int to, Object message) {
            if (surroundings.members(number).contains(to)) {
                surroundings.send(number, to, new Sent(clock.latest(), message));
            }
        }

        @Override
        public void send(int to, Encoded message) {
            send(to, (Object) message);
        }

        @Override
        public void applied(TransactionId id, long stamp, CommitRequest request) {
            if (applied.put(id, stamp) != null) {
                fail("node " + number + " has applied " + id + " twice");
            }
            requests.put(id, request);
            Long before = stamps.put(id, stamp);
            if (before != null && before != stamp) {
                fail(id + " was applied at " + before + " and at " + stamp);
            }
        }

        void received(int from, int view, Sent sent) {
            clock.seen(sent.clock);
            switch (sent.message) {
                case Settled come when view == surroundings.view(number) -> {
                    settled.put(from, come.stamp);
                    forget();
                }
                case Settled _ -> {
                    // Of an earlier view.
                }
                case Closed closed -> {
                    entry.closed(from, closed.view);
                    enter();
                }
                case Ask ask -> store.read(ask.key, ask.of.begin, ask.latest,
                        version -> send(from, new Told(ask.of, ask.key, version.stamp())));
                case Told told -> told.of.told(told, nodes.get(from));
                default -> commits.received(from, (Encoded) sent.message);
            }
        }

        /** As a heartbeat does. */
        void announce() {
            long own = begins.lowest(Math.min(commits.settled(), commits.present()));
            settled.put(number, own);
            tellAll(new Settled(own));
            forget();
        }

        private void tellAll(Object message) {
            surroundings.members(number).stream().filter(to -> to != number).forEach(to -> send(to, message));
        }

        /** Only what was said in the present view counts: who has not entered it may ask for what others would forget. */
        private void forget() {
            Set<Integer> members = surroundings.members(number);
            if (entry.entered().number() == surroundings.view(number) && settled.keySet().containsAll(members)) {
                commits.forget(members.stream().mapToLong(settled::get).min().orElse(0));
            }
        }

        void changeView() {
            int view = surroundings.changeView(number);
            Set<Integer> members = surroundings.members(number);
            running.stream().filter(one -> one.node == this && one.asked >= 0 && !members.contains(one.asked))
                    .forEach(Running::over);
            tellAll(new Closed(view));
            if (waitsForOthers) {
                entry.closed(number, view);
            } else {
                members.forEach(node -> entry.closed(node, view));
            }
            enter();
        }

        private void enter() {
            View next = new View(surroundings.view(number), surroundings.members(number));
            if (entry.enter(next)) {
                surroundings.enter(number);
                settled.clear();
                commits.view(next.number(), next.members());
            }
        }
    }

    private final Random random;
    private final CrashingNodes<Sent> surroundings;
    private final List<Node> nodes = new ArrayList<>();
    private final List<Key> keys = new ArrayList<>();
    private final RingOwners owners;
    private final List<Running> running = new ArrayList<>();
    private final List<Found> found = new ArrayList<>();
    private final Map<TransactionId, CommitRequest> requests = new LinkedHashMap<>();
    private final Map<TransactionId, Long> stamps = new LinkedHashMap<>();
    private final Set<String> failures = new LinkedHashSet<>();
    private int unsent;
    private int crashesLeft;
    private long nanos;
    private int ticks;
    private int steps;
    private boolean waitsForOthers = true;
    private int talkingSteps;
    private int answered = -1;

    CommitsRun(long seed, CommitProtocol protocol) {
        random = new Random(seed);
        int count = 2 + random.nextInt(4);
        surroundings = new CrashingNodes<>(count, random);
        owners = new RingOwners(surroundings.all(), new int[]{1 + random.nextInt(Math.min(3, count))});
        for (int i = 0; i < count; i++) {
            nodes.add(new Node(i, protocol));
        }
        int keyCount = 1 + random.nextInt(6);
        for (int i = 0; i < keyCount; i++) {
            keys.add(new Key(0, new byte[]{(byte) i}));
        }
        unsent = 1 + random.nextInt(40);
        crashesLeft = random.nextInt(3) == 0 ? 0 : random.nextInt(count);
    }

    /** From now on nodes enter a view when they are told of it. */
    CommitsRun withoutWaitingForOthers() {
        waitsForOthers = false;
        return this;
    }

    private void fail(String what) {
        failures.add(what);
    }

    private int[] left(Key key, Set<Integer> view) {
        return Arrays.stream(owners.of(key)).filter(view::contains).toArray();
    }

    /** Runs until nothing more can happen; what is wrong, or nothing. */
    List<String> run() {
        int beginWeight = 1 + random.nextInt(20);
        int crashWeight = 1 + random.nextInt(5);
        rest(beginWeight, crashWeight);
        if (failures.isEmpty()) {
            check();
        }
        if (failures.isEmpty()) {
            checkThatNothingIsHeld();
        }
        return List.copyOf(failures);
    }

    long committed() {
        return running.stream().filter(one -> one.result == Result.Kind.COMMITTED).count();
    }

    long ended(Result.Kind kind) {
        return running.stream().filter(one -> one.result == kind).count();
    }

    int views() {
        return surroundings.views();
    }

    private void rest(int beginWeight, int crashWeight) {
        while (failures.isEmpty() && steps++ < STEPS_MAX) {
            talk();
            int justAnswered = answered;
            answered = -1;
            List<Runnable> possible = possible();
            if (unsent > 0 && random.nextInt(20) < beginWeight) {
                possible.add(this::beginOne);
            }
            if (crashesLeft > 0 && random.nextInt(justAnswered < 0 ? 100 : 10) < crashWeight && mayCrash()) {
                possible = List.of(() -> crash(justAnswered));
            }
            if (possible.isEmpty() && surroundings.talking().size() < nodes.size()) {
                talkingSteps = 0;
                surroundings.onlyBetween(surroundings.all());
            } else if (possible.isEmpty() && unsent == 0) {
                if (running.stream().noneMatch(one -> !one.isOver && one.node.isCorrect()) || ++ticks > TICKS_MAX) {
                    return;
                }
                tick(LOCK_TIMEOUT);
            } else if (!possible.isEmpty()) {
                possible.get(random.nextInt(possible.size())).run();
            }
            if (random.nextInt(24) == 0) {
                nodes.get(random.nextInt(nodes.size())).announce();
            }
            if (random.nextInt(60) == 0) {
                tick(random.nextInt((int) LOCK_TIMEOUT));
            }
        }
        if (failures.isEmpty()) {
            fail("it does not come to rest");
        }
    }

    /** For a while only some hear each other: clocks differ then. */
    private void talk() {
        if (talkingSteps > 0) {
            talkingSteps--;
        } else {
            talkingSteps = random.nextInt(60);
            Set<Integer> some = new TreeSet<>(surroundings.all());
            for (int without = random.nextInt(nodes.size() - 1); without > 0; without--) {
                some.remove(List.copyOf(some).get(random.nextInt(some.size())));
            }
            surroundings.onlyBetween(some);
        }
    }

    private List<Runnable> possible() {
        List<Runnable> possible = new ArrayList<>();
        for (Node node : nodes) {
            possible.addAll(surroundings.receipts(node.number, node::received));
            if (surroundings.canChangeView(node.number) && surroundings.talking().contains(node.number)) {
                possible.add(node::changeView);
            }
            if (!node.isCrashed() && !node.tasks.isEmpty() && surroundings.talking().contains(node.number)) {
                possible.add(() -> node.tasks.remove().run());
            }
        }
        return possible;
    }

    private void tick(long after) {
        nanos += after;
        nodes.stream().filter(node -> !node.isCrashed()).forEach(node -> node.commits.tick(nanos));
    }

    private List<Key> some(int most) {
        Set<Key> some = new LinkedHashSet<>();
        for (int i = random.nextInt(most + 1); i > 0; i--) {
            some.add(keys.get(random.nextInt(keys.size())));
        }
        return List.copyOf(some);
    }

    private void beginOne() {
        List<Node> able = nodes.stream()
                .filter(node -> !node.isCrashed() && surroundings.talking().contains(node.number)).toList();
        if (able.isEmpty()) {
            return;
        }
        List<Key> writes = new ArrayList<>(some(2));
        if (writes.isEmpty()) {
            writes.add(keys.get(random.nextInt(keys.size())));
        }
        unsent--;
        begin(able.get(random.nextInt(able.size())), random.nextBoolean() ? List.of() : some(3), writes);
    }

    private Running begin(Node node, List<Key> reads, List<Key> writes) {
        Running next = new Running(node, new TransactionId(node.number, running.size() + 1), reads, writes,
                random.nextBoolean());
        running.add(next);
        next.goOn();
        return next;
    }

    /** One at a time, as is promised: what the one before has disturbed must have been settled. */
    private boolean mayCrash() {
        return nodes.stream().filter(Node::isCorrect)
                .allMatch(node -> surroundings.isInLast(node.number) && node.commits.isClean());
    }

    /** Rather than any node one that has answered a read just now. */
    private void crash(int victim) {
        crashesLeft--;
        if (victim < 0) {
            surroundings.goOnWithout(1);
        } else {
            surroundings.goOnWithoutNode(victim);
        }
        talkingSteps = 0;
    }

    // ------------------------------------------------------------------------------------------ what must hold

    /** Whether each key still has an owner: of others nothing is promised. */
    private boolean isOwned(CommitRequest request) {
        return request.keys().stream().allMatch(key -> left(key, surroundings.left()).length > 0);
    }

    private void check() {
        for (Running one : running) {
            if (one.node.isCorrect() && !one.isOver) {
                fail("liveness: " + one.id + " was not answered");
            }
            if (!isOwned(new CommitRequest(one.begin, one.writes, one.checks))) {
                continue;
            }
            boolean isApplied = stamps.containsKey(one.id);
            if (one.result == Result.Kind.COMMITTED && !isApplied) {
                fail(one.id + " was answered as committed, and nobody has applied it");
            } else if (one.result != null && one.result != Result.Kind.COMMITTED && isApplied) {
                fail(one.id + " was answered as " + one.result + ", and was applied");
            }
        }
        requests.forEach((id, request) -> {
            if (isOwned(request)) {
                atAllOwners(id, request);
                request.checks().forEach(check -> unchanged(id, check));
            }
        });
        found.forEach(this::snapshot);
    }

    private void atAllOwners(TransactionId id, CommitRequest request) {
        for (CommitRequest.Write write : request.writes()) {
            for (int owner : left(write.key(), surroundings.left())) {
                Node node = nodes.get(owner);
                if (node.isCorrect() && !node.applied.containsKey(id)) {
                    fail("node " + owner + " has not applied " + id + ", which another one has");
                } else if (node.isCorrect() && node.store.versions(write.key()).stream()
                        .noneMatch(version -> version.stamp() == node.applied.get(id))) {
                    fail("node " + owner + " does not have what " + id + " wrote");
                }
            }
        }
    }

    /** No other transaction wrote what it has read, between there and its own stamp. */
    private void unchanged(TransactionId id, CommitRequest.Check check) {
        long own = stamps.getOrDefault(id, 0L);
        requests.forEach((other, request) -> {
            long stamp = stamps.getOrDefault(other, 0L);
            if (!other.equals(id) && check.stamp() < stamp && stamp < own && isOwned(request)
                    && writes(request, check.key())) {
                fail(id + " has committed at " + own + ", though what it read up to " + check.stamp()
                        + " was written by " + other
                        + " at " + stamp);
            }
        });
    }

    private static boolean writes(CommitRequest request, Key key) {
        return request.writes().stream().anyMatch(write -> write.key().equals(key));
    }

    private void snapshot(Found one) {
        if (!one.of.node.isCorrect() && !stamps.containsKey(one.of.id)) {
            // It does not know what the others do, and they do not know of it.
            return;
        }
        long expected = 0;
        boolean isOfLost = false;
        for (Map.Entry<TransactionId, CommitRequest> each : requests.entrySet()) {
            long stamp = stamps.getOrDefault(each.getKey(), 0L);
            if (stamp <= one.of.begin && writes(each.getValue(), one.key)) {
                if (isOwned(each.getValue())) {
                    expected = Math.max(expected, stamp);
                } else {
                    isOfLost |= stamp == one.stamp;
                }
            }
        }
        if (one.stamp < expected || (one.of.snapshot && one.stamp != expected && !isOfLost)) {
            fail("a read at " + one.of.begin + " was answered by node " + one.by.number + " with what was written at "
                    + one.stamp
                    + ", and there is something of " + expected);
        }
    }

    /** One more transaction, on all that is left, commits. */
    private void checkThatNothingIsHeld() {
        crashesLeft = 0;
        List<Key> all = keys.stream().filter(key -> left(key, surroundings.left()).length > 0).toList();
        Node node = nodes.stream().filter(Node::isCorrect).findFirst().orElseThrow();
        if (all.isEmpty()) {
            return;
        }
        Running last = begin(node, List.of(), all);
        rest(0, 0);
        if (last.result != Result.Kind.COMMITTED) {
            fail("a last transaction ended as " + last.result);
        }
        for (Node one : nodes) {
            if (one.isCorrect() && !keys.stream().allMatch(key -> one.store.writers(key).isEmpty())) {
                fail("node " + one.number + " waits for what is over");
            }
        }
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("views ").append(surroundings);
        requests.forEach(
                (id, request) -> text.append("\n ").append(id).append(" at ").append(stamps.get(id)).append(' ')
                        .append(request.keys()));
        for (Node node : nodes) {
            text.append("\n node ").append(node.number).append(" applied ").append(node.applied);
        }
        return text.toString();
    }
}
