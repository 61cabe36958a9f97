package tutti.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileInputStream;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class NodeCommandTest {
    @TempDir
    Path directory;

    /** Admin HTTP is served on such threads: on a machine with one processor it never answered. */
    @Test
    void watchingStandardInputKeepsNoVirtualThreadFromRunning() throws Exception {
        Path pipe = directory.resolve("input");
        assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
        int processors = Runtime.getRuntime().availableProcessors();
        CountDownLatch ended = new CountDownLatch(processors);
        try (RandomAccessFile writer = new RandomAccessFile(pipe.toFile(), "rw")) {
            for (int i = 0; i < processors; i++) {
                NodeCommand.watch(new FileInputStream(pipe.toFile()), ended::countDown);
            }
            CompletableFuture<Boolean> ran = new CompletableFuture<>();
            Thread.ofVirtual().start(() -> ran.complete(true));
            assertTrue(ran.get(20, TimeUnit.SECONDS));
            assertTrue(writer.getFD().valid());
            assertEquals(processors, ended.getCount());
        }
        ended.await();
    }
}
