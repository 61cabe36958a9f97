package tutti.server;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.PostgresException;

/** Before which databases a node is not ready. */
class EngineWatchTest {
    private final AtomicLong time = new AtomicLong(1);
    private final AtomicReference<CompletableFuture<?>> answer = new AtomicReference<>(
            CompletableFuture.completedFuture(null));
    private final EngineWatch watch = new EngineWatch(answer::get, time::get);

    private void passes(long nanos) {
        time.addAndGet(nanos);
    }

    @Test
    void oneThatDoesNotAnswerHangs() throws InterruptedException {
        watch.ask();
        assertNull(watch.trouble(7, 7));
        passes(EngineWatch.SILENCE_NANOS_MAX);
        assertNull(watch.trouble(7, 7));
        passes(1);
        assertTrue(String.valueOf(watch.trouble(7, 7)).contains("has not answered for 5 s"), watch.trouble(7, 7));
        watch.ask();
        assertNull(watch.trouble(7, 7));
    }

    @Test
    void oneThatCannotBeReachedHangsAndOneThatRefusesDoesNot() throws InterruptedException {
        answer.set(CompletableFuture.failedFuture(new java.io.IOException("connection refused")));
        passes(EngineWatch.SILENCE_NANOS_MAX + 1);
        watch.ask();
        assertTrue(String.valueOf(watch.trouble(7, 7)).contains("(connection refused)"), watch.trouble(7, 7));
        answer.set(CompletableFuture.failedFuture(
                new PostgresException(ErrorFields.of("FATAL", "53300", "too many connections"))));
        watch.ask();
        assertNull(watch.trouble(7, 7));
    }

    @Test
    void oneThatAppliesNothingIsNotReadyAlthoughItAnswers() throws InterruptedException {
        assertNull(watch.trouble(7, 9));
        for (int i = 0; i < 4; i++) {
            passes(EngineWatch.STALL_NANOS_MAX / 4);
            watch.ask();
            assertNull(watch.trouble(7, 9));
        }
        passes(1);
        assertNotNull(watch.trouble(7, 9));
        assertNull(watch.trouble(8, 10), "it goes on, however far behind");
        passes(EngineWatch.STALL_NANOS_MAX);
        watch.ask();
        assertNull(watch.trouble(10, 10), "there was nothing to apply");
    }
}
