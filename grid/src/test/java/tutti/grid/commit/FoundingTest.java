package tutti.grid.commit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import tutti.core.schema.Encoded;
import tutti.core.txn.TransactionId;
import tutti.grid.genuine.Configuration;
import tutti.grid.multicast.LamportClock;
import tutti.grid.store.GroupOwners;
import tutti.grid.store.Key;
import tutti.grid.store.Store;
import tutti.grid.store.Version;

/** A group of three nodes, three more that found another one, and a transaction at each instant of that; the test carries the messages, and the keys. */
class FoundingTest {
    private static final Set<Integer> FOUNDERS = Set.of(0, 1, 2);
    private static final Set<Integer> FURTHER = Set.of(3, 4, 5);
    private static final Configuration FIRST = new Configuration(
            FURTHER.stream().sorted().map(node -> new Configuration.Member(node, 0, 70 + node, "")).toList());
    private static final Key MOVED = keyOf(3);
    private static final Key STAYS = keyOf(0);

    private final List<Node> nodes = IntStream.range(0, 6).mapToObj(Node::new).toList();

    /** Some key of a group, when both are there. */
    private static Key keyOf(int group) {
        GroupOwners both = new GroupOwners(FOUNDERS, 3);
        both.next(both.layout().founding(1, 3, FURTHER));
        both.next(both.layout().copied(2, 3));
        return IntStream.range(0, 100).mapToObj(i -> new Key(0, new byte[]{(byte) i}))
                .filter(key -> both.groupOf(key) == group).findFirst().orElseThrow();
    }

    private static final class Node implements Commits.World {
        private final int number;
        private final GroupOwners owners;
        private final LamportClock clock;
        private final Store store = new Store();
        private final GroupCommit commits;
        private final Map<Integer, Deque<Encoded>> sent = new TreeMap<>();
        private final List<Result.Kind> results = new ArrayList<>();
        private long serial;

        Node(int number) {
            this.number = number;
            owners = new GroupOwners(FOUNDERS, 3, FOUNDERS.contains(number) ? Set.of() : FURTHER);
            clock = new LamportClock(owners.groupOf(number));
            commits = new GroupCommit(number, owners, clock, store, 1, FOUNDERS.contains(number) ? 0 : 70 + number,
                    this);
        }

        @Override
        public void send(int to, Encoded message) {
            sent.computeIfAbsent(to, _ -> new ArrayDeque<>()).add(message);
        }

        @Override
        public void applied(TransactionId id, long stamp, CommitRequest request) {
            // The stores tell.
        }

        void commit(long begin, List<Key> writes, List<Key> checks) {
            commits.commit(new TransactionId(number, ++serial), new CommitRequest(begin,
                    writes.stream().map(key -> new CommitRequest.Write(key, new byte[]{1}, Version.NEVER)).toList(),
                    checks.stream().map(key -> new CommitRequest.Check(key, begin)).toList()),
                    result -> results.add(result.kind()));
        }

        Result.Kind last() {
            return results.getLast();
        }
    }

    private void carry() {
        boolean some = true;
        while (some) {
            some = false;
            for (Node from : nodes) {
                for (Node to : nodes) {
                    some |= carry(from, to);
                }
            }
        }
    }

    private static boolean carry(Node from, Node to) {
        Deque<Encoded> channel = from.sent.getOrDefault(to.number, new ArrayDeque<>());
        boolean some = !channel.isEmpty();
        while (!channel.isEmpty()) {
            to.clock.seen(from.clock.latest());
            to.commits.received(from.number, channel.removeFirst());
        }
        return some;
    }

    private void found() {
        nodes.get(0).commits.found(FURTHER, FIRST);
    }

    private void begin() {
        carry();
        FURTHER.forEach(node -> nodes.get(node).commits.found(nodes.get(0).owners.layouts(), FIRST));
        carry();
    }

    /** As the nodes do it. */
    private void copy() {
        for (int node : FURTHER) {
            Node to = nodes.get(node);
            assertTrue(to.commits.isCopying());
            Store from = nodes.get(1).store;
            from.keys(key -> to.owners.isMoved(key, 0, 3))
                    .forEach(key -> from.versions(key).forEach(version -> to.store.apply(key, version)));
            to.commits.copied();
            assertFalse(to.commits.isCopying());
        }
        nodes.get(3).commits.allHaveCopied();
    }

    @Test
    void whatIsOrderedBehindTheChangeAndTouchesAMovedKeyIsRefusedAndAllElseGoesOn() {
        found();
        // It proposes what comes now at later stamps; both were sent before anybody knew.
        nodes.get(1).commit(0, List.of(MOVED), List.of());
        nodes.get(2).commit(0, List.of(STAYS), List.of(STAYS));
        carry();
        assertEquals(Result.Kind.CONFLICT, nodes.get(1).last());
        assertEquals(Result.Kind.COMMITTED, nodes.get(2).last());
        nodes.subList(0, 3).forEach(node -> assertEquals(0, node.store.newest(MOVED).stamp()));
    }

    @Test
    void whatIsWrittenWhileKeysAreMovedGoesToBothGroupsAndTheOldOneVotes() {
        found();
        begin();
        nodes.get(4).commit(nodes.get(4).commits.present(), List.of(MOVED, STAYS), List.of(MOVED));
        carry();
        assertEquals(Result.Kind.COMMITTED, nodes.get(4).last());
        for (Node node : nodes) {
            assertTrue(node.store.newest(MOVED).stamp() > 0, "node " + node.number);
            assertEquals(node.number < 3, node.store.newest(STAYS).stamp() > 0, "node " + node.number);
            assertEquals(0, node.owners.groupOf(MOVED));
        }
    }

    @Test
    void theNewGroupVotesWhenAllHaveCopiedAndTheOldOneHearsNothingAnyMore() {
        nodes.get(0).commit(0, List.of(MOVED), List.of());
        carry();
        long before = nodes.get(0).commits.present();
        found();
        begin();
        copy();
        carry(nodes.get(3), nodes.get(0));
        // Sent in the layout before, ordered behind it.
        nodes.get(1).commit(nodes.get(1).commits.present(), List.of(MOVED), List.of(MOVED));
        carry();
        assertEquals(Result.Kind.CONFLICT, nodes.get(1).last());
        nodes.forEach(node -> assertEquals(3, node.owners.groupOf(MOVED)));
        long present = nodes.get(3).commits.present();
        assertEquals(before, nodes.get(5).store.newest(MOVED).stamp());
        nodes.get(1).commit(present, List.of(MOVED), List.of(MOVED));
        carry();
        assertEquals(Result.Kind.COMMITTED, nodes.get(1).last());
        assertEquals(before, nodes.get(0).store.newest(MOVED).stamp());
        assertTrue(nodes.get(5).store.newest(MOVED).stamp() > present);
    }

    @Test
    void aTransactionThatHasReadBelowWhatTheNewGroupKnowsIsVotedAgainst() {
        long before = nodes.get(0).clock.latest();
        found();
        begin();
        copy();
        carry();
        // Nobody has ever written it; but that the new group cannot tell.
        nodes.get(3).commit(before, List.of(STAYS), List.of(MOVED));
        carry();
        assertEquals(Result.Kind.CONFLICT, nodes.get(3).last());
        nodes.get(3).commit(nodes.get(3).commits.present(), List.of(STAYS), List.of(MOVED));
        carry();
        assertEquals(Result.Kind.COMMITTED, nodes.get(3).last());
    }

    @Test
    void ofTwoChangesOfTheSameLayoutTheFirstCounts() {
        found();
        nodes.get(1).commits.found(Set.of(7, 8, 9), FIRST);
        nodes.get(1).commits.dissolve(0);
        begin();
        assertEquals(Set.of(0, 3), nodes.get(2).owners.layout().next());
        nodes.get(1).commits.dissolve(0);
        carry();
        assertEquals(Set.of(0, 3), nodes.get(2).owners.layout().next());
        assertNull(nodes.get(2).owners.layout().founding(1, 9, Set.of(9, 10, 11)));
    }

    @Test
    void aGroupIsDissolvedWhenTheOtherHasItsKeys() {
        found();
        begin();
        copy();
        carry();
        nodes.get(4).commits.dissolve(0);
        carry();
        assertTrue(nodes.get(3).commits.isCopying());
        FURTHER.forEach(node -> nodes.get(node).commits.copied());
        nodes.get(3).commits.allHaveCopied();
        carry();
        nodes.get(0).commit(nodes.get(0).commits.present(), List.of(STAYS, MOVED), List.of(STAYS));
        carry();
        assertEquals(Result.Kind.COMMITTED, nodes.get(0).last());
        assertEquals(0, nodes.get(0).store.newest(STAYS).stamp());
        assertTrue(nodes.get(5).store.newest(STAYS).stamp() > 0);
        assertNull(nodes.get(5).owners.layout().dissolving(1, 3));
    }
}
