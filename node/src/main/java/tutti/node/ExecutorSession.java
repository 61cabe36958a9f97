package tutti.node;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.protocol.Response;
import tutti.core.protocol.TransactionRequest;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.Executed;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.WriteSet;
import tutti.runtime.Loop;

/**
 * Whole requests that this node executes, in one engine transaction, for whichever nodes they were submitted to: an executor of the engine in
 * the place of a client's session. When they are run again, only the first is. Of the replica's loop, but for what the engine calls.
 *
 * <p>
 * What is too long for a message of the order is rolled back: of several the first is run alone, and one is refused. While the engine's database is
 * in trouble, which says nothing of the requests, the first is run again and again; the protocol hears nothing of that.
 */
final class ExecutorSession implements LocalTransaction {
    private static final Logger LOG = LoggerFactory.getLogger(ExecutorSession.class);
    private static final long TROUBLE_NANOS = 500_000_000L;

    private final ClientTransactions all;
    private final Loop loop;
    private final ExecutorPool pool;
    private final Engine.Executor executor;
    private List<Engine.Request> requests;
    private @Nullable ClientTransaction transaction;
    /** Counts the runs: what is told of an earlier one means nothing. */
    private int run;
    private int rollbacks;
    /** It is to run as soon as what it had done is rolled back. */
    private boolean waits;
    private boolean answered;
    private boolean troubled;

    ExecutorSession(ClientTransactions all, ExecutorPool pool, List<TransactionRequest.Whole> requests) {
        this.all = all;
        this.loop = all.loop();
        this.pool = pool;
        this.executor = pool.take();
        this.requests = requests.stream().map(each -> new Engine.Request(each.statement(), each.classes())).toList();
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
        run++;
        waits = rollbacks > 0;
        if (!waits) {
            execute(run);
        }
    }

    private void execute(int own) {
        List<Engine.Request> now = requests;
        requests = List.of(now.getFirst());
        executor.execute(this, now, new Completion<>() {
            @Override
            public void succeeded(Executed executed) {
                loop.execute(() -> {
                    if (own == run) {
                        onExecuted(executed);
                    }
                });
            }

            @Override
            public void failed(EngineFailure failure) {
                loop.execute(() -> {
                    if (own == run) {
                        onFailed(failure);
                    }
                });
            }
        });
    }

    private void onExecuted(Executed executed) {
        EngineFailure tooLong = all.tooLong(executed.writes(), executed.responses());
        if (tooLong == null) {
            transaction().undertaken(executed.writes(), executed.responses());
            return;
        }
        rollback(() -> {});
        if (executed.responses().size() > 1) {
            run(Priority.ORDERED);
        } else {
            transaction().undertaken(WriteSet.EMPTY,
                    List.of(new Response(tooLong.sqlState(), tooLong.message(), new byte[0])));
        }
    }

    private void onFailed(EngineFailure failure) {
        if (!failure.isTrouble()) {
            transaction().failed(new AbortReason.Failed(failure.sqlState()));
            return;
        }
        if (!troubled) {
            troubled = true;
            LOG.warn("{} waits until the database is well again: {} {}", this, failure.sqlState(), failure.message());
        }
        int own = run;
        loop.schedule(TROUBLE_NANOS, () -> {
            if (own == run && !answered) {
                execute(own);
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
        waits = false;
        executor.rollback(() -> {
            loop.execute(this::rolledBack);
            done.run();
        });
    }

    private void rolledBack() {
        rollbacks--;
        if (waits && rollbacks == 0) {
            waits = false;
            execute(run);
        }
        freeIfOver();
    }

    @Override
    public void answer(Outcome outcome) {
        answered = true;
        waits = false;
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
