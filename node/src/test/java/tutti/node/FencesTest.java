package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.TransactionId;

/** When a node that is asked about another one's transaction has that node's life ended. */
class FencesTest {
    private static final int OTHER = 1;
    private static final TransactionId ABOUT = new TransactionId(OTHER, 1L << 32 | 5);

    private final World world = new World();
    private final Questions questions = new Questions(world, outcomes(), 0);

    private static Outcomes outcomes() {
        Outcomes outcomes = new Outcomes(true);
        outcomes.born(OTHER, 1);
        return outcomes;
    }

    private static final class World implements Questions.Node {
        private final List<Control> sent = new ArrayList<>();
        private boolean gone = true;

        @Override
        public long visible() {
            return 10;
        }

        @Override
        public long deliveredPosition() {
            return 10;
        }

        @Override
        public boolean isGone(int node) {
            return gone;
        }

        @Override
        public void send(Control control) {
            sent.add(control);
        }

        @Override
        public void schedule(long delayNanos, Runnable task) {}

        @Override
        public void hurry(long position) {}

        @Override
        public boolean listens() {
            return false;
        }

        @Override
        public boolean tellsFirst(int node) {
            return false;
        }
    }

    private void ask() {
        questions.ask(ABOUT, new Completion<>() {
            @Override
            public void succeeded(TransactionOutcome outcome) {
                throw new AssertionError("nothing is known yet: " + outcome);
            }

            @Override
            public void failed(EngineFailure failure) {
                throw new AssertionError(failure.message());
            }
        });
        questions.reconsider();
    }

    @Test
    void whoIsBackWhenTheQuestionIsOrderedIsNotFenced() {
        ask();
        world.gone = false;
        questions.delivered(ABOUT);
        questions.reconsider();
        assertEquals(List.of(new Control.Question(ABOUT)), world.sent);
    }

    @Test
    void whoIsStillGoneIsFencedOnce() {
        ask();
        questions.delivered(ABOUT);
        questions.reconsider();
        assertEquals(List.of(new Control.Question(ABOUT), new Control.Fence(OTHER, 1)), world.sent);
    }
}
