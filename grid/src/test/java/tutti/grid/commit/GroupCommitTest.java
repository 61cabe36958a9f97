package tutti.grid.commit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import tutti.core.schema.Encoded;
import tutti.core.txn.TransactionId;
import tutti.grid.genuine.Configuration;
import tutti.grid.genuine.GenuineMessage;
import tutti.grid.multicast.LamportClock;
import tutti.grid.store.GroupOwners;
import tutti.grid.store.Key;
import tutti.grid.store.Store;
import tutti.grid.store.Version;

/** Two groups of three nodes, whose messages the test carries. */
class GroupCommitTest {
    private static final int NODES = 6;
    private static final GroupOwners OWNERS = new GroupOwners(Set.of(0, 1, 2, 3, 4, 5), 3);
    private static final Key LOW = keyOf(0, 0);
    private static final Key HIGH = keyOf(1, 0);
    private static final Key OTHER_HIGH = keyOf(1, 1);

    private final List<Node> nodes = new ArrayList<>();
    private final Set<Integer> crashed = new HashSet<>();
    private boolean losesVotes;

    GroupCommitTest() {
        IntStream.range(0, NODES).forEach(number -> nodes.add(new Node(number)));
    }

    /** Some key of a group. */
    private static Key keyOf(int group, int which) {
        return IntStream.range(0, 100).mapToObj(i -> new Key(0, new byte[]{(byte) i}))
                .filter(key -> OWNERS.groupOf(key) == group).skip(which).findFirst().orElseThrow();
    }

    private static final class Node implements Commits.World {
        private final int number;
        private final LamportClock clock;
        private final Store store = new Store();
        private final GroupCommit commits;
        private final Map<Integer, Deque<Encoded>> sent = new TreeMap<>();
        private final List<Result.Kind> results = new ArrayList<>();
        private final Set<TransactionId> applied = new HashSet<>();

        Node(int number) {
            this(number, 0);
        }

        Node(int number, long process) {
            this.number = number;
            clock = new LamportClock(OWNERS.groupOf(number));
            commits = new GroupCommit(number, OWNERS, clock, store, 1, process, this);
        }

        @Override
        public void send(int to, Encoded message) {
            sent.computeIfAbsent(to, _ -> new ArrayDeque<>()).add(message);
        }

        @Override
        public void applied(TransactionId id, long stamp, CommitRequest request) {
            applied.add(id);
        }

        TransactionId commit(long serial, CommitRequest request) {
            TransactionId id = new TransactionId(number, serial);
            commits.commit(id, request, result -> results.add(result.kind()));
            return id;
        }
    }

    /** What one has sent to another until now comes, with what the sender's clock has seen. */
    private boolean carry(int from, int to) {
        Deque<Encoded> channel = nodes.get(from).sent.getOrDefault(to, new ArrayDeque<>());
        boolean some = !channel.isEmpty();
        while (!channel.isEmpty()) {
            Encoded message = channel.removeFirst();
            if (!crashed.contains(to) && !(losesVotes && message instanceof CommitMessage.Vote)) {
                nodes.get(to).clock.seen(nodes.get(from).clock.latest());
                nodes.get(to).commits.received(from, message);
            }
        }
        return some;
    }

    private void carryAll() {
        boolean some = true;
        while (some) {
            some = false;
            for (int from = 0; from < NODES; from++) {
                for (int to = 0; to < NODES; to++) {
                    some |= carry(from, to);
                }
            }
        }
    }

    private void crash(int node) {
        crashed.add(node);
        nodes.get(node).sent.clear();
    }

    private static CommitRequest request(long begin, List<Key> writes, List<Key> checks) {
        return new CommitRequest(begin,
                writes.stream().map(key -> new CommitRequest.Write(key, new byte[]{1}, Version.NEVER)).toList(),
                checks.stream().map(key -> new CommitRequest.Check(key, begin)).toList());
    }

    private List<Integer> appliedBy(TransactionId id) {
        return nodes.stream().filter(node -> node.applied.contains(id)).map(node -> node.number).toList();
    }

    @Test
    void allOwnersApplyWhatWasOrdered() {
        assertEquals(Map.of(0, List.of(0, 1, 2), 1, List.of(3, 4, 5)), OWNERS.groups());
        TransactionId id = nodes.getFirst().commit(1, request(0, List.of(LOW, HIGH), List.of(LOW)));
        carryAll();
        assertEquals(List.of(Result.Kind.COMMITTED), nodes.getFirst().results);
        assertEquals(List.of(0, 1, 2, 3, 4, 5), appliedBy(id));
        assertTrue(nodes.get(1).commits.present() > 0);
        TransactionId elsewhere = nodes.getFirst().commit(2, request(0, List.of(HIGH), List.of()));
        carryAll();
        assertEquals(List.of(Result.Kind.COMMITTED, Result.Kind.COMMITTED), nodes.getFirst().results);
        assertEquals(List.of(3, 4, 5), appliedBy(elsewhere));
    }

    @Test
    void whatWasWrittenSinceItWasReadIsAConflictWhoeverOwnsIt() {
        nodes.getFirst().commit(1, request(0, List.of(HIGH), List.of()));
        carryAll();
        TransactionId late = nodes.getFirst().commit(2, request(0, List.of(LOW), List.of(HIGH)));
        carryAll();
        assertEquals(List.of(Result.Kind.COMMITTED, Result.Kind.CONFLICT), nodes.getFirst().results);
        assertEquals(List.of(), appliedBy(late));
        long now = nodes.getFirst().commits.present();
        nodes.getFirst().commit(3, request(now, List.of(LOW), List.of(HIGH)));
        carryAll();
        assertEquals(Result.Kind.COMMITTED, nodes.getFirst().results.getLast());
        assertTrue(nodes.stream().noneMatch(node -> node.store.writers(LOW).iterator().hasNext()));
    }

    /** What waits to be sent to a node that is not heard grows for as long as it is not. */
    @Test
    void whatWaitsForAGroupWithoutAMajorityIsNotSaidAgainToWhoIsNotHeard() {
        Set<Integer> away = Set.of(4, 5);
        nodes.get(2).commit(1, request(0, List.of(LOW, HIGH), List.of(LOW, HIGH)));
        for (int time = 10; time < 1000; time++) {
            for (int number : List.of(0, 1, 2, 3)) {
                nodes.get(number).commits.unheard(away);
                nodes.get(number).commits.absent(away, Set.of());
                nodes.get(number).commits.tick(time);
            }
            for (int from : List.of(0, 1, 2, 3)) {
                for (int to : List.of(0, 1, 2, 3)) {
                    carry(from, to);
                }
            }
        }
        nodes.forEach(node -> away.forEach(to -> {
            int waiting = node.sent.getOrDefault(to, new ArrayDeque<>()).size();
            assertTrue(waiting < 10, waiting + " messages wait");
        }));
        assertEquals(List.of(), nodes.get(2).results);
        for (int time = 1000; time < 1010; time++) {
            for (Node node : nodes) {
                node.commits.unheard(Set.of());
                node.commits.absent(Set.of(), Set.of());
                node.commits.tick(time);
            }
            carryAll();
        }
        assertEquals(List.of(Result.Kind.COMMITTED), nodes.get(2).results);
    }

    /** Its node hears of that a moment later; clients may ask until then. */
    @Test
    void aLifeThatIsOverSendsNothingAnyMore() {
        Node over = nodes.get(2);
        over.commits.received(0, new GenuineMessage.Members(0, LamportClock.NODES_MAX,
                Configuration.first(List.of(0, 1))));
        assertFalse(over.commits.takesPart());
        over.sent.clear();
        over.commit(1, request(0, List.of(LOW), List.of(LOW)));
        over.commits.whenThere(Long.MAX_VALUE, () -> {
            throw new AssertionError("it cannot know");
        });
        over.commits.dissolve(1);
        over.commits.tick(10);
        carryAll();
        assertEquals(Map.of(), over.sent);
        assertEquals(List.of(), over.results);
    }

    /** Node 3 has voted and told node 0 alone; the votes of nodes 4 and 5 are as good. */
    @Test
    void aVoteIsHeardWhoeverOfItsGroupCrashes() {
        TransactionId id = nodes.getFirst().commit(1, request(0, List.of(LOW), List.of(HIGH)));
        for (int round = 0; round < 20 && nodes.getFirst().results.isEmpty(); round++) {
            for (int from = 0; from < NODES; from++) {
                for (int to = 0; to < NODES; to++) {
                    if (from != 3 || to == 0 || OWNERS.groupOf(to) == 1 || round < 3) {
                        carry(from, to);
                    }
                }
            }
        }
        crash(3);
        carryAll();
        assertEquals(List.of(Result.Kind.COMMITTED), nodes.getFirst().results);
        assertEquals(List.of(0, 1, 2), appliedBy(id).subList(0, 3));
    }

    /** Any member but the leader of each group has crashed: nobody waits for it. */
    @Test
    void commitsGoOnWithoutAMinorityOfEachGroup() {
        crash(1);
        crash(5);
        TransactionId id = nodes.get(2).commit(1, request(0, List.of(LOW, HIGH), List.of(LOW, HIGH)));
        carryAll();
        assertEquals(List.of(Result.Kind.COMMITTED), nodes.get(2).results);
        assertEquals(List.of(0, 2, 3, 4), appliedBy(id));
    }

    @Test
    void anotherLeadsWhenALeaderIsNotHeard() {
        crash(3);
        TransactionId id = nodes.get(2).commit(1, request(0, List.of(LOW, HIGH), List.of(LOW, HIGH)));
        carryAll();
        assertEquals(List.of(), nodes.get(2).results);
        for (int time = 10; time < 20; time++) {
            for (Node node : nodes) {
                if (!crashed.contains(node.number)) {
                    node.commits.absent(Set.of(3), Set.of());
                    node.commits.tick(time);
                }
            }
            carryAll();
        }
        assertEquals(List.of(Result.Kind.COMMITTED), nodes.get(2).results);
        assertEquals(List.of(0, 1, 2, 4, 5), appliedBy(id));
    }

    /** The group has proposed a stamp for a transaction, below that of a snapshot that is read there. */
    @Test
    void aReadWaitsForWhatMayStillGetAStampBelow() {
        nodes.getFirst().commit(1, request(0, List.of(HIGH), List.of()));
        carry(0, 3);
        nodes.get(1).commit(1, request(0, List.of(LOW), List.of()));
        nodes.get(1).commit(2, request(0, List.of(LOW), List.of()));
        for (int i = 0; i < 6; i++) {
            for (int from = 0; from < 3; from++) {
                for (int to = 0; to < 3; to++) {
                    carry(from, to);
                }
            }
        }
        long snapshot = nodes.get(1).commits.present();
        assertTrue(snapshot > 0);
        List<byte[]> read = new ArrayList<>();
        Node reader = nodes.get(4);
        reader.clock.seen(nodes.get(1).clock.latest());
        reader.commits.whenThere(snapshot, () -> reader.store.read(HIGH, snapshot, false,
                version -> read.add(version.value() == null ? new byte[0] : version.value())));
        assertEquals(List.of(), read);
        assertEquals(1, reader.commits.waitingReads());
        carryAll();
        assertEquals(1, read.size());
        assertEquals(1, read.getFirst().length, "it was proposed before, and so is part of the snapshot");
        List<Long> again = new ArrayList<>();
        reader.commits.whenThere(snapshot, () -> again.add(snapshot));
        assertFalse(again.isEmpty(), "nothing below can come any more");
    }

    /** What was removed may be forgotten; who has read before that may have been given up by mistake. */
    @Test
    void allOwnersVoteAgainstWhatHasReadBelowTheFloor() {
        nodes.get(3).commit(1,
                new CommitRequest(0, List.of(new CommitRequest.Write(HIGH, null, Version.NEVER)), List.of()));
        carryAll();
        long horizon = nodes.get(3).commits.present();
        assertEquals(0, nodes.get(4).commits.forget(horizon));
        nodes.get(3).commits.forget(horizon);
        carryAll();
        for (Node node : nodes.subList(3, NODES)) {
            node.store.trim(node.commits.forget(horizon), 0);
            assertEquals(0, node.store.newest(HIGH).stamp());
        }
        assertNull(nodes.get(4).store.newest(HIGH).value());
        assertNotNull(nodes.getFirst().commit(1, request(horizon - 1, List.of(LOW), List.of(HIGH))));
        carryAll();
        assertEquals(List.of(Result.Kind.CONFLICT), nodes.getFirst().results);
        nodes.getFirst().commit(2, request(horizon, List.of(LOW), List.of(HIGH, OTHER_HIGH)));
        carryAll();
        assertEquals(List.of(Result.Kind.CONFLICT, Result.Kind.COMMITTED), nodes.getFirst().results);
    }

    /** The votes for a transaction were sent to lives that are over. A life that has copied it without them asks, as do the others. */
    @Test
    void aLifeThatIsTakenInDecidesWhatWaitedForVotes() {
        nodes.get(1).commit(1, request(0, List.of(LOW), List.of()));
        carryAll();
        losesVotes = true;
        TransactionId id = nodes.getFirst().commit(1, request(0, List.of(LOW), List.of(HIGH)));
        carryAll();
        assertEquals(List.of(3, 4, 5), appliedBy(id));
        losesVotes = false;
        crash(2);
        nodes.forEach(node -> node.sent.remove(2));
        Node life = new Node(2, 77);
        nodes.set(2, life);
        crashed.remove(2);
        nodes.forEach(node -> node.commits.begins(2, 77));
        Node leader = nodes.getFirst();
        leader.commits.takeOut(2);
        carryAll();
        GroupCommit.State state = leader.commits.give(2, 77);
        assertNotNull(state);
        leader.store.versions(LOW).forEach(version -> life.store.apply(LOW, version));
        life.commits.given(state);
        assertFalse(life.commits.takesPart());
        leader.commits.takeIn(2, 77, "");
        carryAll();
        assertTrue(life.commits.takesPart());
        assertTrue(life.commits.isReady(), "it has asked at once for what was on its way");
        for (int time = 10; time < 20; time++) {
            int now = time;
            nodes.forEach(node -> node.commits.tick(now));
            carryAll();
        }
        assertEquals(List.of(0, 1, 2, 3, 4, 5), appliedBy(id));
        assertEquals(List.of(Result.Kind.COMMITTED), leader.results);
        assertTrue(life.commits.isReady());
        assertEquals(leader.store.newest(LOW).stamp(), life.store.newest(LOW).stamp());
        TransactionId next = life.commit(2, request(life.commits.present(), List.of(LOW), List.of(LOW)));
        carryAll();
        assertEquals(List.of(0, 1, 2), appliedBy(next));
    }

    /** When all have told how far they are, nothing is kept. */
    @Test
    void nothingIsKeptInTheEnd() {
        for (int i = 1; i <= 5; i++) {
            nodes.get(i % NODES).commit(i, request(0, List.of(LOW, HIGH), i % 2 == 0 ? List.of(LOW) : List.of()));
            carryAll();
        }
        for (int time = 1; time < 10; time++) {
            int now = time;
            nodes.forEach(node -> node.commits.tick(now));
            carryAll();
        }
        nodes.forEach(node -> assertEquals(0, node.commits.size(), () -> "node " + node.number));
    }
}
