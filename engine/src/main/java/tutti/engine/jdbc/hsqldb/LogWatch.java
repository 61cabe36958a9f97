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
 *
 * <p>
 * <b>Who waits for the device.</b> HSQLDB syncs its log twice a second and whenever it is asked to, and holds the log's lock for so
 * long; a commit needs that lock while it holds the one of all transactions, so the whole database would stand still until
 * the device answers. Here HSQLDB only hands its buffer to the operating system, and {@link #force} syncs without any lock of
 * HSQLDB's. What is durable is what {@link HsqldbLog#sync} has said to be, as before; a process that is killed loses no more than
 * before, and a machine that fails loses what the order's log still has.
 */
final class LogWatch {
    private static final VarHandle LOG = field(Logger.class, "log", Log.class);
    private static final VarHandle WRITER = field(Log.class, "dbLogWriter", ScriptWriterBase.class);
    private static final VarHandle STREAM = field(ScriptWriterBase.class, "fileStreamOut", OutputStream.class);
    private static final VarHandle DESCRIPTOR = field(ScriptWriterBase.class, "outDescriptor",
            FileAccess.FileSync.class);

    private final ScriptWriterBase writer;
    private final FileAccess.@Nullable FileSync device;
    private volatile @Nullable IOException failure;

    private LogWatch(ScriptWriterBase writer, FileAccess.@Nullable FileSync device) {
        this.writer = writer;
        this.device = device;
    }

    /** What HSQLDB calls under its locks instead of the device's: does nothing. */
    private record Deferred(FileAccess.FileSync device) implements FileAccess.FileSync {
        @Override
        public void sync() {
            // The buffer has been handed to the operating system just before.
        }
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
            // The same log may be watched again, if a new one was not begun.
            FileAccess.FileSync device = descriptor instanceof Deferred deferred ? deferred.device() : descriptor;
            LogWatch watch = new LogWatch(writer, device);
            if (device == null) {
                watch.failure = new IOException("HSQLDB could not open a new log");
                return watch;
            }
            STREAM.set(writer, watch.new Watched(stream));
            DESCRIPTOR.set(writer, new Deferred(device));
            return watch;
        }
    }

    /** Bytes that have been written since the log was opened. */
    long written() {
        return writer.size();
    }

    /**
     * Has the device keep what HSQLDB has handed to the operating system; a failure is noted. Blocks for as long as the device
     * takes. Must not run while the log is closed or begun anew.
     */
    void force() {
        FileAccess.FileSync present = device;
        if (present == null || failure != null) {
            return;
        }
        try {
            present.sync();
        } catch (IOException failed) {
            failure = failed;
        }
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
