package tutti.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.PostgresException;

/** Before which databases a node is not ready. */
class EngineWatchTest {
    private final AtomicLong time = new AtomicLong(1);
    private final AtomicReference<CompletableFuture<?>> answer = new AtomicReference<>(
            CompletableFuture.completedFuture(null));
    private final AtomicReference<String> holders = new AtomicReference<>("");
    private final AtomicLong asked = new AtomicLong();
    private final AtomicLong shown = new AtomicLong();
    private final AtomicLong delivered = new AtomicLong();
    private final EngineWatch watch = new EngineWatch(answer::get, () -> {
        asked.incrementAndGet();
        return CompletableFuture.completedFuture(holders.get());
    }, shown::get, delivered::get, time::get);

    private @Nullable String trouble(long isShown, long isDelivered) {
        shown.set(isShown);
        delivered.set(isDelivered);
        return watch.trouble();
    }

    private void passes(long nanos) {
        time.addAndGet(nanos);
    }

    @Test
    void oneThatDoesNotAnswerHangs() throws InterruptedException {
        watch.ask();
        assertNull(trouble(7, 7));
        passes(EngineWatch.SILENCE_NANOS_MAX);
        assertNull(trouble(7, 7));
        passes(1);
        assertTrue(String.valueOf(trouble(7, 7)).contains("has not answered for 5 s"), trouble(7, 7));
        watch.ask();
        assertNull(trouble(7, 7));
    }

    @Test
    void oneThatCannotBeReachedHangsAndOneThatRefusesDoesNot() throws InterruptedException {
        answer.set(CompletableFuture.failedFuture(new java.io.IOException("connection refused")));
        passes(EngineWatch.SILENCE_NANOS_MAX + 1);
        watch.ask();
        assertTrue(String.valueOf(trouble(7, 7)).contains("(connection refused)"), trouble(7, 7));
        answer.set(CompletableFuture.failedFuture(
                new PostgresException(ErrorFields.of("FATAL", "53300", "too many connections"))));
        watch.ask();
        assertNull(trouble(7, 7));
    }

    /** Once, and again after ten minutes. */
    @Test
    void oneThatDoesNotAnswerIsLogged() throws InterruptedException {
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        Logger logger = (Logger) LoggerFactory.getLogger(EngineWatch.class);
        Level level = logger.getLevel();
        logger.setLevel(Level.INFO);
        logger.addAppender(log);
        try {
            answer.set(CompletableFuture.failedFuture(new java.io.IOException("no answer")));
            watch.ask();
            passes(EngineWatch.SILENCE_NANOS_MAX + 1);
            watch.ask();
            watch.ask();
            passes(EngineWatch.TOLD_AGAIN_NANOS + 1);
            watch.ask();
            answer.set(CompletableFuture.completedFuture(null));
            watch.ask();
            assertEquals(List.of("the node's database has not answered for 5 s (no answer): it hangs, or its disk does",
                    "the node's database has not answered for 605 s (no answer): it hangs, or its disk does",
                    "the node's database answers and applies what is ordered again, up to position 0"),
                    log.list.stream().map(ILoggingEvent::getFormattedMessage).toList());
        } finally {
            logger.detachAppender(log);
            logger.setLevel(level);
        }
    }

    @Test
    void oneThatAppliesNothingIsNotReadyAlthoughItAnswers() throws InterruptedException {
        assertNull(trouble(7, 9));
        for (int i = 0; i < 4; i++) {
            passes(EngineWatch.STALL_NANOS_MAX / 4);
            watch.ask();
            assertNull(trouble(7, 9));
        }
        passes(1);
        assertNotNull(trouble(7, 9));
        assertNull(trouble(8, 10), "it goes on, however far behind");
        passes(EngineWatch.STALL_NANOS_MAX);
        watch.ask();
        assertNull(trouble(10, 10), "there was nothing to apply");
    }

    @Test
    void whoHoldsUpWhatIsAppliedIsNamedUntilItGoesOn() throws InterruptedException {
        assertNull(trouble(7, 9));
        watch.ask();
        passes(EngineWatch.HELD_UP_NANOS_MAX);
        watch.ask();
        assertEquals(0, asked.get(), "not yet");
        holders.set("session 42 of role alice holds up table t");
        passes(EngineWatch.STALL_NANOS_MAX - EngineWatch.HELD_UP_NANOS_MAX + 1);
        watch.ask();
        assertTrue(String.valueOf(trouble(7, 9)).contains("session 42 of role alice holds up table t"), trouble(7, 9));
        assertNull(trouble(8, 9));
        watch.ask();
        passes(EngineWatch.STALL_NANOS_MAX);
        holders.set("");
        watch.ask();
        passes(1);
        assertTrue(String.valueOf(trouble(8, 9)).contains("it is overloaded, or something waits"), trouble(8, 9));
    }
}
