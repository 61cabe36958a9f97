package tutti.engine.jdbc.hsqldb;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.hsqldb.Database;
import org.hsqldb.Session;
import org.hsqldb.jdbc.JDBCConnection;
import org.hsqldb.lib.FileAccess;
import org.hsqldb.persist.Log;
import org.hsqldb.persist.Logger;
import org.hsqldb.scriptio.ScriptWriterBase;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.engine.jdbc.EmbeddedDatabase;

/** Who syncs HSQLDB's log. */
class LogWatchTest {
    @TempDir
    private Path directory;

    @Test
    void hsqldbItselfDoesNotSync() throws Exception {
        HsqldbDatabase database = HsqldbDatabase.inFiles(directory.resolve("db"));
        try (EmbeddedDatabase.Session client = database.openClient()) {
            Database hsqldb = ((Session) ((JDBCConnection) client.connection()).getSession()).getDatabase();
            AtomicInteger times = new AtomicInteger();
            Object writer = field(Log.class, "dbLogWriter").get(field(Logger.class, "log").get(hsqldb.logger));
            field(ScriptWriterBase.class, "outDescriptor").set(writer,
                    (FileAccess.FileSync) times::incrementAndGet);
            LogWatch watch = LogWatch.of(hsqldb);
            hsqldb.logger.synchLog();
            assertEquals(0, times.get());
            watch.force();
            assertEquals(1, times.get());
        } finally {
            database.crash();
        }
    }

    private static Field field(Class<?> of, String name) throws NoSuchFieldException {
        Field field = of.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
