package tutti.grid.api;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import tutti.grid.GridException;
import tutti.grid.node.GridTransaction;
import tutti.grid.store.Key;

/**
 * A transaction, used by one thread at a time. It ends with {@link #commit} or {@link #rollback}; to be closed in any case, which rolls
 * back what has not ended.
 */
public final class Transaction implements AutoCloseable {
    private final Grid grid;
    private final GridTransaction transaction;

    Transaction(Grid grid, GridTransaction transaction) {
        this.grid = grid;
        this.transaction = transaction;
    }

    byte @Nullable [] read(Key key) {
        return grid.<GridTransaction.Value>ask(answer -> transaction.read(key, answer)).bytes();
    }

    void write(Key key, byte @Nullable [] value) {
        CompletableFuture<Boolean> done = new CompletableFuture<>();
        grid.onLoop(() -> {
            try {
                transaction.write(key, value);
                done.complete(true);
            } catch (GridException why) {
                done.completeExceptionally(why);
            }
        });
        var _ = grid.await(done);
    }

    /**
     * Commits.
     *
     * @throws GridException if it has not, or nobody knows: the reason says which
     */
    public void commit() {
        var _ = grid.<Long>ask(transaction::commit);
    }

    /** Ends without having changed anything. Without effect if it has ended. */
    public void rollback() {
        grid.node().loop().execute(transaction::rollback);
    }

    @Override
    public void close() {
        rollback();
    }
}
