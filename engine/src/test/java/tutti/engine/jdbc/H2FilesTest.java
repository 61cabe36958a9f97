package tutti.engine.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.lang.reflect.Field;
import java.nio.file.Path;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.h2.engine.SessionLocal;
import org.h2.jdbc.JdbcConnection;
import org.h2.mvstore.FileStore;
import org.h2.mvstore.MVStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.engine.jdbc.h2.H2Database;

/** H2 in a file. */
class H2FilesTest {
    @TempDir
    private Path directory;

    /** H2's own CHECKPOINT SYNC holds the lock of the whole database while it waits for the file. */
    @Test
    void whileTheFileIsBusyOthersConnectAndLeave() throws Exception {
        H2Database database = H2Database.inFile(directory.resolve("database"));
        try (JdbcEngine _ = JdbcEngine.open(database);
                EmbeddedDatabase.Session session = database.openClient();
                ExecutorService others = Executors.newFixedThreadPool(3)) {
            MVStore store = ((SessionLocal) ((JdbcConnection) session.connection()).getSession()).getDatabase()
                    .getStore().getMvStore();
            CountDownLatch busy = new CountDownLatch(1);
            CountDownLatch done = new CountDownLatch(1);
            Future<?> writing = others.submit(() -> store.executeFilestoreOperation(() -> {
                busy.countDown();
                try {
                    done.await();
                } catch (InterruptedException stopped) {
                    Thread.currentThread().interrupt();
                }
            }));
            busy.await();
            Thread asks = Thread.ofPlatform().start(() -> {
                try {
                    database.sync();
                } catch (SQLException failed) {
                    throw new IllegalStateException(failed);
                }
            });
            while (asks.getState() != Thread.State.WAITING) {
                Thread.onSpinWait();
            }
            Future<Integer> connected = others.submit(() -> {
                try (EmbeddedDatabase.Session another = database.openClient()) {
                    return another.rows("VALUES 1", java.util.List.of()).size();
                }
            });
            try {
                assertEquals(1, connected.get(20, TimeUnit.SECONDS));
            } catch (TimeoutException waits) {
                throw new AssertionError("who connects waits for the file", waits);
            } finally {
                done.countDown();
            }
            writing.get();
            asks.join();
        }
    }

    /** H2 writes by itself now and then, by threads that are held here before they write. */
    @Test
    void whatIsNotWrittenIsNotDurable() throws Exception {
        H2Database database = H2Database.inFile(directory.resolve("database"));
        try (JdbcEngine _ = JdbcEngine.open(database); EmbeddedDatabase.Session session = database.openClient()) {
            MVStore store = ((SessionLocal) ((JdbcConnection) session.connection()).getSession()).getDatabase()
                    .getStore().getMvStore();
            Field field = FileStore.class.getDeclaredField("saveChunkLock");
            field.setAccessible(true);
            ReentrantLock writing = (ReentrantLock) field.get(store.getFileStore());
            Thread asks = new Thread(() -> {
                try {
                    database.sync();
                } catch (SQLException failed) {
                    throw new IllegalStateException(failed);
                }
            });
            writing.lock();
            try {
                try (Statement statement = session.connection().createStatement()) {
                    statement.execute("CREATE TABLE T (ID INT PRIMARY KEY)");
                }
                store.tryCommit();
                asks.start();
                while (!waits(asks)) {
                    assertNotEquals(Thread.State.TERMINATED, asks.getState(), "nothing of it was written");
                    Thread.onSpinWait();
                }
            } finally {
                writing.unlock();
            }
            asks.join();
        }
    }

    private static boolean waits(Thread thread) {
        return Arrays.stream(thread.getStackTrace())
                .anyMatch(frame -> frame.getMethodName().equalsIgnoreCase("executeFileStoreOperation"))
                && thread.getState() == Thread.State.WAITING;
    }
}
