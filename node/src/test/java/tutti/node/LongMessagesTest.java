package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.order.local.LocalOrderGroup;

/** What is longer than a message of the order may be is refused to its client, and ends no node. */
class LongMessagesTest extends ReplicaTrio {
    private static final int PAYLOAD_BYTES_MAX = 1 << 16;

    LongMessagesTest() {
        group = new LocalOrderGroup(machine, ALL, 10 * PAYLOAD_BYTES_MAX, PAYLOAD_BYTES_MAX);
    }

    @AfterEach
    void noneHasFailed() {
        noneHasEnded();
    }

    private static final class Told implements Completion<ExecuteResult> {
        final CompletableFuture<String> sqlState = new CompletableFuture<>();

        @Override
        public void succeeded(ExecuteResult result) {
            EngineFailure refusal = result.refusal();
            sqlState.complete(refusal == null ? "00000" : refusal.sqlState());
        }

        @Override
        public void failed(EngineFailure failure) {
            sqlState.complete(failure.sqlState());
        }
    }

    private String barrier(int bytes) {
        Told told = new Told();
        nodes.get(0).barrier(new byte[bytes], KeySet.EMPTY, null, told);
        return get(told.sqlState);
    }

    private String undertake(int bytes) {
        Told told = new Told();
        nodes.get(0).undertake(new byte[bytes], ConflictClasses.ALL, null, told);
        return get(told.sqlState);
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "passive", "2pc", "nodo", "akara", "active", "hybrid"})
    void aStatement(String protocol) throws IOException {
        openAll(protocol);
        assertEquals("54000", barrier(PAYLOAD_BYTES_MAX));
        assertEquals("54000", barrier(PAYLOAD_BYTES_MAX + 1));
        assertEquals("00000", barrier(PAYLOAD_BYTES_MAX / 2));
    }

    @Test
    void aRequestThatIsToBeLogged() throws IOException {
        openAll("hybrid");
        CompletableFuture<@Nullable EngineFailure> told = new CompletableFuture<>();
        nodes.get(0).log(new byte[PAYLOAD_BYTES_MAX], ConflictClasses.ALL, null, new Completion<TransactionId>() {
            @Override
            public void succeeded(TransactionId ticket) {
                told.complete(null);
            }

            @Override
            public void failed(EngineFailure failure) {
                told.complete(failure);
            }
        });
        assertEquals("54000", get(told).sqlState());
    }

    /** The engine of this test changes as much as the request is long, and answers as much. */
    @Test
    void whatAnOwnerHasChangedAndAnswered() throws IOException {
        openAll("hybrid");
        assertEquals("54000", undertake(PAYLOAD_BYTES_MAX / 2));
        assertEquals("00000", undertake(PAYLOAD_BYTES_MAX / 3));
        await(() -> engines.values().stream().allMatch(engine -> engine.count() == 1));
    }
}
