package tutti.engine.jdbc.hsqldb;

import java.io.BufferedOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.hsqldb.Database;
import org.hsqldb.Session;
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
 *
 * <p>
 * <b>Another file.</b> The log can be {@linkplain #cut cut} between two transactions, and {@linkplain #goOn go on} in another file that
 * begins there, while transactions are committed: for these both take as long as copying some lines.
 */
final class LogWatch {
    private static final VarHandle LOG = field(Logger.class, "log", Log.class);
    private static final VarHandle WRITER = field(Log.class, "dbLogWriter", ScriptWriterBase.class);
    private static final VarHandle STREAM = field(ScriptWriterBase.class, "fileStreamOut", OutputStream.class);
    private static final VarHandle DESCRIPTOR = field(ScriptWriterBase.class, "outDescriptor",
            FileAccess.FileSync.class);
    private static final VarHandle SESSION = field(ScriptWriterBase.class, "currentSession", Session.class);

    private final Database database;
    /** What is written to the log is written under its lock. */
    private final Logger logger;
    private final ScriptWriterBase writer;
    private final Watched stream;
    private volatile FileAccess.FileSync device;
    private volatile @Nullable IOException failure;
    /** What the writer had written when the file that is written now began. */
    private volatile long before;

    private LogWatch(Database database, ScriptWriterBase writer) {
        this.database = database;
        this.logger = database.logger;
        this.writer = writer;
        this.stream = new Watched((OutputStream) STREAM.get(writer));
        this.device = (FileAccess.FileSync) DESCRIPTOR.get(writer);
    }

    /** Of a class of HSQLDB's. */
    static VarHandle field(Class<?> of, String name, Class<?> type) {
        try {
            return MethodHandles.privateLookupIn(of, MethodHandles.lookup()).findVarHandle(of, name, type);
        } catch (ReflectiveOperationException other) {
            throw new IllegalStateException("this is not the HSQLDB that Tutti was made for; use HSQLDB 2.7.4", other);
        }
    }

    /** Watches the log that is being written. */
    static LogWatch of(Database database) {
        Logger logger = database.logger;
        synchronized (logger) {
            LogWatch watch = new LogWatch(database,
                    (ScriptWriterBase) WRITER.get((Log) LOG.get(logger)));
            STREAM.set(watch.writer, watch.stream);
            // What HSQLDB calls under its locks: the buffer has been handed to the operating system just before.
            DESCRIPTOR.set(watch.writer, (FileAccess.FileSync) () -> {});
            return watch;
        }
    }

    /** Bytes that have been written to the file, or are about to be. */
    long written() {
        return writer.size() - before;
    }

    /**
     * Has the device keep what HSQLDB has handed to the operating system; a failure is noted. Blocks for as long as the device
     * takes. Must not run while the log is closed or goes on in another file.
     */
    void force() {
        if (failure != null) {
            return;
        }
        try {
            device.sync();
        } catch (IOException failed) {
            failure = failed;
        }
    }

    /** Why something has not been written, or null. */
    @Nullable
    IOException failure() {
        return failure;
    }

    /** The files are not what they must be, so that what has been committed cannot be relied on. */
    void fail(IOException why) {
        failure = why;
    }

    /**
     * Has what follows be readable by itself: HSQLDB leaves out which session and schema lines are of while they are the same. For
     * a place between two transactions the caller holds the lock of all transactions.
     *
     * @return the place, in bytes of the file, in which all before it is when this returns
     */
    long cut() throws IOException {
        synchronized (logger) {
            synchronized (stream) {
                stream.flush();
                SESSION.set(writer, (Session) null);
                database.sessionManager.resetLoggedSchemas();
                return written();
            }
        }
    }

    /** Copies what is missing. */
    @FunctionalInterface
    interface Rest {
        void copy() throws IOException;
    }

    /**
     * Has the log go on in another file.
     *
     * @param cut place in the present file at which the other one begins
     * @param rest has the other file have all that the present one has then
     * @throws IOException if it does not; then the log goes on in the present file
     */
    void goOn(OutputStream other, FileAccess.FileSync otherDevice, long cut, Rest rest) throws IOException {
        synchronized (logger) {
            synchronized (stream) {
                stream.flush();
                rest.copy();
                OutputStream old = stream.change(new BufferedOutputStream(other));
                device = otherDevice;
                before += cut;
                try {
                    old.close();
                } catch (IOException failed) {
                    failure = failed;
                }
            }
        }
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

        OutputStream change(OutputStream other) {
            OutputStream old = out;
            out = other;
            return old;
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
