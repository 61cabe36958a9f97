package tutti.engine.jdbc.hsqldb;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.hsqldb.lib.FileAccess;
import org.hsqldb.persist.Log;
import org.hsqldb.persist.Logger;
import org.hsqldb.scriptio.ScriptWriterBase;
import org.jspecify.annotations.Nullable;

/**
 * Notes when HSQLDB cannot write to its log. HSQLDB says so in its own log of events only, and goes on
 * ({@code TransactionManagerCommon.persistCommit}, {@code ScriptWriterBase.forceSync}): the transaction is committed in
 * memory, and what follows in the file may stand behind half a line, where it is not read.
 */
final class LogWatch {
    private static final VarHandle LOG = field(Logger.class, "log", Log.class);
    private static final VarHandle WRITER = field(Log.class, "dbLogWriter", ScriptWriterBase.class);
    private static final VarHandle STREAM = field(ScriptWriterBase.class, "fileStreamOut", OutputStream.class);
    private static final VarHandle DESCRIPTOR = field(ScriptWriterBase.class, "outDescriptor",
            FileAccess.FileSync.class);

    private final ScriptWriterBase writer;
    private volatile @Nullable IOException failure;

    private LogWatch(ScriptWriterBase writer) {
        this.writer = writer;
    }

    private static VarHandle field(Class<?> of, String name, Class<?> type) {
        try {
            return MethodHandles.privateLookupIn(of, MethodHandles.lookup()).findVarHandle(of, name, type);
        } catch (ReflectiveOperationException other) {
            throw new IllegalStateException("this is not the HSQLDB that Tutti was made for; use HSQLDB 2.7.4", other);
        }
    }

    /** Watches the log that is being written now. */
    static LogWatch of(Logger logger) {
        // What is written to the log is written under this lock.
        synchronized (logger) {
            ScriptWriterBase writer = (ScriptWriterBase) WRITER.get((Log) LOG.get(logger));
            OutputStream stream = (OutputStream) STREAM.get(writer);
            FileAccess.FileSync descriptor = (FileAccess.FileSync) DESCRIPTOR.get(writer);
            LogWatch watch = new LogWatch(writer);
            if (descriptor == null) {
                watch.failure = new IOException("HSQLDB could not open a new log");
                return watch;
            }
            STREAM.set(writer, watch.new Watched(stream));
            DESCRIPTOR.set(writer, (FileAccess.FileSync) () -> watch.note(descriptor::sync));
            return watch;
        }
    }

    /** Bytes that have been written since the log was opened. */
    long written() {
        return writer.size();
    }

    /** Why something has not been written, or null. */
    @Nullable
    IOException failure() {
        return failure;
    }

    private interface Writing {
        void run() throws IOException;
    }

    private void note(Writing writing) throws IOException {
        try {
            writing.run();
        } catch (IOException failed) {
            failure = failed;
            throw failed;
        }
    }

    private final class Watched extends FilterOutputStream {
        Watched(OutputStream stream) {
            super(stream);
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            note(() -> out.write(bytes, from, length));
        }

        @Override
        public void flush() throws IOException {
            note(out::flush);
        }
    }
}
