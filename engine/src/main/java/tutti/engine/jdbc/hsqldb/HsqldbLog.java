package tutti.engine.jdbc.hsqldb;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.invoke.VarHandle;
import java.sql.SQLException;
import java.util.Locale;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.BooleanSupplier;
import org.hsqldb.Database;
import org.hsqldb.HsqlException;
import org.hsqldb.Session;
import org.hsqldb.TransactionManagerMVCC;
import org.hsqldb.jdbc.JDBCConnection;
import org.hsqldb.jdbc.JDBCUtil;
import org.hsqldb.lib.FileAccess;
import org.hsqldb.lib.FileUtil;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.engine.jdbc.EmbeddedDatabase;

/**
 * The log of an HSQLDB database in files: what has changed since the script of all rows was written. When it has become long, the
 * database is written anew beside its transactions.
 *
 * <p>
 * <b>How.</b> A transaction begins that sees what has been committed, and the log is cut, both under HSQLDB's lock of all transactions,
 * under which each commit writes its lines. So the transaction sees what the script and the log up to the cut make, and the log behind
 * it is what has been committed since. From what the transaction sees a new script is written ({@link SnapshotScript}), which
 * takes long and which nobody waits for. Then the log behind the cut is copied, and goes on in the copy ({@link LogWatch#goOn}),
 * and both take the place of the old ones ({@link NextFiles}). For a commit all that takes as long as beginning a transaction and copying the
 * last lines of the log.
 *
 * <p>
 * <b>What the cut may separate.</b> Lines of a transaction are written together. Those of a schema change are not, so none may run
 * ({@link #rewrite}). Values of sequences in the new script are read behind the cut, so they are what the log behind it says or higher, never
 * lower than what was given before.
 *
 * <p>
 * <b>Why HSQLDB cannot be left to itself.</b> Its own checkpoint, by statement or of its own accord, waits for all open
 * transactions, and holds statements that would begin one ({@code beginActionTPL}), for as long as writing takes. It writes every row that it
 * finds in a table's index, without asking who sees it, and a transaction that begins without a statement, by {@code Session.startTransaction}, as
 * appliers' do, is not held, so it can come to be open while the script is written. Were it held, there would be a deadlock: a
 * client that waits for its place behind an applier that may not begin keeps the checkpoint waiting, without a limit in time, and that keeps
 * the applier waiting. So HSQLDB's own is switched off.
 *
 * <p>
 * <b>A disk that is full.</b> What HSQLDB cannot write to its log is committed in memory all the same, so {@link LogWatch} looks over its
 * shoulder, and {@link #sync} says that the database is lost; what has counted as durable before stands in front of
 * the gap. For the same reason a database is not opened if HSQLDB could not write it anew then and would go on with the old
 * log, which may end in half a line.
 */
final class HsqldbLog implements EmbeddedDatabase.GrowingLog {
    /** Bytes of heap for each byte of script, rounded up: measured with TPC-C (docs/engines.md). */
    private static final int HEAP_PER_BYTE = 3;
    private static final Logger LOG = LoggerFactory.getLogger(HsqldbLog.class);

    private static final int COPY_BYTES = 1 << 16;
    private static final VarHandle TRANSACTIONS = LogWatch.field(TransactionManagerMVCC.class.getSuperclass(),
            "writeLock", ReentrantReadWriteLock.WriteLock.class);

    /** Opens a session of the database. */
    @FunctionalInterface
    interface Sessions {
        JDBCConnection open() throws SQLException;
    }

    private final Database database;
    private final Sessions sessions;
    private final File log;
    private final File script;
    private final String files;
    private final long lengthMin;
    private final LogWatch watch;
    /** Held while the log is synced, and while it goes on in another file. */
    private final ReentrantLock file = new ReentrantLock();

    /**
     * Of an open database in files.
     *
     * @param files path of the database
     * @param lengthMin least length at which the database is written anew, in bytes, at least 1
     * @throws SQLException {@code 58030} if the log of the last time is still there, since the database could not be written anew
     */
    HsqldbLog(Database database, Sessions sessions, String files, long lengthMin) throws SQLException {
        this.database = database;
        this.sessions = sessions;
        this.log = new File(files + ".log");
        this.script = new File(files + ".script");
        this.files = files;
        this.lengthMin = lengthMin;
        this.watch = LogWatch.of(database);
        sync();
        if (length() > watch.written()) {
            throw new SQLException(database.getPath() + " has not been written anew, and its log of the last time is "
                    + "still there; is the disk full? HSQLDB says more in " + database.getPath() + ".app.log", "58030");
        }
    }

    /** Before a database is opened: ends what a crash has interrupted. */
    static void settle(String files) throws SQLException {
        try {
            new NextFiles(FileUtil.getFileUtil(), files).settle();
        } catch (IOException failed) {
            throw new SQLException(failed.getMessage(), "58030", failed);
        }
    }

    /**
     * Makes what has been committed survive a crash. Transactions go on meanwhile.
     *
     * @throws SQLException {@code 58030} if it is not in the file, nor will be
     */
    void sync() throws SQLException {
        file.lock();
        try {
            database.logger.synchLog();
            watch.force();
        } finally {
            file.unlock();
        }
        IOException failure = watch.failure();
        if (failure != null) {
            throw new SQLException("what has been committed cannot be written to " + log + ": " + failure.getMessage(),
                    "58030", failure);
        }
    }

    /**
     * What an operator should know about memory.
     *
     * @param files path of a database, in which the length of the script tells how many rows there are
     */
    static void warnOfHeap(String files) {
        String warning = heapWarning(new File(files + ".script").length(), Runtime.getRuntime().maxMemory());
        if (warning != null) {
            LOG.warn("{}: {}", files, warning);
        }
    }

    /** What to say if rows whose script is so long take more than half of so much heap, in bytes; else null. */
    static @Nullable String heapWarning(long script, long heapMax) {
        long needed = script * HEAP_PER_BYTE;
        return needed <= heapMax / 2
                ? null
                : String.format(Locale.ROOT,
                        "the rows take about %,d MiB of this process' heap, which can have %,d MiB; they "
                                + "should not take more than half of it, so start it with -Xmx%dm or more",
                        needed >> 20, heapMax >> 20, ((2 * needed) >> 20) + 1);
    }

    @Override
    public long length() {
        return log.length();
    }

    /**
     * As long as the database was when it was written last: so changes cost no more the larger the database is, and after a
     * crash as much has to be read from the log as from the database, more or less.
     */
    @Override
    public long enough() {
        return Math.max(lengthMin, script.length());
    }

    @Override
    public boolean rewrite(BooleanSupplier givenUp) throws SQLException {
        NextFiles next = new NextFiles(database.logger.getFileAccess(), files);
        try {
            next.discard();
            long cut;
            try (JDBCConnection connection = sessions.open()) {
                Session snapshot = (Session) connection.getSession();
                cut = cut(snapshot);
                if (!SnapshotScript.write(snapshot, next.script(), givenUp)) {
                    next.discard();
                    return false;
                }
            }
            goOn(next, cut);
        } catch (IOException | SQLException failed) {
            throw notRewritten(next, failed);
        }
        warnOfHeap(database.getPath());
        return true;
    }

    /** What has been written so far is of no use any more. */
    private static SQLException notRewritten(NextFiles next, Exception failed) {
        try {
            next.discard();
        } catch (IOException again) {
            failed.addSuppressed(again);
        }
        return failed instanceof SQLException known ? known : new SQLException(failed.getMessage(), "58030", failed);
    }

    /** Begins a transaction; what it does not see is in the log behind the place that this answers. */
    private long cut(Session snapshot) throws IOException, SQLException {
        ReentrantReadWriteLock.WriteLock transactions = (ReentrantReadWriteLock.WriteLock) TRANSACTIONS
                .get(database.txManager);
        transactions.lock();
        try {
            snapshot.startTransaction();
            return watch.cut();
        } catch (HsqlException failed) {
            throw JDBCUtil.sqlException(failed);
        } finally {
            transactions.unlock();
        }
    }

    /** From the cut on, the log goes on beside the new script. */
    private void goOn(NextFiles next, long cut) throws IOException {
        FileAccess access = database.logger.getFileAccess();
        file.lock();
        try (InputStream old = new FileInputStream(log)) {
            old.skipNBytes(cut);
            OutputStream other = access.openOutputStreamElement(next.log());
            FileAccess.FileSync device = access.getFileSync(other);
            boolean going = false;
            try {
                copy(old, other);
                device.sync();
                going = goOn(next, cut, old, other, device);
            } finally {
                if (!going) {
                    other.close();
                }
            }
            takePlace(next);
        } finally {
            file.unlock();
        }
    }

    private boolean goOn(NextFiles next, long cut, InputStream old, OutputStream other, FileAccess.FileSync device)
            throws IOException {
        try {
            next.mark();
            watch.goOn(other, device, cut, () -> copy(old, other));
            return true;
        } catch (IOException failed) {
            try {
                next.unmark();
            } catch (IOException marked) {
                // The next start would take the new files, which lack what is committed from now on.
                watch.fail(marked);
            }
            throw failed;
        }
    }

    private void takePlace(NextFiles next) {
        try {
            next.takePlace();
        } catch (IOException failed) {
            // The next start ends it; what is committed here would be written to a file that has no name by then.
            watch.fail(failed);
        }
    }

    /** All that is there. */
    private static void copy(InputStream from, OutputStream to) throws IOException {
        byte[] buffer = new byte[COPY_BYTES];
        for (int read = from.read(buffer); read >= 0; read = from.read(buffer)) {
            to.write(buffer, 0, read);
        }
    }
}
