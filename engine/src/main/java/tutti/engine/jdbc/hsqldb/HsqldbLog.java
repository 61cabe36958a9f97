package tutti.engine.jdbc.hsqldb;

import java.io.File;
import java.io.IOException;
import java.sql.SQLException;
import java.util.Locale;
import org.hsqldb.Database;
import org.hsqldb.HsqlException;
import org.hsqldb.Session;
import org.hsqldb.jdbc.JDBCUtil;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.engine.jdbc.EmbeddedDatabase;

/**
 * The log of an HSQLDB database in files: what has changed since the script of all rows was written. HSQLDB's checkpoint writes a
 * new script and begins a new log.
 *
 * <p>
 * <b>What a checkpoint must not meet.</b> It writes every row that it finds in the table's first index, without asking who
 * sees it ({@code ScriptWriterBase.writeTableData}, {@code IndexAVL.IndexRowIterator} without a session). Under
 * multiversion concurrency that is what has been committed if and only if
 * <ul>
 * <li>no transaction is open that has changed something, since its new rows are in the index before they are committed, and
 * the new script would hold those of the tables that are written later, such as a position, without those of the tables that
 * were written earlier; what follows, its commit, is in the new log, which is written to its file half a second
 * later, so that a process that is killed in between leaves a part of a transaction;
 * <li>and no transaction is open that began before one that deleted something was committed, whether it only reads or
 * not, since deleted rows stay in the index for its sake ({@code TransactionManagerMVCC.mergeExpiredTransactions}). The end of
 * the last such transaction takes them out, before it returns.
 * </ul>
 *
 * <p>
 * <b>Why HSQLDB cannot be left to itself.</b> Its own checkpoint, by statement or of its own accord, waits for all open
 * transactions, and holds statements that would begin one ({@code beginActionTPL}). But a transaction that begins without a
 * statement, by {@code Session.startTransaction}, as appliers' do, is not held, so it can come to be open while the script is
 * written. Were it held, there would be a deadlock: a client that waits for its place behind an applier that may not
 * begin keeps the checkpoint waiting, without a limit in time, and that keeps the applier waiting. So HSQLDB's own is switched
 * off, and {@link #rewrite} asks for one when the engine sees to it that nobody has a transaction open.
 *
 * <p>
 * <b>What remains open</b> then are transactions that somebody began after the last commit by reading outside of those that the engine knows:
 * they have changed nothing, and no row has been deleted since they began, so they do no harm. Those that are older are
 * ended before, and {@link #rewrite} does nothing if it finds one.
 *
 * <p>
 * <b>A crash on the way.</b> HSQLDB writes the new script beside the old one, syncs it, and notes in the properties, by renaming,
 * that the new one counts; then it deletes the log and renames the script. When the database is opened, the note tells
 * whether the old script and the log are to be read or the new script only ({@code Log.open}). If the new script cannot be
 * written, the old one and the log stay.
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

    private final Session session;
    private final File log;
    private final File script;
    private final long lengthMin;
    private volatile LogWatch watch;

    /**
     * Of an open database in files.
     *
     * @param session of the database, which must not have a transaction open when it is written anew
     * @param files path of the database
     * @param lengthMin least length at which the database is written anew, in bytes, at least 1
     * @throws SQLException {@code 58030} if the log of the last time is still there, since the database could not be written anew
     */
    HsqldbLog(Session session, String files, long lengthMin) throws SQLException {
        this.session = session;
        this.log = new File(files + ".log");
        this.script = new File(files + ".script");
        this.lengthMin = lengthMin;
        this.watch = LogWatch.of(session.getDatabase().logger);
        sync();
        if (isOld()) {
            throw new SQLException(notRewritten(), "58030");
        }
    }

    /** Whether it was there before HSQLDB opened it. Nothing is being written. */
    private boolean isOld() {
        return length() > watch.written();
    }

    private String notRewritten() {
        return session.getDatabase().getPath()
                + " has not been written anew, and its log is still there; is the disk full? "
                + "HSQLDB says more in " + session.getDatabase().getPath() + ".app.log";
    }

    /**
     * Makes what has been committed survive a crash. Transactions go on meanwhile, except for those that wait for a rewriting:
     * the caller sees to it that the log is neither closed nor begun anew ({@code JdbcEngine} holds its own lock, and has its
     * own transaction open, for which {@link #rewrite} waits).
     *
     * @throws SQLException {@code 58030} if it is not in the file, nor will be
     */
    void sync() throws SQLException {
        LogWatch current = watch;
        session.getDatabase().logger.synchLog();
        current.force();
        IOException failure = current.failure();
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
    public boolean rewrite() throws SQLException {
        Database database = session.getDatabase();
        for (Session each : database.sessionManager.getAllSessions()) {
            if (each.isInMidTransaction()) {
                return false;
            }
        }
        sync();
        try {
            database.logger.checkpoint(session, false, true);
        } catch (HsqlException failed) {
            throw JDBCUtil.sqlException(failed);
        }
        watch = LogWatch.of(database.logger);
        sync();
        if (isOld()) {
            throw new SQLException(notRewritten(), "53100");
        }
        warnOfHeap(database.getPath());
        return true;
    }
}
