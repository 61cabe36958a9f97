package tutti.core.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** What protocols remember of other transactions is bounded by keys, and what is forgotten is never taken for unchanged. */
class BoundedMemoryTest {
    private static final int KEYS = 10;

    /** One replica alone, whose engine makes everything visible at once and has one transaction open all the time. */
    private static final class Replica extends UniformWorld {
        final ArrayDeque<Message> ordered = new ArrayDeque<>();
        final Map<Long, Outcome> answers = new HashMap<>();
        final Set<Long> running = new HashSet<>();
        Protocol protocol;
        long position;
        long horizon;

        Replica(String name, Map<String, String> parameters, Set<Integer> replicas) {
            protocol = Protocols.STANDARD.choose(name, parameters).create(0, replicas, this);
        }

        @Override
        protected void ask(Consumer<ReplicaWorld> effect) {
            // What commits is visible when the message that commits it has been dealt with.
        }

        @Override
        public void run(TransactionId transaction, Priority priority) {
            running.add(transaction.serial());
        }

        @Override
        public void order(Message message) {
            ordered.add(message);
        }

        @Override
        public void answer(TransactionId transaction, Outcome outcome) {
            answers.put(transaction.serial(), outcome);
        }

        void submit(long serial) {
            protocol.submitted(id(0, serial), new TransactionRequest.Interactive(ConflictClasses.of(List.of(serial))));
            settle();
        }

        void execute(long serial, long begun, int keys) {
            protocol.executed(id(0, serial), new Execution(begun, begun, writes(serial, keys), ReadSet.EMPTY));
            settle();
        }

        void settle() {
            while (!ordered.isEmpty()) {
                deliver(0, ordered.remove());
            }
        }

        void deliver(int sender, Message message) {
            protocol.delivered(++position, sender, message);
            protocol.committed(position, horizon);
        }
    }

    private static TransactionId id(int node, long serial) {
        return new TransactionId(node, serial);
    }

    private static WriteSet writes(long serial, int keys) {
        KeySet.Builder set = new KeySet.Builder();
        for (int i = 0; i < keys; i++) {
            set.add(serial * 1000 + i, KeyKind.UPDATE);
        }
        return new WriteSet(set.build(), new byte[1]);
    }

    static Stream<String> protocols() {
        return Protocols.STANDARD.all().stream()
                .filter(protocol -> protocol.parameters().contains(CommonParameters.WINDOW_KEYS))
                .map(ProtocolDescriptor::name);
    }

    @ParameterizedTest
    @MethodSource("protocols")
    void soManyKeysAreRememberedAndWhoIsOlderIsRefused(String name) {
        Replica replica = new Replica(name, Map.of("window-keys", Integer.toString(KEYS)), Set.of(0));
        replica.submit(1);
        for (long serial = 2; serial <= 50; serial++) {
            replica.submit(serial);
            replica.execute(serial, replica.position, 3);
            assertInstanceOf(Outcome.Committed.class, replica.answers.get(serial));
            assertTrue(replica.protocol.remembered() <= KEYS, () -> name + ": " + replica.protocol.remembered());
        }
        assertTrue(replica.protocol.remembered() > KEYS - 3, "it remembers as much as it may");
        replica.execute(1, 0, 1);
        Outcome.Aborted refused = assertInstanceOf(Outcome.Aborted.class, replica.answers.get(1L));
        assertInstanceOf(AbortReason.TooOld.class, refused.reason());
        assertEquals(0, refused.reason().lostTo(), "it is of use to try again");
    }

    @ParameterizedTest
    @MethodSource("protocols")
    void whatWasCommittedLastIsRememberedHoweverLarge(String name) {
        Replica replica = new Replica(name, Map.of("window-keys", "1"), Set.of(0));
        replica.submit(2);
        replica.execute(2, 0, 5);
        replica.submit(3);
        replica.execute(3, replica.position, 5);
        assertEquals(5, replica.protocol.remembered());
        replica.submit(4);
        replica.execute(4, replica.position, 1);
        assertInstanceOf(Outcome.Committed.class, replica.answers.get(4L), "whoever began behind it may commit");
    }

    /** Rows that are written again and again never raise the floor. */
    @Test
    void aFilterIsComparedWithTheLastTimeThatAKeyWasWritten() {
        Map<String, String> parameters = Map.of("reads", "bloom", "window-keys", "1000000");
        Replica replica = new Replica(DatabaseStateMachine.NAME, parameters, Set.of(0));
        replica.submit(1);
        for (long serial = 2; serial <= 1000; serial++) {
            replica.submit(serial);
            replica.protocol.executed(id(0, serial),
                    new Execution(replica.position, replica.position, writes(7 + serial % 2, KEYS), ReadSet.EMPTY));
            replica.settle();
            assertTrue(replica.protocol.snapshot().length < 20_000, "of 20 keys, some of them several times");
        }
        Replica restored = new Replica(DatabaseStateMachine.NAME, parameters, Set.of(0));
        restored.protocol.restore(replica.protocol.snapshot());
        restored.position = replica.position;
        long last = replica.position;
        for (Replica each : List.of(replica, restored)) {
            each.submit(2001);
            each.protocol.executed(id(0, 2001), reading(last - 2));
            each.submit(2002);
            each.protocol.executed(id(0, 2002), reading(last));
            each.settle();
            assertEquals(new AbortReason.StaleRead(last - 1),
                    assertInstanceOf(Outcome.Aborted.class, each.answers.get(2001L)).reason());
            assertInstanceOf(Outcome.Committed.class, each.answers.get(2002L));
        }
    }

    /** It has read a row that is written at each second position. */
    private static Execution reading(long begun) {
        ReadSet.Builder reads = new ReadSet.Builder();
        return new Execution(begun, begun, writes(99, 1), reads.row(1, 8000).build());
    }

    /** The votes of node 1 do not come. */
    @Test
    void underPostgresRWhatIsUndecidedIsBoundedAlikeAtAllReplicas() {
        Replica here = new Replica(PostgresR.NAME, Map.of("window-keys", Integer.toString(KEYS)), Set.of(0, 1));
        for (long serial = 1; serial <= 4; serial++) {
            here.deliver(1, new PostgresR.Changes(id(1, serial), writes(serial, 3)));
        }
        assertEquals(9, here.protocol.remembered(), "the fourth was left out");
        Replica other = new Replica(PostgresR.NAME, Map.of("window-keys", Integer.toString(KEYS)), Set.of(0, 1));
        other.protocol.restore(here.protocol.snapshot());
        assertEquals(9, other.protocol.remembered(), "a replica that begins with a snapshot leaves out the same");

        here.submit(9);
        here.execute(9, here.position, 3);
        Outcome.Aborted refused = assertInstanceOf(Outcome.Aborted.class, here.answers.get(9L));
        assertEquals("backlog", refused.reason().label());

        here.deliver(1, new PostgresR.Vote(id(1, 1), true));
        here.deliver(1, new PostgresR.Vote(id(1, 2), false));
        here.submit(10);
        here.execute(10, here.position, 3);
        assertInstanceOf(Outcome.Committed.class, here.answers.get(10L));
    }
}
