package tutti.wire;

import io.netty.channel.Channel;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.Replica.Priority;
import tutti.core.protocol.Request;
import tutti.core.txn.AbortReason;
import tutti.core.txn.WriteSet;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.FrameReader;

/**
 * How does a session's transaction wait for its turn, run again, or have every replica execute it? Only under protocols that
 * do not let transactions execute at once; what its messages are meanwhile is the business of {@link Turns}.
 */
abstract class SessionTurns extends SessionTransaction {
    private static final Logger LOG = LoggerFactory.getLogger(SessionTurns.class);

    SessionTurns(SessionServices services, Channel client, FrameReader clientReader, BackendConnection connection) {
        super(services, client, clientReader, connection);
    }

    /** Whether the open transaction, or the one about to begin, must wait for its turn before it looks at the database. */
    boolean needsTurn() {
        return !handedIn && !readOnly && !services.transactions().executesAtOnce();
    }

    /**
     * Hands the transaction in. No message of the client's is read, and none of its statements may have been sent, until its
     * turn has come.
     *
     * @param vouchedFor whether its classes are what somebody says rather than what its text tells, so that they must be
     *            checked when it is over
     * @param implicitly whether it is to be begun by us, for one cycle
     * @param then sends what the client has said meanwhile
     */
    void awaitTurn(Request request, boolean vouchedFor, boolean implicitly, Runnable then) {
        waiting = true;
        if (implicitly) {
            implicit = true;
            commit = Commit.IMPLICIT;
        }
        openTransaction();
        handedIn = true;
        classes = request.classes();
        vouched = vouchedFor;
        Runnable run = () -> {
            if (implicitly) {
                implicit = false;
            }
            then.run();
        };
        turn = run;
        if (request instanceof Request.Whole) {
            repeat = run;
        }
        Branch waitingOne = java.util.Objects.requireNonNull(branch, "just opened");
        waitingOne.ticket().submit(request);
    }

    @Override
    void onRun(Branch asked, Priority priority) {
        Runnable then = turn;
        if (asked == branch && priority == Priority.ORDERED && watch == null && !rollbackWanted) {
            watch = services.registry().watch(loop, connection.processId(), asked, () -> operations.size() > 0);
        }
        if (asked != branch) {
            LOG.debug("nothing to run with priority {}", priority);
        } else if (then != null && !rollbackWanted) {
            turn = null;
            waiting = false;
            runNow(then);
        } else if (state == SessionState.AWAITING_ANSWER) {
            repeatNow();
        } else if (rollbackWanted) {
            repeatPending = true;
        }
        settle();
    }

    private void runNow(Runnable what) {
        if (repeat != null) {
            held.holdAll();
        }
        what.run();
    }

    @Override
    void repeatNow() {
        repeatPending = false;
        Branch again = java.util.Objects.requireNonNull(branch, "a transaction is open");
        Runnable what = repeat;
        if (what == null || held.overflowed() || clientGone) {
            again.ticket().failed(new AbortReason.Failed(clientGone ? "disconnect" : "cannot-repeat"));
            return;
        }
        rollbackWanted = false;
        rolledBack = false;
        suppress = false;
        cycleFailed = false;
        closingSent = false;
        ownError = null;
        retry = null;
        again.writes = WriteSet.EMPTY;
        held.drop();
        state(SessionState.IDLE);
        runNow(what);
    }

    @Override
    void askForRepetition(ErrorFields cause) {
        ownRollback(() -> {
            rollbackComplete();
            state(SessionState.AWAITING_ANSWER);
            Branch failed = java.util.Objects.requireNonNull(branch, "a transaction is open");
            failed.ticket()
                    .failed(new AbortReason.Failed(cause.sqlState().equals("40P01") ? "deadlock" : "first-updater"));
            tryAnswer();
        });
    }

    @Override
    boolean repeatable(ErrorFields cause) {
        return repeat != null && !held.overflowed() && cause.sqlState().startsWith("40");
    }

    @Override
    void loseTurn() {
        turn = null;
        startRollback();
    }
}
