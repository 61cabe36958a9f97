package tutti.wire;

import io.netty.channel.EventLoop;
import java.util.function.IntFunction;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.Replica.Priority;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.Outcome;
import tutti.core.txn.WriteSet;
import tutti.node.Transactions.Ticket;

/**
 * One transaction of a session, as its node knows it. Hands the node's calls over to the session's event loop, where the
 * session asks whether this is still its current transaction.
 */
final class Branch implements LocalTransaction {
    private static final Logger LOG = LoggerFactory.getLogger(Branch.class);

    private final SessionTransaction session;
    private final EventLoop loop;
    private @Nullable Ticket ticket;

    /** What it changed, once it has asked to commit. On the event loop. */
    WriteSet writes = WriteSet.EMPTY;
    /** Says which row a key of it stands for. */
    IntFunction<String> describe = _ -> "A key";

    Branch(SessionTransaction session, EventLoop loop) {
        this.session = session;
        this.loop = loop;
    }

    void ticket(Ticket given) {
        ticket = given;
    }

    Ticket ticket() {
        return java.util.Objects.requireNonNull(ticket, "begun");
    }

    @Override
    public void run(Priority priority) {
        try {
            loop.execute(() -> session.onRun(this, priority));
        } catch (RejectedExecutionException stopped) {
            LOG.debug("turn after the event loop stopped", stopped);
        }
    }

    @Override
    public void commit(long position, Completion<Void> done) {
        try {
            loop.execute(() -> session.onCommit(this, position, done));
        } catch (RejectedExecutionException stopped) {
            LOG.debug("commit after the event loop stopped", stopped);
            done.failed(new EngineFailure("08006", "the session's event loop has stopped", true));
        }
    }

    @Override
    public void rollback(Runnable done) {
        try {
            loop.execute(() -> session.onRollback(this, done));
        } catch (RejectedExecutionException stopped) {
            LOG.debug("rollback after the event loop stopped", stopped);
            done.run();
        }
    }

    @Override
    public void answer(Outcome outcome) {
        try {
            loop.execute(() -> session.onAnswer(this, outcome));
        } catch (RejectedExecutionException stopped) {
            LOG.debug("answer after the event loop stopped", stopped);
        }
    }
}
