package tutti.node;

import org.jspecify.annotations.Nullable;
import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.protocol.TransactionRequest;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.Executed;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.runtime.Loop;

/**
 * A whole request that this node executes for whichever node it was submitted to: an executor of the engine in the place of a
 * client's session. Of the replica's loop, but for what the engine calls.
 */
final class ExecutorSession implements LocalTransaction {
    private final Loop loop;
    private final ExecutorPool pool;
    private final Engine.Executor executor;
    private final TransactionRequest.Whole request;
    private @Nullable ClientTransaction transaction;
    /** Counts the runs: what is told of an earlier one means nothing. */
    private int run;
    private int rollbacks;
    private boolean answered;

    ExecutorSession(Loop loop, ExecutorPool pool, TransactionRequest.Whole request) {
        this.loop = loop;
        this.pool = pool;
        this.executor = pool.take();
        this.request = request;
    }

    void of(ClientTransaction whose) {
        transaction = whose;
    }

    private ClientTransaction transaction() {
        ClientTransaction known = transaction;
        if (known == null) {
            throw new Defect("a request runs that is no transaction");
        }
        return known;
    }

    @Override
    public void run(Priority priority) {
        int own = ++run;
        executor.execute(this, request.statement(), request.classes(), new Completion<>() {
            @Override
            public void succeeded(Executed executed) {
                loop.execute(() -> {
                    if (own == run) {
                        transaction().undertaken(executed.writes(), executed.response());
                    }
                });
            }

            @Override
            public void failed(EngineFailure failure) {
                loop.execute(() -> {
                    if (own == run) {
                        transaction().failed(new AbortReason.Failed(failure.sqlState()));
                    }
                });
            }
        });
    }

    @Override
    public void commit(long position, Completion<Void> done) {
        executor.commit(position, done);
    }

    @Override
    public void rollback(Runnable done) {
        run++;
        rollbacks++;
        executor.rollback(() -> {
            loop.execute(() -> {
                rollbacks--;
                freeIfOver();
            });
            done.run();
        });
    }

    @Override
    public void answer(Outcome outcome) {
        answered = true;
        freeIfOver();
    }

    private void freeIfOver() {
        if (answered && rollbacks == 0) {
            pool.free(executor);
        }
    }

    @Override
    public String toString() {
        return "undertaking of " + transaction;
    }
}
