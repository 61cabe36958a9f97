package tutti.node;

import java.util.Set;
import tutti.core.spi.Engine;
import tutti.core.spi.LocalTransaction;
import tutti.runtime.Loop;

/** Hands on to the replica's loop who stands in the way of whom in its engine. From any thread. */
record Blockers(Loop loop, ClientTransactions transactions, CommitPipeline pipeline) implements Engine.BlockedListener {
    @Override
    public void blocked(long position, LocalTransaction holder) {
        loop.execute(() -> transactions.onBlocked(position, holder));
    }

    @Override
    public void blocked(LocalTransaction waiter, Set<LocalTransaction> holders) {
        loop.execute(() -> transactions.onBlocked(waiter, holders));
    }

    @Override
    public void waits(Engine.Applier waiter, Set<LocalTransaction> locals, Set<Engine.Applier> appliers) {
        loop.execute(() -> pipeline.waits(waiter, transactions.asking(locals), appliers));
    }
}
