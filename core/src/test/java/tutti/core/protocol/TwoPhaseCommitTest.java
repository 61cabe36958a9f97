package tutti.core.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.TwoPhaseMessage.Decide;
import tutti.core.protocol.TwoPhaseMessage.Everywhere;
import tutti.core.protocol.TwoPhaseMessage.Join;
import tutti.core.protocol.TwoPhaseMessage.Prepare;
import tutti.core.protocol.TwoPhaseMessage.Vote;
import tutti.core.protocol.TwoPhaseMessage.Wait;
import tutti.core.protocol.TwoPhaseMessage.Waits;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** Replica 0 of two, told by hand. */
class TwoPhaseCommitTest {
    private static final Set<Integer> BOTH = Set.of(0, 1);
    private static final TransactionId OWN = new TransactionId(0, 7);
    private static final TransactionId OTHER = new TransactionId(1, 3);
    /** Younger than {@link #OWN}, where {@link #OTHER} is older. */
    private static final TransactionId LATER = new TransactionId(1, 9);
    private static final TransactionId NEXT = new TransactionId(0, 8);
    private static final WriteSet OWN_WRITES = writes(1);
    private static final Outcome DEADLOCK = new Outcome.Aborted(new AbortReason.Failed("distributed-deadlock"));

    private static final Outcome UNAVAILABLE = new Outcome.Aborted(new AbortReason.Failed("unavailable"));

    private static final class World extends IdleReplica {
        final List<Message> ordered = new ArrayList<>();
        final List<Message> sent = new ArrayList<>();
        final List<TransactionId> prepared = new ArrayList<>();
        final List<TransactionId> aborted = new ArrayList<>();
        final List<Outcome> answers = new ArrayList<>();

        @Override
        public void abort(TransactionId transaction) {
            aborted.add(transaction);
        }

        @Override
        public void order(Message message) {
            ordered.add(message);
        }

        @Override
        public void multicast(Message message, Set<Integer> nodes) {
            sent.add(message);
        }

        @Override
        public void prepare(TransactionId transaction, WriteSet writes) {
            prepared.add(transaction);
        }

        @Override
        public void answer(TransactionId transaction, Outcome outcome) {
            answers.add(outcome);
        }
    }

    private final World world = new World();
    private final TwoPhaseCommit protocol = new TwoPhaseCommit(TwoPhaseCommit.Parameters.defaults(0, BOTH), world);

    private static WriteSet writes(long key) {
        return new WriteSet(new KeySet.Builder().add(key, KeyKind.UPDATE).build(), new byte[]{1});
    }

    private void execute() {
        protocol.submitted(OWN, TransactionRequest.Interactive.UNDECLARED);
        protocol.executed(OWN, new Execution(0, 0, OWN_WRITES, ReadSet.EMPTY));
        assertInstanceOf(Prepare.class, world.sent.removeFirst());
    }

    /** Under strict two-phase locking it may have read what the request overwrites; only its engine can tell. */
    @Test
    void nothingIsDecidedBeforeWhatMayHaveOverwrittenItsReadsIsVisible() {
        execute();
        TransactionRequest.Whole request = new TransactionRequest.Whole(new byte[0], ConflictClasses.ALL,
                writes(2).keys(),
                TransactionRequest.Placement.ALL);
        protocol.delivered(1, 1, new Everywhere(OTHER, request));
        protocol.received(1, new Vote(OWN, 0, true));
        assertEquals(List.of(), world.ordered);
        protocol.committed(1, 0);
        assertEquals(List.of(new Decide(OWN, 1, OWN_WRITES)), world.ordered);
    }

    /** What has committed may lose its locks before it is visible; whoever reads then has not seen it. */
    @Test
    void nothingIsDecidedBeforeWhatHadCommittedWhenItRanIsVisible() {
        protocol.received(1, new Prepare(OTHER, 0, writes(2)));
        protocol.prepared(OTHER);
        protocol.delivered(1, 1, new Decide(OTHER, 0, writes(2)));
        world.sent.clear();
        execute();
        protocol.received(1, new Vote(OWN, 0, true));
        assertEquals(List.of(), world.ordered);
        protocol.committed(1, 0);
        assertEquals(List.of(new Decide(OWN, 0, OWN_WRITES)), world.ordered);
    }

    /** Its read locks are gone: somebody else may overwrite what it has read, before it has all its locks. */
    @Test
    void whatLosesItsLocksBeforeItHasAllVotesIsAborted() {
        execute();
        protocol.locksLost(OWN);
        assertEquals(List.of(UNAVAILABLE), world.answers);
        assertEquals(List.of(OWN), world.aborted);
        protocol.received(1, new Vote(OWN, 0, true));
        assertEquals(List.of(), world.ordered);
    }

    /** They may have overwritten what it has read, and would come before it; it may have overwritten what they have read. */
    @Test
    void nobodyGoesOnThatMayHaveGotTheLocksOfWhatIsDecidedBeforeThatIsVisible() {
        executeAndDecide();
        protocol.locksLost(OWN);
        protocol.received(1, new Prepare(OTHER, 0, writes(2)));
        protocol.prepared(OTHER);
        WriteSet next = writes(3);
        protocol.submitted(NEXT, TransactionRequest.Interactive.UNDECLARED);
        protocol.executed(NEXT, new Execution(0, 0, next, ReadSet.EMPTY));
        protocol.received(1, new Vote(NEXT, 0, true));
        protocol.delivered(1, 0, new Decide(OWN, 0, OWN_WRITES));
        assertEquals(List.of(), votes());
        assertEquals(List.of(), world.ordered);
        protocol.committed(1, 0);
        assertEquals(List.of(new Outcome.Committed(1)), world.answers);
        assertEquals(List.of(new Vote(OTHER, 0, true)), votes());
        assertEquals(List.of(new Decide(NEXT, 0, next)), world.ordered);
    }

    @Test
    void theyGoOnWhenItsDecisionIsRefused() {
        executeAndDecide();
        protocol.locksLost(OWN);
        protocol.received(1, new Prepare(OTHER, 0, writes(2)));
        protocol.prepared(OTHER);
        protocol.delivered(1, 1, new Join(1, 0));
        protocol.delivered(2, 0, new Decide(OWN, 0, OWN_WRITES));
        assertEquals(List.of(new Outcome.Aborted(new AbortReason.Victim(2))), world.answers);
        assertEquals(List.of(new Vote(OTHER, 0, true)), votes());
    }

    private void executeAndDecide() {
        execute();
        protocol.received(1, new Vote(OWN, 0, true));
        assertEquals(new Decide(OWN, 0, OWN_WRITES), world.ordered.removeLast());
    }

    private List<Message> votes() {
        return world.sent.stream().filter(Vote.class::isInstance).toList();
    }

    @Test
    void aVictimOfWhatCommittedWithoutLocksIsNotDecided() {
        execute();
        protocol.delivered(1, 1, new Decide(OTHER, 0, writes(2)));
        protocol.received(1, new Vote(OWN, 0, true));
        protocol.victim(OWN, 1);
        protocol.committed(1, 0);
        assertEquals(List.of(), world.ordered);
        assertEquals(List.of(new Outcome.Aborted(new AbortReason.Victim(1))), world.answers);
    }

    /** Each waits in the engine of the other's replica, for what that has read: no key set shows it. */
    @Test
    void aDeadlockOfWhichOnlyEnginesKnowIsBroken() {
        execute();
        protocol.received(1, new Prepare(OTHER, 0, writes(2)));
        assertEquals(List.of(OTHER), world.prepared);
        protocol.received(1, new Waits(List.of(new Wait(OWN, OTHER))));
        protocol.timer(1);
        assertEquals(List.of(), world.answers);
        protocol.blocked(OTHER, Set.of(OWN));
        protocol.timer(1);
        assertEquals(List.of(new Waits(List.of(new Wait(OTHER, OWN)))),
                world.sent.stream().filter(Waits.class::isInstance).toList());
        assertEquals(List.of(DEADLOCK), world.answers);
    }

    /** Whoever is asked for waits in the engine behind local ones: if it gave way to each of them it would wait for ever. */
    @Test
    void whatRanWhileAnOlderOneWaitedForItGivesWayAtOnce() {
        protocol.received(1, new Prepare(OTHER, 0, OWN_WRITES));
        protocol.submitted(OWN, TransactionRequest.Interactive.UNDECLARED);
        protocol.executed(OWN, new Execution(0, 0, OWN_WRITES, ReadSet.EMPTY));
        assertEquals(List.of(DEADLOCK), world.answers);
        assertEquals(List.of(OWN), world.aborted);
        assertEquals(List.of(), world.sent);
    }

    @Test
    void whatHasRunGivesWayWhenAnOlderOneAsks() {
        execute();
        protocol.received(1, new Prepare(OTHER, 0, OWN_WRITES));
        assertEquals(List.of(DEADLOCK), world.answers);
        assertEquals(List.of(OTHER), world.prepared, "it has the lock");
    }

    @Test
    void neitherToAYoungerOneNorWhenItHasAllVotes() {
        execute();
        protocol.received(1, new Prepare(LATER, 0, OWN_WRITES));
        assertEquals(List.of(), world.answers);
        protocol.received(1, new Vote(OWN, 0, true));
        protocol.received(1, new Prepare(OTHER, 0, OWN_WRITES));
        assertEquals(List.of(), world.answers);
        assertEquals(List.of(), world.prepared);
    }

    @Test
    void aYoungerOneThatWaitedForWhatHasRunWaitsAnew() {
        protocol.received(1, new Prepare(LATER, 0, OWN_WRITES));
        execute();
        assertEquals(List.of(LATER), world.aborted);
        assertEquals(List.of(), world.answers);
    }
}
