package tutti.engine.jdbc;

import java.sql.SQLException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.engine.jdbc.EmbeddedDatabase.GrowingLog;

/**
 * Has a database written anew when its log has become long, while the engine is at work. Clients and appliers go on; a schema
 * change has it given up.
 *
 * <p>
 * When it is given up, or fails, that is tried again when the log has become longer by a tenth of what was enough, then by
 * twice as much, and so on up to the whole. Safe for use from any thread.
 */
final class LogRewriting {
    /** The first delay as a part of what is enough. */
    private static final int FIRST_DELAY_DIVISOR = 10;
    private static final Logger LOG = LoggerFactory.getLogger(LogRewriting.class);

    private final EmbeddedDatabase database;
    private final ReentrantReadWriteLock schemaLock;
    private final ReentrantLock running = new ReentrantLock();
    /** In bytes: not before the log has so many. */
    private long notBefore;
    /** In bytes, of the last attempt; 0 if it succeeded. */
    private long delay;
    private volatile boolean closed;

    /**
     * For one engine.
     *
     * @param schemaLock write-locked while the schema changes
     */
    LogRewriting(EmbeddedDatabase database, ReentrantReadWriteLock schemaLock) {
        this.database = database;
        this.schemaLock = schemaLock;
    }

    /** Has it written anew now if it is time. Blocks as long as that takes. The log has been written to its file. */
    void look() {
        GrowingLog log = database.growingLog();
        if (log == null || closed || !running.tryLock()) {
            return;
        }
        try {
            if (log.length() >= Math.max(log.enough(), notBefore)) {
                // It computes for long, and virtual threads would wait for their carrier.
                Thread writer = Thread.ofPlatform().name("tutti-script").daemon().start(() -> attempt(log));
                writer.join();
            }
        } catch (InterruptedException closing) {
            Thread.currentThread().interrupt();
        } finally {
            running.unlock();
        }
    }

    /** It ends soon if it is under way, and does not begin any more. */
    void close() {
        closed = true;
    }

    private void attempt(GrowingLog log) {
        if (!schemaLock.readLock().tryLock()) {
            return;
        }
        long length = log.length();
        long enough = log.enough();
        long began = System.nanoTime();
        try {
            if (log.rewrite(() -> closed || schemaLock.hasQueuedThreads())) {
                delay = 0;
                notBefore = 0;
                LOG.info("{}: written anew in {} ms beside its transactions, since its log had {} KiB; it has {} KiB "
                        + "now", database.name(), TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began),
                        length >> 10,
                        log.length() >> 10);
            } else {
                later(length, enough);
                LOG.info("{}: not written anew, though its log has {} KiB: the schema changes; this is tried again "
                        + "when the log has {} KiB", database.name(), length >> 10, notBefore >> 10);
            }
        } catch (SQLException | RuntimeException failed) {
            later(length, enough);
            LOG.warn(
                    "{}: cannot be written anew, so its log grows beyond {} KiB; is the disk full? This is tried "
                            + "again when the log has {} KiB",
                    database.name(), length >> 10, notBefore >> 10, failed);
        } finally {
            schemaLock.readLock().unlock();
        }
    }

    private void later(long length, long enough) {
        delay = delay == 0 ? Math.max(1, enough / FIRST_DELAY_DIVISOR) : Math.min(2 * delay, enough);
        notBefore = length + delay;
    }
}
