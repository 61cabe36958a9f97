package tutti.core.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;

/** What random scenarios do not single out. */
class AkaraTest {
    private final World world = new World();
    private final Akara akara = new Akara(new Akara.Parameters(0, Set.of(0), 2, false, false, 1, 1), world);
    private long position;

    /** Has submissions ordered, keeps the rest for later, and notes who is run. */
    private static final class World extends UniformWorld {
        final List<Message> toOrder = new ArrayList<>();
        final List<Long> runs = new ArrayList<>();

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
            // There is no engine.
        }

        @Override
        public void answer(TransactionId transaction, Outcome outcome) {
            // There are no clients.
        }

        @Override
        public void timer(long timer, long delayNanos) {
            // Time does not pass.
        }

        @Override
        protected void ask(Consumer<ReplicaWorld> effect) {
            throw new AssertionError("nothing has been executed");
        }
    }

    private void submit(long serial, long conflictClass) {
        akara.submitted(new TransactionId(0, serial),
                new TransactionRequest.Interactive(ConflictClasses.of(List.of(conflictClass))));
        Message submission = world.toOrder.removeLast();
        ByteBuffer to = ByteBuffer.allocate(submission.encodedSize());
        submission.encode(to);
        akara.delivered(++position, 0, ClassMessage.MESSAGES.decode(to.flip()));
    }

    @Test
    void aVictimThatCannotBeRepeatedFreesOneSlot() {
        // Four of one class, so that only the first is first; two run at a time.
        for (long serial = 1; serial <= 4; serial++) {
            submit(serial, 7);
        }
        assertEquals(List.of(1L, 2L), world.runs);
        akara.victim(new TransactionId(0, 2), 1);
        assertEquals(List.of(1L, 2L, 3L), world.runs, "one slot was freed, not two");
    }
}
