package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.TablePlacement;
import tutti.core.txn.TransactionId;
import tutti.node.Outcomes.Answer;

class OutcomesTest {
    private static final Ballots.Image NO_BALLOTS = new Ballots(Set.of(1),
            new Placements(TablePlacement.EVERYWHERE)).image();
    private final Outcomes outcomes = new Outcomes(true);

    private static TransactionId id(int node, long incarnation, long count) {
        return new TransactionId(node, incarnation << 32 | count);
    }

    @Test
    void anUnfinishedLifeIsOpenAndAFinishedOneConclusive() {
        assertEquals(Answer.UNHEARD, outcomes.of(id(1, 1, 7)));
        outcomes.born(1, 1);
        outcomes.committed(id(1, 1, 7));
        assertEquals(Answer.UNHEARD, outcomes.of(id(1, 2, 7)));
        assertEquals(Answer.COMMITTED, outcomes.of(id(1, 1, 7)));
        assertEquals(Answer.OPEN, outcomes.of(id(1, 1, 8)));
        assertEquals(Answer.ABORTED, outcomes.ofEnded(id(1, 1, 8)));
        outcomes.born(2, 1);
        assertEquals(Answer.OPEN, outcomes.of(id(1, 1, 8)), "another node's life");
        outcomes.born(1, 2);
        assertEquals(Answer.ABORTED, outcomes.of(id(1, 1, 8)));
        assertEquals(Answer.COMMITTED, outcomes.of(id(1, 1, 7)));
        assertEquals(Answer.OPEN, outcomes.of(id(1, 2, 7)));
    }

    @Test
    void aFenceEndsALifeUntilTheNextBegins() {
        outcomes.born(1, 3);
        assertTrue(outcomes.counts(1));
        assertFalse(outcomes.fence(1, 2), "of a life that is over");
        assertFalse(outcomes.fence(1, Long.MAX_VALUE), "of a life that nobody has heard of");
        assertTrue(outcomes.counts(1));
        assertTrue(outcomes.fence(1, 3));
        assertFalse(outcomes.counts(1));
        assertFalse(outcomes.fence(1, 3), "the second");
        assertEquals(Answer.ABORTED, outcomes.of(id(1, 3, 1)));
        outcomes.born(1, 4);
        assertTrue(outcomes.counts(1));
    }

    /** Which runs are whose may be forgotten before a verdict. */
    @Test
    void aTransactionWhoseLastRunIsLeftOutMuchLaterHasNotCommitted() {
        outcomes.born(1, 1);
        outcomes.again(id(1, 1, 7), id(1, 1, 9));
        outcomes.committed(id(1, 1, 9));
        List<TransactionId> refused = outcomes.withNames(List.of(id(1, 1, 9)));
        for (int count = 0; count < 2 * Outcomes.RUNS; count += 2) {
            outcomes.again(id(1, 1, 20 + count), id(1, 1, 21 + count));
        }
        assertEquals(Answer.COMMITTED, outcomes.ofEnded(id(1, 1, 7)));
        refused.forEach(outcomes::undone);
        assertEquals(Answer.UNKNOWN, outcomes.ofEnded(id(1, 1, 7)));
    }

    @Test
    void aTransactionThatIsRunAgainHasCommittedIfAnyRunHas() {
        outcomes.born(1, 1);
        outcomes.again(id(1, 1, 7), id(1, 1, 9));
        assertEquals(Answer.OPEN, outcomes.of(id(1, 1, 7)));
        outcomes.again(id(1, 1, 7), id(1, 1, 12));
        outcomes.committed(id(1, 1, 12));
        assertEquals(Answer.COMMITTED, outcomes.of(id(1, 1, 7)));
        assertEquals(Answer.OPEN, outcomes.of(id(1, 1, 9)), "a run that has lost");
        outcomes.undone(id(1, 1, 12));
        assertEquals(Answer.ABORTED, outcomes.ofEnded(id(1, 1, 7)));
        outcomes.again(id(1, 1, 8), id(1, 1, 13));
        outcomes.committed(id(1, 1, 15));
        outcomes.again(id(1, 1, 10), id(1, 1, 15));
        assertEquals(Answer.COMMITTED, outcomes.of(id(1, 1, 10)), "by a message that another node has sent");
        outcomes.born(1, 2);
        assertEquals(Answer.ABORTED, outcomes.of(id(1, 1, 8)));
        outcomes.again(id(1, 1, 8), id(1, 2, 1));
        outcomes.committed(id(1, 2, 1));
        assertEquals(Answer.ABORTED, outcomes.of(id(1, 1, 8)), "another life's");
    }

    /** A restarted replica does not know which runs there were, and an old one not of all. */
    @Test
    void absenceOfATransactionThatIsRunAgainIsNoAnswerToWhoDoesNotKnowTheRuns() {
        outcomes.born(1, 1);
        for (int i = 0; i <= Outcomes.RUNS; i++) {
            outcomes.again(id(1, 1, 2L * i), id(1, 1, 2L * i + 1));
        }
        assertEquals(Answer.UNKNOWN, outcomes.of(id(1, 1, 0)));
        assertEquals(Answer.OPEN, outcomes.of(id(1, 1, 2)));
        outcomes.committed(id(1, 1, 3));
        Outcomes restored = new Outcomes(true);
        restored.restore(outcomes.image());
        assertEquals(Answer.COMMITTED, restored.of(id(1, 1, 2)));
        assertEquals(Answer.UNKNOWN, restored.of(id(1, 1, 4)));
        restored.again(id(1, 1, 4), id(1, 1, 100_001));
        restored.born(1, 2);
        assertEquals(Answer.ABORTED, restored.of(id(1, 1, 4)), "what ran before had lost when it was run again");
        assertEquals(Answer.UNKNOWN, restored.of(id(1, 1, 6)));
    }

    @Test
    void aRequestThatEveryReplicaExecutesIsKnownByItsResult() {
        outcomes.born(1, 1);
        outcomes.request(id(1, 1, 1), 10, false);
        outcomes.request(id(1, 1, 2), 11, false);
        outcomes.request(id(1, 1, 3), 9, true);
        assertEquals(Answer.EXECUTING, outcomes.of(id(1, 1, 1)));
        assertEquals(Answer.UNKNOWN, outcomes.of(id(1, 1, 3)), "executed in an earlier life");
        outcomes.executed(10, true);
        outcomes.executed(11, false);
        assertEquals(Answer.COMMITTED, outcomes.of(id(1, 1, 1)));
        assertEquals(Answer.UNKNOWN, outcomes.of(id(1, 1, 2)));
    }

    @Test
    void absenceSaysNothingWhereOthersOrder() {
        Outcomes relayed = new Outcomes(false);
        relayed.born(1, 1);
        relayed.born(1, 2);
        assertEquals(Answer.UNKNOWN, relayed.of(id(1, 1, 1)));
    }

    @Test
    void whatIsTooOldIsForgottenAndNotTakenForAborted() {
        outcomes.born(1, 1);
        outcomes.committed(id(1, 1, 5));
        outcomes.committed(id(1, 1, 3L * Outcomes.WINDOW));
        assertEquals(Answer.UNKNOWN, outcomes.of(id(1, 1, 5)));
        assertEquals(Answer.OPEN, outcomes.of(id(1, 1, 3L * Outcomes.WINDOW - 1)));
        for (int life = 2; life < 2 + Outcomes.LIVES; life++) {
            outcomes.born(1, life);
        }
        assertEquals(Answer.UNKNOWN, outcomes.of(id(1, 1, 3L * Outcomes.WINDOW)));
    }

    @Test
    void snapshotsKeepEverything() {
        outcomes.born(0, 1);
        outcomes.born(1, 5);
        outcomes.committed(id(0, 1, 100_000));
        outcomes.request(id(0, 1, 7), 12, false);
        outcomes.fence(1, 5);
        NodeSnapshot snapshot = new NodeSnapshot(17, 0xabcd, new byte[]{1, 2, 3}, outcomes.image(), NO_BALLOTS);
        NodeSnapshot read = read(snapshot.bytes());
        assertEquals(ByteBuffer.wrap(snapshot.protocol()), ByteBuffer.wrap(read.protocol()));
        assertEquals(17, read.position());
        assertEquals(0xabcd, read.digest());
        Outcomes restored = new Outcomes(true);
        restored.restore(read.outcomes());
        assertEquals(Answer.COMMITTED, restored.of(id(0, 1, 100_000)));
        assertEquals(Answer.OPEN, restored.of(id(0, 1, 100_001)));
        assertEquals(Answer.UNKNOWN, restored.of(id(0, 1, 7)), "its result is not known any more");
        assertEquals(Answer.ABORTED, restored.of(id(1, 5, 1)));
        assertFalse(restored.counts(1));
        NodeSnapshot again = new NodeSnapshot(17, 0xabcd, new byte[]{1, 2, 3}, restored.image(), NO_BALLOTS);
        assertEquals(ByteBuffer.wrap(snapshot.bytes()), ByteBuffer.wrap(again.bytes()));
    }

    @Test
    void whatIsNoSnapshotIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> read(new byte[]{9, 9, 9}));
        assertThrows(IllegalArgumentException.class, () -> read(new byte[]{9, 9, 9, 9, 9}));
        byte[] cut = Arrays.copyOf(new NodeSnapshot(1, 2, new byte[40], new Outcomes(true).image(), NO_BALLOTS).bytes(),
                30);
        assertThrows(IllegalArgumentException.class, () -> read(cut));
    }

    private static NodeSnapshot read(byte[] bytes) {
        return NodeFiles.SET.decode(ByteBuffer.wrap(bytes), NodeSnapshot.class);
    }

    @Test
    void aLifeWhoseNumberHasBeenUsedIsNone() {
        Outcomes outcomes = new Outcomes(true);
        assertTrue(outcomes.born(1, 4));
        outcomes.committed(id(1, 4, 9));
        assertFalse(outcomes.born(1, 4));
        assertFalse(outcomes.born(1, 3));
        assertEquals(4, outcomes.lastLife(1));
        assertEquals(Answer.COMMITTED, outcomes.of(id(1, 4, 9)));
        assertTrue(outcomes.born(1, 5));
    }

    /** Its own node may say that it has ended while this one still executes it. */
    @Test
    void aQuestionAboutARequestWaitsForItsExecutionHere() {
        Outcomes outcomes = new Outcomes(true);
        outcomes.born(1, 1);
        outcomes.request(id(1, 1, 7), 3, false);
        List<Control> sent = new ArrayList<>();
        Questions questions = new Questions(node(sent, Set.of(1)), outcomes, 0);
        List<TransactionOutcome> told = new ArrayList<>();
        ask(questions, id(1, 1, 7), told);
        questions.reconsider();
        questions.ended(id(1, 1, 7));
        assertEquals(List.of(), told);

        outcomes.executed(3, true);
        questions.reconsider();
        assertEquals(List.of(TransactionOutcome.COMMITTED), told);
        assertEquals(List.of(), sent);
    }

    /** A node that sees nobody is cut off itself: what it has the others do comes when they are well. */
    @Test
    void whoIsInSightOrNotMissedByAMajorityIsNotFenced() {
        Outcomes outcomes = new Outcomes(true);
        outcomes.born(1, 1);
        List<Control> sent = new ArrayList<>();
        Set<Integer> gone = new HashSet<>();
        Questions questions = new Questions(node(sent, gone), outcomes, 0);
        ask(questions, id(1, 1, 7), new ArrayList<>());
        questions.reconsider();
        assertEquals(List.of(new Control.Question(id(1, 1, 7))), sent);
        questions.delivered(id(1, 1, 7));
        assertEquals(List.of(new Control.Question(id(1, 1, 7))), sent);
        gone.add(1);
        questions.reconsider();
        questions.reconsider();
        assertEquals(List.of(new Control.Question(id(1, 1, 7)), new Control.Fence(1, 1)), sent);
    }

    /** A node that was cut off hears late that somebody was away whom nobody misses any more. */
    @Test
    void whoIsBackWhenTheQuestionIsOrderedIsNotFenced() {
        Outcomes outcomes = new Outcomes(true);
        outcomes.born(1, 1);
        List<Control> sent = new ArrayList<>();
        Set<Integer> gone = new HashSet<>(Set.of(1));
        Questions questions = new Questions(node(sent, gone), outcomes, 0);
        ask(questions, id(1, 1, 7), new ArrayList<>());
        questions.reconsider();
        gone.clear();
        questions.delivered(id(1, 1, 7));
        questions.reconsider();
        assertEquals(List.of(new Control.Question(id(1, 1, 7))), sent);
    }

    private static Questions.Node node(List<Control> sent, Set<Integer> gone) {
        return new Questions.Node() {
            @Override
            public long visible() {
                return 3;
            }

            @Override
            public long deliveredPosition() {
                return 3;
            }

            @Override
            public void hurry(long position) {
                // Nothing waits.
            }

            @Override
            public boolean listens() {
                return false;
            }

            @Override
            public boolean tellsFirst(int node) {
                return false;
            }

            @Override
            public boolean isGone(int node) {
                return gone.contains(node);
            }

            @Override
            public void send(Control control) {
                sent.add(control);
            }

            @Override
            public void schedule(long delayNanos, Runnable task) {
                // Nobody loses patience here.
            }
        };
    }

    private static void ask(Questions questions, TransactionId about, List<TransactionOutcome> told) {
        questions.ask(about, new Completion<>() {
            @Override
            public void succeeded(TransactionOutcome outcome) {
                told.add(outcome);
            }

            @Override
            public void failed(EngineFailure failure) {
                throw new AssertionError(failure.toString());
            }
        });
    }
}
