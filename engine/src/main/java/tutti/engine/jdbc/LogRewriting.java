package tutti.engine.jdbc;

import java.sql.SQLException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.engine.jdbc.EmbeddedDatabase.GrowingLog;

/**
 * Has a database written anew when its log has become long, while the engine is at work, in a {@link Quiescence}.
 *
 * <p>
 * When something stays open for too long, that is given up, and tried again when the log has become longer by a tenth of
 * what was enough, then by twice as much, and so on up to the whole. So a client that always has a transaction open costs
 * a short halt now and then, less and less often, and not the node. Safe for use from any thread.
 */
final class LogRewriting {
    /** How long clients may be held back before it is given up. */
    static final long PATIENCE_NANOS = 2_000_000_000L;
    /** The first delay as a part of what is enough. */
    private static final int FIRST_DELAY_DIVISOR = 10;
    private static final Logger LOG = LoggerFactory.getLogger(LogRewriting.class);

    private final EmbeddedDatabase database;
    private final Quiescence standstill;
    private final JdbcEngine.Step before;
    private final ReentrantLock running = new ReentrantLock();
    /** In bytes: not before the log has so many. */
    private long notBefore;
    /** In bytes, of the last attempt; 0 if it succeeded. */
    private long delay;

    /**
     * For one engine.
     *
     * @param before ends whatever may be open besides transactions; called when there are none
     */
    LogRewriting(EmbeddedDatabase database, Quiescence standstill, JdbcEngine.Step before) {
        this.database = database;
        this.standstill = standstill;
        this.before = before;
    }

    /** Has it written anew now if it is time. Blocks as long as that takes. The log has been written to its file. */
    void look() {
        look(PATIENCE_NANOS);
    }

    /** Likewise, with another patience. */
    void look(long patienceNanos) {
        GrowingLog log = database.growingLog();
        if (log == null || !running.tryLock()) {
            return;
        }
        try {
            long length = log.length();
            long enough = log.enough();
            if (length >= Math.max(enough, notBefore)) {
                attempt(log, length, enough, patienceNanos);
            }
        } catch (InterruptedException closing) {
            Thread.currentThread().interrupt();
        } finally {
            running.unlock();
        }
    }

    private void attempt(GrowingLog log, long length, long enough, long patienceNanos) throws InterruptedException {
        long asked = System.nanoTime();
        Rewrite rewrite = new Rewrite(log);
        SQLException failure = null;
        try {
            standstill.attempt(patienceNanos, rewrite);
        } catch (SQLException failed) {
            failure = failed;
        }
        if (rewrite.done) {
            delay = 0;
            notBefore = 0;
            LOG.info("{}: written anew, since its log had {} KiB; it stood still for {} ms, after waiting {} ms for "
                    + "transactions to end", database.name(), length >> 10, millis(rewrite.began, System.nanoTime()),
                    millis(asked, rewrite.began));
            return;
        }
        delay = delay == 0 ? Math.max(1, enough / FIRST_DELAY_DIVISOR) : Math.min(2 * delay, enough);
        notBefore = length + delay;
        if (failure == null) {
            LOG.info(
                    "{}: not written anew, though its log has {} KiB: a transaction has been open for {} ms or more; this "
                            + "is tried again when the log has {} KiB",
                    database.name(), length >> 10,
                    millis(asked, System.nanoTime()), notBefore >> 10);
        } else {
            LOG.warn(
                    "{}: cannot be written anew, so its log grows beyond {} KiB; is the disk full? This is tried again when "
                            + "the log has {} KiB",
                    database.name(), length >> 10, notBefore >> 10, failure);
        }
    }

    private static long millis(long from, long to) {
        return TimeUnit.NANOSECONDS.toMillis(to - from);
    }

    private final class Rewrite implements JdbcEngine.Step {
        private final GrowingLog log;
        private boolean done;
        private long began;

        Rewrite(GrowingLog log) {
            this.log = log;
        }

        @Override
        public void run() throws SQLException {
            began = System.nanoTime();
            before.run();
            done = log.rewrite();
        }
    }
}
