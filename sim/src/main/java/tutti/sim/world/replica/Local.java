package tutti.sim.world.replica;

import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Replica.Priority;
import tutti.core.protocol.Request;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.sim.world.engine.Run;
import tutti.sim.world.engine.SimSession;

/** A client's transaction that has not ended, at its replica. */
final class Local {
    /** IDLE and RUNNING alternate with each run; ASKED, CERTIFIED and ENDED follow. ASKED may go back to IDLE. */
    enum Phase {
        /** Not running: waits for its protocol. */
        IDLE,
        /** Between its first statement and commit. */
        RUNNING,
        /** Has executed. */
        ASKED,
        /** Has a position. */
        CERTIFIED,
        /** Has been answered. */
        ENDED
    }

    final TransactionId id;
    final Submission submission;
    final Request request;
    final Client client;
    Phase phase = Phase.IDLE;
    Priority priority = Priority.OPTIMISTIC;
    boolean told;
    boolean asked;
    /** Its client knows how it ended. */
    boolean answered;
    int runs;
    /** Counts runs, rollbacks asked for and the end: what was to be told before one of them is not told after it. */
    int epoch;
    long begun;
    long position;
    @Nullable
    SimSession session;
    /** What it had changed when it was executed last. */
    WriteSet captured = WriteSet.EMPTY;
    /** How it was executed last. */
    @Nullable
    Run executed;

    Local(TransactionId id, Submission submission, Client client) {
        this.id = id;
        this.submission = submission;
        this.request = submission.request(id);
        this.client = client;
    }

    boolean isRolledBack() {
        SimSession own = session;
        return own == null || own.isRolledBack();
    }

    boolean isCommitting() {
        SimSession own = session;
        return own != null && own.isCommitting();
    }

    void rollBack() {
        SimSession own = session;
        if (own != null) {
            own.rollBack();
        }
    }

    @Override
    public String toString() {
        return id + " " + phase + (isRolledBack() ? " rolled back" : "") + " " + submission.form();
    }
}
