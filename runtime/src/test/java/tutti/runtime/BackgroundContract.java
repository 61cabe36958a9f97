package tutti.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What every machine must do with work in the background. */
@Timeout(120)
public abstract class BackgroundContract {
    private final List<String> log = new CopyOnWriteArrayList<>();
    private TestWorld world;

    /** Two machines. */
    protected abstract TestWorld world() throws Exception;

    @BeforeEach
    void open() throws Exception {
        world = world();
    }

    @AfterEach
    void close() throws Exception {
        world.close();
    }

    @Test
    void workIsDoneBesideTheLoopsAndUsesFiles() throws Exception {
        Directory directory = world.directory(0);
        Loop loop = world.machine(0).loop("loop", thrown -> log.add("failed"));
        Background work = world.machine(0).background("work", () -> {
            try (DataFile file = directory.open("file", Directory.Open.NEW)) {
                file.write(ByteBuffer.wrap(new byte[]{1, 2, 3}), 0);
                file.force(true);
            }
            assertFalse(loop.isCurrent());
            loop.execute(() -> log.add("told"));
        });
        world.await("it has ended", work::isDone);
        world.await("the loop was told", () -> !log.isEmpty());
        assertEquals(List.of("told"), log);
        assertEquals(null, work.failure());
        assertEquals(List.of("file"), directory.list());
        loop.close();
    }

    @Test
    void whatItThrowsIsItsFailure() throws Exception {
        Background work = world.machine(0).background("work", () -> {
            throw new IOException("on purpose");
        });
        world.await("it has ended", work::isDone);
        assertTrue(String.valueOf(work.failure()).contains("on purpose"), "it is " + work.failure());
    }

    @Test
    void anErrorIsAFailureToo() throws Exception {
        Background work = world.machine(0).background("work", () -> {
            throw new AssertionError("on purpose");
        });
        world.await("it has ended", work::isDone);
        assertTrue(String.valueOf(work.failure()).contains("on purpose"), "it is " + work.failure());
    }

    @Test
    void joinReturnsWhenItHasEnded() throws Exception {
        Directory directory = world.directory(0);
        Background work = world.machine(0).background("work", () -> {
            for (int i = 0; i < 20; i++) {
                try (DataFile file = directory.open("file" + i, Directory.Open.NEW)) {
                    file.force(true);
                }
            }
            log.add("done");
        });
        work.join();
        assertEquals(List.of("done"), log);
        assertEquals(20, directory.list().size());
        world.await("it says so", work::isDone);
        work.join();
    }

    @Test
    void whoIsInterruptedStillWaits() throws Exception {
        Directory directory = world.directory(0);
        Background work = world.machine(0).background("work", () -> {
            for (int i = 0; i < 20; i++) {
                try (DataFile file = directory.open("file" + i, Directory.Open.NEW)) {
                    file.force(true);
                }
            }
        });
        Thread.currentThread().interrupt();
        work.join();
        assertTrue(Thread.interrupted(), "it is interrupted");
        assertEquals(20, directory.list().size());
    }
}
