package tutti.session;

import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.node.Transactions;

/**
 * Has a transaction that may write see all that has been delivered to the node before. What is delivered and not yet visible is ordered before it
 * anyhow: it can only abort the transaction, if that runs on a snapshot without it. A node that lags far is not waited for beyond
 * {@link #MILLIS_MAX}, since any snapshot is right.
 */
final class DeliveredFirst {
    /** How long a transaction waits at most, in milliseconds. */
    private static final long MILLIS_MAX = 100;

    private DeliveredFirst() {}

    static void await(Transactions node) throws SQLException {
        long delivered = node.arrivedPosition();
        if (node.visiblePosition() >= delivered) {
            return;
        }
        CompletableFuture<@Nullable Void> visible = new CompletableFuture<>();
        node.await(delivered, new Completion<>() {
            @Override
            public void succeeded(Long position) {
                visible.complete(null);
            }

            @Override
            public void failed(EngineFailure failure) {
                visible.complete(null);
            }
        });
        try {
            visible.get(MILLIS_MAX, TimeUnit.MILLISECONDS);
        } catch (TimeoutException lags) {
            // Then with the snapshot that there is.
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new SQLException("interrupted before the transaction began", "57014", interrupted);
        } catch (ExecutionException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
