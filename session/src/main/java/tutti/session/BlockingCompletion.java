package tutti.session;

import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;

/** What the node tells, for a thread that waits for it. From any thread. */
public final class BlockingCompletion<T> implements Completion<T> {
    private final CompletableFuture<T> told = new CompletableFuture<>();

    @Override
    public void succeeded(T value) {
        told.complete(value);
    }

    @Override
    public void failed(EngineFailure failure) {
        told.completeExceptionally(new SQLException(failure.message(), failure.sqlState()));
    }

    /**
     * Waits for it.
     *
     * @throws SQLException what the node said instead, or {@code 08007} if the thread was interrupted
     */
    public T await() throws SQLException {
        return await(told);
    }

    /** Likewise for what is told otherwise. */
    static <T> T await(CompletableFuture<T> told) throws SQLException {
        try {
            return told.get();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new SQLException("interrupted while waiting for the outcome; it is not known", "08007", interrupted);
        } catch (ExecutionException failed) {
            throw failed.getCause() instanceof SQLException cause ? cause : new SQLException(failed.getCause());
        }
    }
}
