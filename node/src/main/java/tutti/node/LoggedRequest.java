package tutti.node;

import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.TransactionId;

/**
 * A request whose client is told when it is logged, and hears no more of it unless it asks. Of the replica's loop.
 *
 * <p>
 * It is logged as soon as the protocol calls it {@linkplain tutti.core.protocol.Protocol#undecided undecided}: then it is in the order,
 * and will be executed whatever becomes of this node. One that is answered before that has been executed already.
 */
final class LoggedRequest implements Completion<ExecuteResult> {
    private final TransactionId ticket;
    private final long bytes;
    private final Completion<TransactionId> logged;
    private boolean told;

    LoggedRequest(TransactionId ticket, long bytes, Completion<TransactionId> logged) {
        this.ticket = ticket;
        this.bytes = bytes;
        this.logged = logged;
    }

    TransactionId ticket() {
        return ticket;
    }

    /** About what it takes of memory while it waits. */
    long bytes() {
        return bytes;
    }

    /** It is in the order. */
    void isLogged() {
        if (!told) {
            told = true;
            logged.succeeded(ticket);
        }
    }

    @Override
    public void succeeded(ExecuteResult result) {
        isLogged();
    }

    @Override
    public void failed(EngineFailure failure) {
        if (!told) {
            told = true;
            logged.failed(failure);
        }
    }
}
