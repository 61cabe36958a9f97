package tutti.wire;

import io.netty.buffer.ByteBuf;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.wire.OpenTransaction.Extent;

/**
 * How a session's transaction is rolled back when the node wants it, and how its client hears what the node has decided: at
 * once if it waits, otherwise at its next message. On the session's event loop.
 */
final class RollbackSequence {
    private final Session session;
    private final CurrentTransaction transaction;
    private final BackendRequests backend;
    private final ClientStream client;
    private final ClientCycle cycle;

    RollbackSequence(Session session) {
        this.session = session;
        this.transaction = session.transaction();
        this.backend = session.backend();
        this.client = session.client();
        this.cycle = session.cycle();
    }

    // ------------------------------------------------------------------------------------------ from the node

    /** From the node: roll back now, whatever is going on. */
    void rollback(OpenTransaction asked, Runnable done) {
        if (!transaction.is(asked) || asked.rolledBack() || transaction.is(SessionState.CLOSED)) {
            done.run();
            return;
        }
        if (!asked.wantRollback(done)) {
            return;
        }
        if (asked.turnAwaited()) {
            loseTurn(asked);
        } else {
            switch (transaction.state()) {
                case CERTIFYING -> begin();
                case COMMITTING, ROLLING_BACK, AWAITING_ANSWER, CLOSED -> {
                    // it is on its way
                }
                case IDLE, IN_TRANSACTION, FAILED, CLOSING, BARRIER -> {
                    if (isStill()) {
                        begin();
                    } else {
                        interrupt(asked);
                    }
                }
            }
        }
        session.settle();
    }

    /** Whether nothing is under way in the engine, and nothing comes. */
    private boolean isStill() {
        return backend.idle() && (cycle.none() || session.questions().abandon());
    }

    private void loseTurn(OpenTransaction asked) {
        asked.losesTurn();
        begin();
    }

    /** Makes the engine stop what it is doing for this cycle. */
    private void interrupt(OpenTransaction asked) {
        client.suppress();
        session.resumeEngine();
        if (cycle.copies()) {
            failCopy();
        }
        backend.interrupt(() -> !transaction.is(asked) || asked.rolledBack());
        if (!cycle.none() && !cycle.blocked()) {
            cycle.await();
            backend.batch().sync(_ -> {
                if (transaction.is(asked)) {
                    begin();
                }
            });
        }
    }

    /**
     * An engine that waits for data does not hear requests to cancel, nor Sync. So this follows a statement that may take data whether it does by now or
     * not: outside of a COPY, the engine ignores it.
     */
    private void failCopy() {
        cycle.copyFails();
        ByteBuf out = client.buffer();
        Frontend.copyFail(out, "the transaction gives way to one that was ordered first");
        backend.write(out);
    }

    /** The session itself gives its transaction up: rolls back, whatever is going on. */
    void ofItself(OpenTransaction current) {
        current.giveUp();
        if (isStill()) {
            begin();
        } else {
            interrupt(current);
        }
    }

    /** The same when there is time: what the engine has been sent is executed before. */
    void inPeace(OpenTransaction current) {
        if (backend.idle() && cycle.none()) {
            begin();
            return;
        }
        client.suppress();
        session.resumeEngine();
        cycle.await();
        backend.batch().sync(_ -> {
            if (transaction.is(current)) {
                begin();
            }
        });
    }

    /** From the node: the end. */
    void answer(OpenTransaction asked, Outcome end) {
        if (!transaction.is(asked)) {
            return;
        }
        asked.decided(end);
        if (asked.turnAwaited()) {
            loseTurn(asked);
        }
        tryAnswer();
        session.settle();
    }

    /**
     * From the node: its client is not to wait for the outcome any more. It is sent away, as by a node that is lost: drivers go to another node then and
     * ask there. What it has asked to commit goes on without it.
     */
    void doubtful(OpenTransaction asked, TransactionId name) {
        if (!transaction.is(asked)) {
            return;
        }
        if (asked.turnAwaited()) {
            client.end(Errors.awaitsNoTurn());
        } else if (transaction.state().outlivesClient()) {
            client.end(Errors.inDoubt(session.node().names(), name));
        }
        session.settle();
    }

    // ------------------------------------------------------------------------------------------ in the engine

    /** Rolls back. Nothing of the client's is running any more. */
    void begin() {
        inEngine(() -> {
            complete();
            transaction.becomes(SessionState.AWAITING_ANSWER);
            OpenTransaction current = transaction.orNull();
            if (current != null && current.repeatAsked()) {
                session.turns().repeat(current);
            } else if (current != null && current.retry() != null && !current.repeatable()) {
                session.repetition().rolledBack(current, current.rollbackAsked() || current.outcome() != null);
            } else {
                tryAnswer();
            }
        });
    }

    /** It is rolled back in the engine: whoever waits for that is told. */
    void complete() {
        OpenTransaction current = transaction.orNull();
        if (current != null) {
            current.rollbackDone();
        }
        transaction.workOver();
        session.changes().leave();
    }

    /** Rolls back in the engine, which the client does not see. */
    void inEngine(Runnable then) {
        transaction.becomes(SessionState.ROLLING_BACK);
        backend.whenNoCancels(() -> {
            if (transaction.is(SessionState.CLOSED)) {
                return;
            }
            client.hideWarnings(true);
            sayRollback(() -> {
                client.hideWarnings(false);
                then.run();
            });
        });
    }

    /** Says it again if a late request to cancel has met it. */
    private void sayRollback(Runnable then) {
        backend.batch().rollback(_ -> {
            if (backend.outsideOfTransaction()) {
                then.run();
            } else {
                sayRollback(then);
            }
        });
    }

    // ------------------------------------------------------------------------------------------ the client

    /** Tells the client what the node has decided, if it has and nothing runs in the engine. */
    void tryAnswer() {
        OpenTransaction answered = transaction.orNull();
        Outcome end = answered == null ? null : answered.outcome();
        if (answered == null || end == null || !transaction.is(SessionState.AWAITING_ANSWER)) {
            return;
        }
        ErrorFields fields = Errors.of(end, answered.describe());
        if (fields != null && end instanceof Outcome.Aborted aborted) {
            boolean repeated = session.repetition().lost(answered, aborted, fields);
            session.times().lost(fields, repeated);
            if (repeated) {
                return;
            }
        }
        if (fields == null && !answered.writes().isEmpty() && session.shownToAll().awaits(answered)) {
            session.shownToAll().await(answered, this::tryAnswer);
            return;
        }
        client.show();
        if (!answered.writes().isEmpty() || session.commit().askedByClient()) {
            session.commit().finish(fields, true);
        } else {
            pushedOut(answered,
                    fields == null ? Errors.error("XX000", "committed without having asked") : fields);
        }
    }

    /** It was rolled back before its client asked to commit. */
    private void pushedOut(OpenTransaction over, ErrorFields fields) {
        boolean block = over.extent() == Extent.BLOCK;
        transaction.forget();
        transaction.workOver();
        session.commit().abandon();
        transaction.becomes(SessionState.IDLE);
        if (cycle.none()) {
            transaction.abortUnheard(fields);
        } else {
            tell(fields, block);
        }
        if (client.gone()) {
            backend.close();
        }
    }

    /**
     * The client hears in its present cycle that its transaction is over.
     *
     * @param block whether it has to see a transaction block that has failed
     */
    void tell(ErrorFields fields, boolean block) {
        client.drop();
        session.error(fields);
        if (!cycle.busy() && block) {
            cycle.skipToFailure();
        } else if (!cycle.busy()) {
            cycle.skip();
        } else if (block) {
            failBlock();
        } else {
            session.finishCycle(Backend.IDLE);
        }
    }

    /** The transaction has ended by itself while it was being interrupted, and its answer is lost. */
    static ErrorFields answerLost() {
        return Errors.error("40001", "the transaction gave way to one that was ordered first");
    }

    /** Opens a transaction block in the engine and makes it fail, as the client has to see one; ends the cycle. */
    void failBlock() {
        transaction.becomes(SessionState.FAILED);
        backend.batch().begin().fail().sync(_ -> session.finishCycle(Backend.FAILED));
    }
}
