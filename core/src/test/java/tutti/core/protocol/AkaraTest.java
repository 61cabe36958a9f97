package tutti.core.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.AkaraParameters.WhenEarly;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** What random scenarios do not single out. */
class AkaraTest {
    private static final long SHARED = 7;

    private final World world = new World();
    private Akara akara = akara(2, WhenEarly.WAIT);
    private long position;

    /** Has submissions ordered, keeps the rest for later, and notes what it is asked for. */
    private static final class World extends UniformWorld {
        final List<Message> toOrder = new ArrayList<>();
        final List<Long> runs = new ArrayList<>();
        final List<Long> aborts = new ArrayList<>();
        final List<String> answers = new ArrayList<>();

        @Override
        public void run(TransactionId transaction, Priority priority) {
            runs.add(transaction.serial());
        }

        @Override
        public void order(Message message) {
            toOrder.add(message);
        }

        @Override
        public void skip(long position) {
            // As expected of submissions.
        }

        @Override
        public void abort(TransactionId transaction) {
            aborts.add(transaction.serial());
        }

        @Override
        public void answer(TransactionId transaction, Outcome outcome) {
            answers.add(transaction.serial() + (outcome instanceof Outcome.Aborted(var why) ? " " + why.label() : ""));
        }

        @Override
        public void timer(long timer, long delayNanos) {
            // Time does not pass.
        }

        @Override
        protected void ask(Consumer<ReplicaWorld> effect) {
            throw new AssertionError("nobody has a position");
        }
    }

    private Akara akara(int optimistic, WhenEarly whenEarly) {
        return new Akara(new AkaraParameters(0, Set.of(0), optimistic, false, false, whenEarly, 1, 1, 100), world);
    }

    private static TransactionId id(long serial) {
        return new TransactionId(0, serial);
    }

    private void submit(long serial, Long... classes) {
        submit(serial, new TransactionRequest.Interactive(ConflictClasses.of(Arrays.asList(classes))));
    }

    private void submitWhole(long serial, Long... classes) {
        submit(serial, new TransactionRequest.Whole(new byte[0], ConflictClasses.of(Arrays.asList(classes)),
                KeySet.EMPTY, TransactionRequest.Placement.ONE));
    }

    private void submit(long serial, TransactionRequest request) {
        akara.submitted(id(serial), request);
        deliver(world.toOrder.removeLast());
    }

    private void deliver(Message message) {
        ByteBuffer to = ByteBuffer.allocate(message.encodedSize());
        message.encode(to);
        akara.delivered(++position, 0, ClassMessage.MESSAGES.decode(to.flip()));
    }

    /** It is ready; what it wrote does not matter here. */
    private void executes(long serial) {
        akara.executed(id(serial), new Execution(0, 0,
                new WriteSet(new KeySet.Builder().add(serial, KeyKind.UPDATE).build(), new byte[1]), ReadSet.EMPTY));
    }

    @Test
    void aVictimThatCannotBeRepeatedFreesOneSlot() {
        // Four of one class, so that only the first is first; two run at a time.
        for (long serial = 1; serial <= 4; serial++) {
            submit(serial, SHARED);
        }
        assertEquals(List.of(1L, 2L), world.runs);
        akara.victim(id(2), 1);
        assertEquals(List.of(1L, 2L, 3L), world.runs, "one slot was freed, not two");
    }

    /** Three that meet in one class and have others of their own, all running. */
    private void threeRun(WhenEarly whenEarly) {
        akara = akara(3, whenEarly);
        submitWhole(1, SHARED, 1L);
        submitWhole(2, SHARED, 2L);
        submitWhole(3, SHARED, 3L);
    }

    @Test
    void whoIsReadyGivesWayToTheNextWhoWaitsForIt() {
        threeRun(WhenEarly.ABORT_IF_BLOCKING);
        executes(2);
        executes(3);
        assertEquals(List.of(), world.aborts, "nobody is known to be in the way");
        akara.blocked(id(1), Set.of(id(2)));
        assertEquals(List.of(2L), world.aborts);
        executes(1);
        assertEquals(List.of(2L), world.aborts, "3 is in nobody's way");
    }

    @Test
    void whoIsInTheWayGivesWayOnceItIsReady() {
        threeRun(WhenEarly.ABORT_IF_BLOCKING);
        akara.blocked(id(1), Set.of(id(2)));
        assertEquals(List.of(), world.aborts, "it may yet fail by itself");
        executes(2);
        assertEquals(List.of(2L), world.aborts);
        assertEquals(List.of(1L, 2L, 3L), world.runs, "it runs again in its turn only");
    }

    @Test
    void whoIsInTheWayThroughAnotherThatRunsGivesWay() {
        threeRun(WhenEarly.ABORT_IF_BLOCKING);
        executes(3);
        akara.blocked(id(1), Set.of(id(2)));
        akara.blocked(id(2), Set.of(id(3)));
        assertEquals(List.of(3L), world.aborts);
    }

    @Test
    void whoIsInTheWayOfOneWhoseTurnComesLaterGivesWayThen() {
        threeRun(WhenEarly.ABORT_IF_BLOCKING);
        executes(3);
        akara.blocked(id(2), Set.of(id(3)));
        assertEquals(List.of(), world.aborts, "it is 1 whose turn it is");
        executes(1);
        assertEquals(List.of(3L), world.aborts);
    }

    /** 2 was next when 1 had failed; then 3, which has the classes of 1, got its place. */
    @Test
    void whoIsInTheWayOfOneThatMovedUpGivesWay() {
        akara = akara(3, WhenEarly.ABORT_IF_BLOCKING);
        submit(1, SHARED);
        submitWhole(2, SHARED, 2L);
        submitWhole(3, SHARED);
        akara.failed(id(1), new AbortReason.Failed("user"));
        executes(2);
        akara.blocked(id(3), Set.of(id(2)));
        assertEquals(List.of(), world.aborts, "3 comes after 2");
        deliver(world.toOrder.removeLast());
        assertEquals(List.of(2L), world.aborts, "3 comes before 2");
    }

    @Test
    void whoCannotBeExecutedAgainIsAVictim() {
        akara = akara(3, WhenEarly.ABORT_IF_BLOCKING);
        submit(1, SHARED, 1L);
        submit(2, SHARED, 2L);
        executes(2);
        akara.blocked(id(1), Set.of(id(2)));
        assertEquals(List.of("2 victim"), world.answers);
    }

    @Test
    void whoIsInTheWayOfItsLikeOvertakes() {
        akara = akara(3, WhenEarly.ABORT_IF_BLOCKING);
        submitWhole(1, SHARED);
        submitWhole(2, SHARED);
        executes(2);
        akara.blocked(id(1), Set.of(id(2)));
        assertEquals(List.of(), world.aborts);
        assertEquals(List.of("changes"), world.toOrder.stream().map(each -> each.getClass().getSimpleName())
                .map(String::toLowerCase).toList(), "2 is first now");
    }

    @Test
    void withoutTheRuleEverybodyWaits() {
        threeRun(WhenEarly.WAIT);
        executes(2);
        akara.blocked(id(1), Set.of(id(2)));
        assertEquals(List.of(), world.aborts);
    }

    @Test
    void literallyWhoeverIsReadyBeforeItsTurnGivesWay() {
        threeRun(WhenEarly.ABORT);
        executes(3);
        assertEquals(List.of(3L), world.aborts);
    }
}
