package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tutti.core.schema.Encoded;
import tutti.core.txn.TransactionId;
import tutti.grid.commit.CommitRequest;
import tutti.grid.commit.Commits;
import tutti.grid.commit.GroupCommit;
import tutti.grid.genuine.GenuineMessage;
import tutti.grid.multicast.LamportClock;
import tutti.grid.store.GroupOwners;
import tutti.grid.store.Key;
import tutti.grid.store.Store;
import tutti.grid.store.Version;

/** A group of three nodes, the last of which is started anew; the test carries their messages. */
class ReplacementTest {
    private static final Key KEY = new Key(0, new byte[]{1});
    private static final Key OTHER_KEY = new Key(0, new byte[]{2});
    private static final GridMessage.Apply APPLIES = new GridMessage.Apply(77, "here:2", Set.of());
    private static final long PATIENCE_NANOS = 1000;

    private record Sent(int from, int to, Encoded message) {}

    private final Deque<Sent> sent = new ArrayDeque<>();
    private final List<GridMessage.Given> given = new ArrayList<>();
    private final List<Node> nodes = List.of(new Node(0, 0), new Node(1, 0), new Node(2, 77));
    private final Node leader = nodes.getFirst();
    private final Node life = nodes.getLast();
    private long written;

    private final class Node implements Commits.World {
        private final int number;
        private final Store store = new Store();
        private final GroupCommit commits;
        private final Replacement replacement;

        Node(int number, long process) {
            this.number = number;
            commits = new GroupCommit(number, new GroupOwners(Set.of(0, 1, 2), 3), new LamportClock(0), store, 1,
                    process, this);
            replacement = new Replacement(process, commits, store, PATIENCE_NANOS, this::send, () -> {
                throw new AssertionError("it begins another life");
            });
        }

        @Override
        public void send(int to, Encoded message) {
            sent.add(new Sent(number, to, message));
        }

        @Override
        public void applied(TransactionId id, long stamp, CommitRequest request) {
            // The store tells.
        }

        private void received(int from, Encoded message) {
            switch (message) {
                case GenuineMessage.Install install -> replacement.installed(from, install);
                case GridMessage.Fetch fetch -> replacement.fetch(from, fetch, 0);
                case GridMessage.Taken taken -> replacement.taken(from, taken, 0);
                case GridMessage part -> replacement.received(from, part, 0);
                default -> commits.received(from, message);
            }
        }
    }

    ReplacementTest() {
        nodes.forEach(node -> node.commits.absent(Set.of(2), Set.of()));
        write(leader, KEY, new byte[]{1});
        write(leader, KEY, new byte[]{2});
        leader.commits.begins(2, 77);
    }

    private void write(Node by, Key key, byte @Nullable [] value) {
        by.commits.commit(new TransactionId(by.number, ++written), new CommitRequest(by.commits.present(),
                List.of(new CommitRequest.Write(key, value, Version.NEVER)), List.of()), _ -> {});
        carry();
    }

    private void carry() {
        carry(_ -> false);
    }

    /** Carries all messages but for these. */
    private void carry(Predicate<Encoded> lost) {
        while (!sent.isEmpty()) {
            Sent next = sent.removeFirst();
            if (next.message instanceof GridMessage.Given one) {
                given.add(one);
            }
            if (!lost.test(next.message)) {
                nodes.get(next.to).received(next.from, next.message);
            }
        }
    }

    /** It applies; first what is left of the life before is taken out. */
    private void applies(Predicate<Encoded> lost) {
        for (int i = 0; i < 2; i++) {
            leader.replacement.applied(2, APPLIES, Set.of(), 0);
            carry(lost);
        }
    }

    /** What the leader has dropped, the life does not have either: it must not answer as if that had never been. */
    @Test
    void aLifeThatHasCopiedKnowsBelowWhatNothingIsKept() {
        long horizon = leader.commits.present();
        leader.store.trim(horizon, 500);
        assertEquals(1, leader.store.versions(KEY).size());
        applies(_ -> false);
        assertTrue(life.commits.takesPart());
        assertEquals(List.of(horizon, 500L), List.of(life.store.horizon(), life.store.timeHorizonMillis()));
        assertTrue(life.store.isTrimmed(horizon - 1));
        assertFalse(life.store.isTrimmed(horizon));
        assertEquals(leader.store.newest(KEY).stamp(), life.store.newest(KEY).stamp());
        write(life, KEY, new byte[]{3});
        assertEquals(3, leader.store.newest(KEY).value()[0]);
    }

    /** A key that was removed and forgotten since must not come back with the second copy. */
    @Test
    void whatIsCopiedAgainHasNothingOfTheCopyBefore() {
        for (Key key : List.of(KEY, OTHER_KEY)) {
            write(leader, key, new byte[1 << 18]);
        }
        applies(message -> message instanceof GridMessage.Copies copies && copies.last());
        assertTrue(life.store.size() > 0);
        for (Key key : List.of(KEY, OTHER_KEY)) {
            write(leader, key, null);
        }
        leader.store.trim(leader.commits.present(), 0);
        leader.replacement.tick(PATIENCE_NANOS + 1, () -> false);
        life.replacement.tick(PATIENCE_NANOS + 1, () -> false);
        applies(_ -> false);
        assertTrue(life.commits.takesPart());
        assertEquals(List.of(0, 0), List.of(leader.store.size(), life.store.size()));
    }

    /** What was written while a life copied is on its way to it for a while. */
    @Test
    void aBallotIsGivenTheTimeThatWhatItBringsTakes() {
        Predicate<Encoded> held = message -> message instanceof GenuineMessage.Install
                || message instanceof GenuineMessage.Part;
        applies(message -> message instanceof GridMessage.Taken);
        write(leader, KEY, new byte[1 << 22]);
        leader.replacement.taken(2, new GridMessage.Taken(given.getLast().number()), 0);
        List<Sent> onTheWay = new ArrayList<>();
        while (!sent.isEmpty()) {
            Sent next = sent.removeFirst();
            if (held.test(next.message)) {
                onTheWay.add(next);
            } else {
                nodes.get(next.to).received(next.from, next.message);
            }
        }
        for (int time = 10; time < 15; time++) {
            nodes.subList(0, 2).forEach(node -> node.commits.absent(Set.of(2), Set.of()));
            leader.commits.tick(time);
            nodes.get(1).commits.tick(time);
            leader.replacement.tick(time * PATIENCE_NANOS, () -> false);
            carry();
        }
        onTheWay.forEach(one -> nodes.get(one.to).received(one.from, one.message));
        carry();
        assertTrue(life.commits.takesPart());
        assertEquals(1 << 22, Objects.requireNonNull(life.store.newest(KEY).value()).length);
    }

    /** It would be waited for, for ever. */
    @Test
    void aBallotForWhoIsNotHeardAnyMoreIsNotGivenTime() {
        applies(message -> message instanceof GridMessage.Taken);
        write(leader, KEY, new byte[1 << 22]);
        leader.replacement.taken(2, new GridMessage.Taken(given.getLast().number()), 0);
        long before = leader.commits.ballot();
        carry(message -> message instanceof GenuineMessage.Install);
        leader.commits.unheard(Set.of(2));
        leader.commits.tick(10);
        carry();
        assertTrue(leader.commits.ballot() > before && leader.commits.isLeading());
        assertFalse(leader.commits.configuration().has(2));
    }

    @Test
    void aLeaderThatKeepsTooMuchForWhoCopiesBeginsAgain() {
        applies(message -> message instanceof GridMessage.Fetch);
        assertEquals(List.of(1L), given.stream().map(GridMessage.Given::number).toList());
        long delivered = given.getFirst().delivered();
        write(leader, KEY, new byte[]{3});
        for (int i = 0; i < 3; i++) {
            nodes.subList(0, 2).forEach(node -> node.commits.tick(0));
            carry();
        }
        assertTrue(leader.commits.keptBytes(0) > 0, "it keeps for it what was written since");
        leader.replacement.tick(PATIENCE_NANOS, () -> false);
        applies(_ -> false);
        assertEquals(1, given.size(), "it waits for who copies");
        leader.replacement.tick(PATIENCE_NANOS, () -> true);
        for (int i = 0; i < 3; i++) {
            nodes.subList(0, 2).forEach(node -> node.commits.tick(0));
            carry();
        }
        assertEquals(0, leader.commits.keptBytes(0));
        life.replacement.tick(PATIENCE_NANOS + 1, () -> false);
        applies(_ -> false);
        assertEquals(2, given.getLast().number());
        assertTrue(given.getLast().delivered() > delivered);
        assertTrue(life.commits.takesPart());
        assertEquals(3, life.store.newest(KEY).value()[0]);
    }
}
