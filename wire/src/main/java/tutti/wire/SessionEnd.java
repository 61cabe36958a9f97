package tutti.wire;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;

/**
 * What a session's client hears when the engine is gone: somebody has ended the server process, or the server. What the engine says then cannot stand for
 * what the client has asked the node for: that may take effect without the session. So a client that waits for the node is kept until the
 * outcome is known, hears that, and then why its session has ended; or that the outcome is in doubt. On the session's event loop.
 */
final class SessionEnd {
    private final Session session;
    private final CurrentTransaction transaction;
    private final ClientStream client;
    private final CompletableFuture<Void> over = new CompletableFuture<>();
    /** What the engine has said when it ended the session; null if it has said nothing. */
    private @Nullable ErrorFields said;
    /** Whether the client has got to see that. */
    private boolean seen;
    /** What the client hears last. */
    private ErrorFields last = Errors.fatal("08006", "the connection to PostgreSQL was lost");
    /** Whether the client is to hear before what has become of what it has asked for. */
    private boolean waits;
    /** What of that is a commit; null if it is something that every node executes. */
    private @Nullable OpenTransaction asked;

    SessionEnd(Session session) {
        this.session = session;
        this.transaction = session.transaction();
        this.client = session.client();
    }

    /** Whether the engine has said that it ends the session: nothing is to be asked for any more. */
    boolean begun() {
        return said != null;
    }

    /** Whether the engine is gone, and the client waits for the end of something that every node executes. */
    boolean waitsForAll() {
        return waits && asked == null;
    }

    /** Runs something when the engine is gone, and the client has heard what it is to hear. Any thread; it runs on the event loop. */
    void whenOver(Runnable task) {
        over.thenRun(task);
    }

    /**
     * The engine says why it ends the session.
     *
     * @return whether the client sees it now
     */
    boolean says(ErrorFields why) {
        said = why;
        seen = !transaction.state().outlivesClient();
        return seen;
    }

    /**
     * The engine is gone.
     *
     * @param lost what was open, if it has asked to commit; otherwise null
     * @param byAll whether the client waits for the end of something that every node executes
     */
    void engineGone(@Nullable OpenTransaction lost, boolean byAll) {
        boolean open = lost != null || byAll;
        ErrorFields why = said;
        if (why != null) {
            last = why;
        } else if (!open) {
            last = last.with('M', last.message() + "; the transaction was rolled back");
        }
        waits = open && client.active();
        asked = lost;
        if (!waits) {
            if (seen) {
                client.endAfter(last);
            } else {
                client.end(last);
            }
            over.complete(null);
        } else if (lost != null && lost.outcome() != null) {
            answer(lost, lost.outcome());
        }
    }

    /** The node has decided. Returns whether the client has waited for that here. */
    boolean answer(OpenTransaction decided, Outcome outcome) {
        if (!waits || !decided.equals(asked)) {
            return false;
        }
        ErrorFields aborted = Errors.of(outcome, decided.describe());
        if (aborted != null) {
            end(last.with('D', "The transaction was rolled back: " + aborted.message() + "."));
        } else if (session.shownToAll().awaits(decided)) {
            doubt();
        } else {
            client.release();
            session.commit().tellDone();
            told(true);
        }
        return true;
    }

    /** Nobody can decide at the moment. Returns whether the client has waited for that here. */
    boolean doubtful(OpenTransaction undecided, TransactionId name) {
        if (!waits || !undecided.equals(asked)) {
            return false;
        }
        end(Errors.unheard(session.node().names(), name));
        return true;
    }

    /** It will not be known here. */
    private void doubt() {
        OpenTransaction commit = asked;
        end(Errors.unheard(session.node().names(), commit == null ? transaction.ordered() : commit.name()));
    }

    /**
     * The client has heard the outcome.
     *
     * @param wholeCycle whether nothing else of its cycle is to be answered
     */
    void told(boolean wholeCycle) {
        MultiStatementQuery script = session.cycle().script();
        client.release();
        if (wholeCycle && (script == null || script.last())) {
            client.ready(Backend.IDLE);
        }
        end(last);
    }

    private void end(ErrorFields why) {
        waits = false;
        client.end(why);
        over.complete(null);
    }

    /** The client is gone. */
    void clientGone() {
        if (waits) {
            waits = false;
            over.complete(null);
        }
    }

    /** The front end is about to close: a client that waits for an outcome hears that it is in doubt. */
    void cutOff() {
        OpenTransaction current = transaction.orNull();
        if (waits) {
            doubt();
        } else if (transaction.is(SessionState.BARRIER)) {
            client.end(Errors.unheard(session.node().names(), transaction.ordered()));
        } else if (current != null && current.asked()) {
            client.end(Errors.unheard(session.node().names(), current.name()));
        }
    }
}
