package tutti.grid.api;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
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

    boolean isOf(Grid which) {
        return grid.equals(which);
    }

    byte @Nullable [] read(Key key) {
        return readWhole(key).bytes();
    }

    GridTransaction.Value readWhole(Key key) {
        return grid.<GridTransaction.Value>ask(answer -> transaction.read(key, answer));
    }

    List<Key> keys(int cache, byte[] prefix) {
        return grid.<List<Key>>ask(answer -> transaction.keys(cache, prefix, answer));
    }

    List<Key> written(int cache) {
        return grid.<List<Key>>ask(answer -> answer.is(transaction.written(cache)));
    }

    /**
     * The time by which this transaction judges what has expired, to the millisecond: its node's when it began. It never goes back on a node.
     */
    public Instant time() {
        return Instant.ofEpochMilli(transaction.timeMillis());
    }

    void write(Key key, byte @Nullable [] value) {
        change(() -> transaction.write(key, value));
    }

    void write(Key key, byte[] value, Duration timeToLive) {
        write(key, value, transaction.after(timeToLive));
    }

    void write(Key key, byte[] value, long expiryMillis) {
        change(() -> transaction.write(key, value, expiryMillis));
    }

    private void change(Runnable change) {
        CompletableFuture<Boolean> done = new CompletableFuture<>();
        grid.onLoop(() -> {
            try {
                change.run();
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
