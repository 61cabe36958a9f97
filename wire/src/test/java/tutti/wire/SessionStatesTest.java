package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.DefaultEventLoop;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.spi.Completion;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.wire.OpenTransaction.Extent;

/** The parts of a session refuse steps that cannot be. */
class SessionStatesTest {
    private final ClientCycle cycle = new ClientCycle();

    private static void illegal(Runnable step, String why) {
        IllegalStateException refused = assertThrows(IllegalStateException.class, step::run);
        assertEquals(why, refused.getMessage());
    }

    @Test
    void aCycleIsOverOnlyWhenItIsComplete() {
        illegal(cycle::complete, "a client's cycle cannot go from NONE to BUSY");
        assertTrue(cycle.begins());
        assertFalse(cycle.begins(), "one at a time");
        illegal(cycle::over, "a client's cycle cannot go from OPEN to NONE");
        cycle.complete();
        cycle.over();
        assertTrue(cycle.none());
    }

    @Test
    void whatFollowsAnEndWaitsUnlessItIsSync() {
        cycle.begins();
        cycle.ending();
        assertFalse(cycle.blocked());
        cycle.await();
        assertTrue(cycle.blocked());
        cycle.ended();
        assertFalse(cycle.blocked());
        cycle.ending();
        cycle.complete();
        cycle.ended();
        assertTrue(cycle.busy());
    }

    @Test
    void aBlockThatIsToFailAtSyncIsNotForgottenByALaterError() {
        cycle.begins();
        cycle.skipToFailure();
        cycle.skip();
        assertTrue(cycle.failsAtSync());
        illegal(cycle::await, "a client's cycle cannot go from SKIPPING_TO_FAILURE to WAITING");
    }

    @Test
    void aTransactionIsHandedInOnceAndRolledBackOnce() {
        DefaultEventLoop loop = new DefaultEventLoop();
        OpenTransaction transaction = new OpenTransaction(new Control(), loop, Extent.BLOCK);
        assertTrue(transaction.needsTurn());
        transaction.awaitsTurn(ConflictClasses.ALL, true, false, () -> {});
        illegal(() -> transaction.awaitsTurn(ConflictClasses.ALL, true, false, () -> {}),
                "a transaction is handed in twice; its turn is AWAITED");
        transaction.takesTurn();
        illegal(transaction::losesTurn, "a transaction's turn cannot go from TAKEN to LOST");
        assertTrue(transaction.wantRollback(() -> {}));
        assertFalse(transaction.wantRollback(() -> {}), "it is wanted already");
        illegal(transaction::repeats, "a rollback cannot go from WANTED to NONE");
        transaction.rollbackDone();
        assertTrue(transaction.rolledBack());
        transaction.repeats();
        assertFalse(transaction.rolledBack());
        assertNull(transaction.outcome());
        loop.shutdownGracefully();
    }

    /** Of a transaction that the node asks nothing of. */
    private static final class Control implements OpenTransaction.Control {
        @Override
        public void run(OpenTransaction asked, Priority priority) {
            throw new AssertionError(asked);
        }

        @Override
        public void commit(OpenTransaction asked, long position, Completion<Void> done) {
            throw new AssertionError(asked);
        }

        @Override
        public void rollback(OpenTransaction asked, Runnable done) {
            throw new AssertionError(asked);
        }

        @Override
        public void answer(OpenTransaction asked, Outcome outcome) {
            throw new AssertionError(asked);
        }

        @Override
        public void doubtful(OpenTransaction asked, TransactionId name) {
            throw new AssertionError(asked);
        }
    }
}
