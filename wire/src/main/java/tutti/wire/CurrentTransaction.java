package tutti.wire;

import io.netty.channel.EventLoop;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.TransactionId;
import tutti.node.Transactions;
import tutti.node.trace.SessionTrace;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.wire.OpenTransaction.Extent;

/**
 * A session's place for one transaction at a time: whether one is open, what it has done, and what the engine's side of the
 * session is doing with it. Registers transactions with the node, and keeps the node from forgetting what one that may begin
 * will have to be compared with. On the session's event loop, unless it says otherwise.
 */
final class CurrentTransaction {
    private final Transactions node;
    private final SessionTrace trace;
    private final OpenTransaction.Control control;
    private final EventLoop loop;
    private final Runnable whenOver;
    private final ReportedParameters reports;
    private SessionState state = SessionState.IDLE;
    private volatile @Nullable OpenTransaction open;
    /** What the client takes for its open transaction has lost, and is run again. */
    private boolean repeats;
    private TransactionActivity work = new TransactionActivity();
    /** How often something was executed in this session of which nothing is proven. */
    private int unproven;
    private boolean temporaries;
    /** The transaction was rolled back while its client was idle, who will hear why at its next message. */
    private @Nullable ErrorFields unheardAbort;
    /** By which its client knows what every node executes for it; null if it knows none. */
    private @Nullable TransactionId ordered;
    /** A position that was visible before anything of the current cycle was sent. */
    private long since;
    /** The node keeps it for a transaction that may begin. */
    private boolean holding;

    CurrentTransaction(Transactions node, SessionTrace trace, OpenTransaction.Control control, EventLoop loop,
            Runnable whenOver,
            ReportedParameters reports) {
        this.node = node;
        this.trace = trace;
        this.control = control;
        this.loop = loop;
        this.whenOver = whenOver;
        this.reports = reports;
    }

    // ------------------------------------------------------------------------------------------ state

    SessionState state() {
        return state;
    }

    boolean is(SessionState asked) {
        return state == asked;
    }

    /** The engine's side of the session does something else now; the step must be legal. */
    void becomes(SessionState next) {
        state = state.to(next);
        if (next == SessionState.BARRIER) {
            ordered = null;
        }
    }

    boolean isOpen() {
        return open != null;
    }

    /** Whether this is the open transaction. */
    boolean is(OpenTransaction asked) {
        return asked == open;
    }

    /** The open transaction, or null. */
    @Nullable
    OpenTransaction orNull() {
        return open;
    }

    /** The open transaction; there is one. */
    OpenTransaction get() {
        return Objects.requireNonNull(open, "a transaction is open");
    }

    /** The open transaction, as the engine knows it; null if there is none. Any thread. */
    @Nullable
    LocalTransaction local() {
        return open;
    }

    /** Whether the open transaction was begun by the node, for one cycle. */
    boolean implicit() {
        OpenTransaction current = open;
        return current != null && current.extent() == Extent.CYCLE;
    }

    /** Whether the node, or the session itself, wants the open transaction to be rolled back, and that has not been done. */
    boolean rollbackWanted() {
        OpenTransaction current = open;
        return current != null && (current.rollbackWanted() || current.givenUp());
    }

    /** What the open transaction has done. */
    TransactionActivity work() {
        return work;
    }

    /** Something is executed of which nothing is proven: it may change rows, and which statements are prepared. */
    void executesUnproven() {
        unproven++;
        work.inBand().lose();
    }

    /** A row has told that the session has temporary objects: statements that were to tell that there are none are prepared anew. */
    void sawTemporaries() {
        if (!temporaries) {
            temporaries = true;
            unproven++;
        }
    }

    /** Whether the session has been seen to have temporary objects. */
    boolean seenTemporaries() {
        return temporaries;
    }

    /** A number that is another one after something was executed of which nothing is proven. */
    int epoch() {
        return unproven;
    }

    // ------------------------------------------------------------------------------------------ beginning

    /** A cycle begins: from now on a transaction may. */
    void cycleBegins() {
        hold();
        if (open == null) {
            work.forgetReads();
        }
    }

    private void hold() {
        letGo();
        if (open == null && state != SessionState.CLOSED) {
            since = node.hold();
            holding = true;
        } else {
            since = node.visiblePosition();
        }
    }

    /** The cycle is over: no transaction begins in it any more. */
    void cycleOver() {
        letGo();
    }

    private void letGo() {
        if (holding) {
            holding = false;
            node.unhold(since);
        }
    }

    /**
     * A transaction begins, of which the node can ask from now on that it be rolled back; or what the open one is becomes known.
     *
     * @param extent how long it lasts
     */
    OpenTransaction open(Extent extent) {
        OpenTransaction current = open;
        if (current == null) {
            current = new OpenTransaction(control, loop, extent);
            open = current;
            TransactionId again = repeats ? reports.takenName() : null;
            TransactionId known = again == null ? reports.takeName() : again;
            current.begun(again == null ? node.begin(current, since, known) : node.again(current, since, again), known);
            letGo();
        } else {
            current.extent(extent);
        }
        becomes(SessionState.IN_TRANSACTION);
        return current;
    }

    /** A transaction block begins, unless a transaction is open, which stays what it is. */
    OpenTransaction openIfNone() {
        OpenTransaction current = open;
        return open(current == null ? Extent.BLOCK : current.extent());
    }

    /** Another transaction block begins where one has ended in the same cycle. */
    void openNext() {
        hold();
        open(Extent.BLOCK);
    }

    /** The open transaction, which was begun for one cycle, goes on as the client's block. */
    void becomesBlock() {
        OpenTransaction current = open;
        if (current != null) {
            current.extent(Extent.BLOCK);
        }
    }

    /** The engine has completed something of the client's and is in this transaction status. */
    void observed(byte status) {
        if (status == Backend.IDLE) {
            if (open != null) {
                ended();
            } else {
                becomes(SessionState.IDLE);
                report();
            }
        } else if (status == Backend.FAILED) {
            becomes(SessionState.FAILED);
        } else if (open == null) {
            open(Extent.BLOCK);
        } else {
            becomes(SessionState.IN_TRANSACTION);
        }
    }

    // ------------------------------------------------------------------------------------------ the end

    /** It is over in the engine, without having asked to commit. */
    void ended() {
        OpenTransaction current = forget();
        if (current != null) {
            current.ticket().ended();
        }
        workOver();
        if (state != SessionState.CLOSED) {
            becomes(SessionState.IDLE);
        }
    }

    /** What it has done is gone, or has been committed. */
    void workOver() {
        if (!work.inBand().harmless()) {
            // its deferred triggers have run since
            unproven++;
        }
        work = new TransactionActivity();
    }

    /** It is over as far as the session is concerned. Returns it, or null if none was open. */
    @Nullable
    OpenTransaction forget() {
        repeats = false;
        return forgetOpen();
    }

    /** It has lost, and another one begins in its place, which is the same to the client. */
    void forgetToRepeat() {
        repeats = true;
        forgetOpen();
    }

    private @Nullable OpenTransaction forgetOpen() {
        OpenTransaction over = open;
        if (over != null) {
            open = null;
            over.over();
            whenOver.run();
            over.overForWaiters();
            report();
        }
        return over;
    }

    /** What the client takes for its open transaction is not run again after all. */
    void repeatsNoMore() {
        if (repeats && open == null) {
            repeats = false;
            report();
        }
    }

    /** Tells the client what it wants to know. */
    void report() {
        reports.report(open != null || repeats);
    }

    /** The name under which something begins that is no transaction of the session's; null for any. */
    @Nullable
    TransactionId takeName() {
        ordered = reports.takeName();
        return trace.orders(ordered);
    }

    /** By which its client knows what has begun last that is no transaction of the session's; null if it knows none. */
    @Nullable
    TransactionId ordered() {
        return ordered;
    }

    /** The client will hear at its next message that its transaction was rolled back. */
    void abortUnheard(ErrorFields why) {
        unheardAbort = why;
    }

    /** Why the client's transaction was rolled back, which it has not heard; null if there is nothing to hear. */
    @Nullable
    ErrorFields unheardAbort() {
        return unheardAbort;
    }

    /** The client hears of it now, or need not any more. */
    void abortHeard() {
        unheardAbort = null;
    }

    /** The session is over. */
    void closed() {
        becomes(SessionState.CLOSED);
        letGo();
        reports.over();
    }
}
