package tutti.core.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** A replica that reaches no other for days: what it asks for is ordered when it is back, and until then waits in its memory. */
class CutOffReplicaTest {
    private static final int SELF = 1;
    private static final TransactionId OF_ANOTHER = new TransactionId(2, 1);
    private static final WriteSet WRITES = new WriteSet(new KeySet.Builder().add(7, KeyKind.UPDATE).build(),
            new byte[]{1});

    /** One replica of three, whose order takes what the test takes from it. */
    private static final class Replica extends IdleReplica {
        final List<Message> ordered = new ArrayList<>();
        final ArrayDeque<Long> timers = new ArrayDeque<>();
        final Protocol protocol;
        private long position;

        Replica(String name, Map<String, String> parameters) {
            protocol = Protocols.STANDARD.choose(name, parameters).create(SELF, Set.of(0, SELF, 2), this);
            protocol.committed(0, 0);
        }

        @Override
        public void order(Message message) {
            ordered.add(message);
        }

        @Override
        public void timer(long timer, long delayNanos) {
            timers.add(timer);
        }

        void deliver(int sender, Message message) {
            protocol.delivered(++position, sender, message);
            protocol.committed(position, position);
        }

        void passes(int ticks) {
            for (int i = 0; i < ticks && !timers.isEmpty(); i++) {
                protocol.timer(timers.remove());
            }
        }
    }

    static Stream<Arguments> protocols() {
        Message submit = new ClassMessage.Submit(OF_ANOTHER, ConflictClasses.ALL);
        return Stream.of(Arguments.of(Nodo.NAME, submit), Arguments.of(Akara.NAME, submit),
                Arguments.of(Hybrid.NAME, submit),
                Arguments.of(TwoPhaseCommit.NAME, new TwoPhaseMessage.Join(2, 1)),
                Arguments.of(PostgresR.NAME, new PostgresR.Changes(OF_ANOTHER, WRITES)),
                Arguments.of(PassiveReplication.NAME, new PassiveReplication.TakeOver(1)));
    }

    @ParameterizedTest
    @MethodSource("protocols")
    void whatIsUnderWayIsNotAskedForOnceMore(String protocol, Message ofAnother) {
        Replica replica = new Replica(protocol, Map.of());
        replica.deliver(2, ofAnother);
        replica.protocol.view(Set.of(SELF));
        replica.passes(100);
        assertEquals(Set.copyOf(replica.ordered).size(), replica.ordered.size(),
                () -> "waits to be ordered: " + replica.ordered);
        assertTrue(replica.ordered.size() <= 2, () -> "waits to be ordered: " + replica.ordered);
        assertFalse(replica.ordered.isEmpty());
        assertFalse(replica.timers.isEmpty(), "it looks again");
    }

    /** Node 0 is to ask, and does not: it may not have come to know of the other one, or may not be delivered anything. */
    @ParameterizedTest
    @ValueSource(strings = {Nodo.NAME, Akara.NAME, PassiveReplication.NAME})
    void whoIsNextAsksIfTheLowestDoesNot(String protocol) {
        Replica replica = new Replica(protocol, Map.of());
        boolean passive = protocol.equals(PassiveReplication.NAME);
        replica.deliver(2, passive
                ? new PassiveReplication.TakeOver(1)
                : new ClassMessage.Submit(OF_ANOTHER, ConflictClasses.ALL));
        replica.protocol.view(Set.of(0, SELF));
        assertEquals(List.of(), replica.ordered, "the lowest asks");
        replica.passes(2);
        assertEquals(List.of(passive
                ? new PassiveReplication.TakeOver(2)
                : new ClassMessage.Release(List.of(OF_ANOTHER))), replica.ordered);
    }

    /** It reaches no majority, or its own database is in trouble. */
    @ParameterizedTest
    @MethodSource("protocols")
    void whoTakesNoPartAsksForNothing(String protocol, Message ofAnother) {
        Replica replica = new Replica(protocol, Map.of());
        replica.deliver(2, ofAnother);
        replica.protocol.view(Set.of(0));
        replica.passes(10);
        replica.protocol.view(Set.of());
        replica.passes(10);
        assertEquals(List.of(), replica.ordered);
    }

    @Test
    void whatDidNotHelpIsAskedForAgain() {
        Replica replica = new Replica(Nodo.NAME, Map.of());
        replica.deliver(2, new ClassMessage.Submit(OF_ANOTHER, ConflictClasses.ALL));
        replica.protocol.view(Set.of(SELF));
        Message release = replica.ordered.removeFirst();
        replica.deliver(2, new ClassMessage.Submit(new TransactionId(2, 2), ConflictClasses.ALL));
        replica.passes(3);
        assertEquals(List.of(), replica.ordered);
        replica.deliver(SELF, release);
        replica.passes(1);
        assertEquals(List.of(new ClassMessage.Release(List.of(new TransactionId(2, 2)))), replica.ordered);
    }

    @Test
    void aTurnIsSaidToBeOverOnce() {
        Replica replica = new Replica(SnapshotIsolation.NAME, Map.of());
        replica.deliver(0, new SnapshotIsolation.Certify(new TransactionId(0, 1), 0, 0, 0, WRITES));
        for (long serial = 1; serial <= 2; serial++) {
            replica.deliver(2, new SnapshotIsolation.Certify(new TransactionId(2, serial), 0, 0, 0, WRITES));
        }
        TransactionId own = new TransactionId(SELF, 1);
        replica.protocol.submitted(own, new TransactionRequest.Interactive(ConflictClasses.ALL));
        replica.protocol.executed(own, new Execution(replica.position, replica.position, WRITES, ReadSet.EMPTY));
        replica.deliver(SELF, replica.ordered.removeFirst());
        replica.ordered.clear();
        replica.passes(200);
        assertEquals(1, replica.ordered.stream().filter(NodeTurns.Over.class::isInstance).count(),
                replica.ordered::toString);
    }
}
