package tutti.wire;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.pgwire.ErrorFields;
import tutti.wire.OpenTransaction.Extent;

/**
 * How a session's transaction waits for its turn, and runs again: only under protocols that do not let transactions execute at
 * once. {@link DeferredMessages} keeps its messages meanwhile. On the session's event loop.
 */
final class DeferredExecution {
    /** Of what may touch anything, and is not run again. */
    static final TransactionRequest ANYTHING = new TransactionRequest.Interactive(ConflictClasses.ALL);
    private static final Logger LOG = LoggerFactory.getLogger(DeferredExecution.class);

    private final Session session;
    private final CurrentTransaction transaction;
    private final ClientStream client;
    private final ClientCycle cycle;

    DeferredExecution(Session session) {
        this.session = session;
        this.transaction = session.transaction();
        this.client = session.client();
        this.cycle = session.cycle();
    }

    /** Whether the open transaction, or the one about to begin, must wait for its turn before it looks at the database. */
    boolean needed() {
        OpenTransaction current = transaction.orNull();
        return (current == null || current.needsTurn()) && !session.node().executesAtOnce();
    }

    /**
     * Hands the transaction in. No message of the client's is read, and none of its statements may have been sent, until its
     * turn has come.
     *
     * @param vouchedFor whether its classes are what somebody says rather than what its text tells, so that they must be
     *            checked when it is over
     * @param implicitly whether it is to be begun by the node, for one cycle
     * @param then sends what the client has said meanwhile
     */
    void await(TransactionRequest request, boolean vouchedFor, boolean implicitly, Runnable then) {
        cycle.await();
        OpenTransaction waiting = implicitly ? transaction.open(Extent.CYCLE_TO_BEGIN) : transaction.openIfNone();
        waiting.awaitsTurn(request.classes(), request instanceof TransactionRequest.Whole, vouchedFor, () -> {
            if (implicitly) {
                waiting.extent(Extent.CYCLE_TO_BEGIN);
            }
            then.run();
        });
        waiting.ticket().submit(request);
    }

    /** From the node: its turn has come, to run or to run again. */
    void run(OpenTransaction asked, Priority priority) {
        if (!transaction.is(asked)) {
            LOG.debug("nothing to run with priority {}", priority);
            if (transaction.is(SessionState.CLOSED)) {
                asked.ticket().failed(session.end());
            } else if (Errors.CANCELLED_BEFORE_ITS_TURN.equals(asked.outcome())) {
                asked.ticket().failed(new AbortReason.Failed("user"));
            }
            return;
        }
        asked.priority(priority);
        if (asked.turnAwaited()) {
            asked.takesTurn();
            cycle.proceed();
            work(asked);
        } else if (transaction.is(SessionState.AWAITING_ANSWER)) {
            repeat(asked);
        } else if (asked.rollbackWanted()) {
            asked.askToRepeat();
        } else {
            watch(asked);
        }
        session.settle();
    }

    /**
     * The client cancels what it waits for. It hears so at once; the transaction keeps its place until its turn comes, and leaves then.
     *
     * @return whether that was a transaction that waits for its turn
     */
    boolean cancelled() {
        OpenTransaction current = transaction.orNull();
        if (current == null || !current.turnAwaited()) {
            return false;
        }
        session.rollback().answer(current, Errors.CANCELLED_BEFORE_ITS_TURN);
        return true;
    }

    private void watch(OpenTransaction running) {
        if (running.needsWatch(session.node().hearsOfWaits())) {
            running.watched(session.watch(running));
        }
    }

    private void work(OpenTransaction running) {
        watch(running);
        if (running.repeatable()) {
            client.withholdAll();
        }
        running.work().run();
    }

    /** What it has done is rolled back, and it runs again. */
    void repeat(OpenTransaction again) {
        if (!again.repeatable() || client.overflowed() || client.gone()) {
            again.ticket().failed(new AbortReason.Failed(client.gone() ? "disconnect" : "cannot-repeat"));
            return;
        }
        again.repeats();
        client.show();
        client.drop();
        cycle.repeats();
        session.commit().abandon();
        transaction.becomes(SessionState.IDLE);
        work(again);
    }

    /** A whole request has failed for reasons that may not hold when it runs again, or with priority. */
    void askForRepetition(ErrorFields cause) {
        session.rollback().inEngine(() -> {
            session.rollback().complete();
            transaction.becomes(SessionState.AWAITING_ANSWER);
            transaction.get().ticket()
                    .failed(new AbortReason.Failed(cause.sqlState().equals("40P01") ? "deadlock" : "first-updater"));
            session.rollback().tryAnswer();
        });
    }

    /** Whether an error of the engine's lets the open transaction be repeated. */
    boolean repeatable(ErrorFields cause) {
        OpenTransaction current = transaction.orNull();
        return current != null && current.repeatable() && !client.overflowed() && cause.sqlState().startsWith("40");
    }
}
