package tutti.grid.commit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import tutti.core.schema.Encoded;
import tutti.core.txn.TransactionId;
import tutti.grid.multicast.LamportClock;
import tutti.grid.store.Key;
import tutti.grid.store.Layouts;
import tutti.grid.store.Owners;
import tutti.grid.store.RingOwners;
import tutti.grid.store.Store;
import tutti.grid.store.Version;

/** Two nodes, both owners of all keys, and a third that owns none, whose messages arrive when the test says so. */
class TwoPhaseCommitTest {
    private static final long LOCK_TIMEOUT = 100;
    private static final Key KEY = new Key(0, new byte[]{1});

    private record Sent(int from, Encoded message) {}

    private final List<Deque<Sent>> inbound = List.of(new ArrayDeque<>(), new ArrayDeque<>(), new ArrayDeque<>());
    private final List<TwoPhaseCommit> nodes = new ArrayList<>();
    private final List<Result.Kind> results = new ArrayList<>();
    private final List<String> applied = new ArrayList<>();

    TwoPhaseCommitTest() {
        Owners owners = new RingOwners(Set.of(0, 1), new int[]{2});
        for (int i = 0; i < 3; i++) {
            int self = i;
            nodes.add(new TwoPhaseCommit(i, new LamportClock(i), Set.of(0, 1, 2), new Layouts(0, owners), new Store(),
                    LOCK_TIMEOUT, true,
                    new Commits.World() {
                        @Override
                        public void send(int to, Encoded message) {
                            inbound.get(to).add(new Sent(self, message));
                        }

                        @Override
                        public void applied(TransactionId id, long stamp, CommitRequest request) {
                            applied.add(id + " at " + self);
                        }
                    }));
        }
    }

    private void commit(int node, int serial, List<CommitRequest.Check> checks) {
        nodes.get(node).commit(new TransactionId(node, serial),
                new CommitRequest(0, List.of(new CommitRequest.Write(KEY, new byte[0], Version.NEVER)), checks),
                result -> results.add(result.kind()));
    }

    private void deliver(int to) {
        Sent sent = inbound.get(to).remove();
        nodes.get(to).received(sent.from, sent.message);
    }

    /** The next ones that a node has sent. */
    private void deliver(int to, int from, int count) {
        for (int i = 0; i < count; i++) {
            Sent sent = inbound.get(to).stream().filter(one -> one.from == from).findFirst().orElseThrow();
            inbound.get(to).remove(sent);
            nodes.get(to).received(from, sent.message);
        }
    }

    private void deliverAll() {
        while (inbound.stream().anyMatch(all -> !all.isEmpty())) {
            deliver(inbound.get(0).isEmpty() ? inbound.get(1).isEmpty() ? 2 : 1 : 0);
        }
    }

    @Test
    void aTransactionCommitsAtAllOwnersAndIsAnsweredThen() {
        commit(0, 1, List.of());
        assertEquals(List.of(), applied);
        deliverAll();
        assertEquals(List.of("0:0.1 at 1", "0:0.1 at 0"), applied, "the coordinator commits when another owner has");
        assertEquals(List.of(Result.Kind.COMMITTED), results);
    }

    @Test
    void ownersThatLockAKeyInDifferentOrderAreFoundAndOneTransactionGoesOn() {
        commit(0, 1, List.of());
        commit(1, 2, List.of());
        deliverAll();
        assertEquals(List.of(Result.Kind.DEADLOCK, Result.Kind.COMMITTED), results);
        assertEquals(2, applied.size());
        assertTrue(applied.stream().allMatch(one -> one.startsWith("0:0.1")), "the later one gave way: " + applied);
    }

    @Test
    void aLockIsNotWaitedForTooLong() {
        commit(0, 1, List.of());
        // It waits behind the first one, whose messages to the other node are late.
        nodes.get(0).tick(0);
        commit(0, 2, List.of());
        nodes.get(0).tick(LOCK_TIMEOUT - 1);
        assertEquals(List.of(), results);
        nodes.get(0).tick(LOCK_TIMEOUT);
        assertEquals(List.of(Result.Kind.LOCK_TIMEOUT), results);
        deliverAll();
        assertEquals(List.of(Result.Kind.LOCK_TIMEOUT, Result.Kind.COMMITTED), results);
    }

    @Test
    void whatIsNotAsItWasReadIsRefused() {
        commit(0, 1, List.of());
        deliverAll();
        commit(1, 2, List.of(new CommitRequest.Check(KEY, 0)));
        deliverAll();
        assertEquals(List.of(Result.Kind.COMMITTED, Result.Kind.CONFLICT), results);
    }

    /** Behind a lock wait two of node 2 and then two of node 0, whose first one is before those of node 2 at node 1. */
    @Test
    void whoGivesWayWhileOthersAreToldWhoHasTheLockNowIsPassedOver() {
        commit(0, 1, List.of());
        commit(2, 2, List.of());
        commit(2, 3, List.of());
        deliver(0, 2, 2);
        commit(0, 4, List.of());
        commit(0, 5, List.of());
        deliver(1, 0, 3);
        deliver(1, 2, 2);
        deliverAll();
        assertEquals(List.of(Result.Kind.COMMITTED, Result.Kind.COMMITTED, Result.Kind.COMMITTED, Result.Kind.DEADLOCK,
                Result.Kind.DEADLOCK), results.stream().sorted().toList());
        commit(1, 6, List.of());
        deliverAll();
        assertEquals(Result.Kind.COMMITTED, results.getLast(), "all locks are free");
    }

    @Test
    void withoutItsCoordinatorATransactionEndsAsAnOwnerKnows() {
        commit(0, 1, List.of());
        deliver(1);
        nodes.get(1).view(1, Set.of(1));
        assertEquals(List.of(), applied, "it was only prepared");
        commit(1, 2, List.of());
        assertEquals(List.of(Result.Kind.COMMITTED), results, "its locks are free");
    }
}
