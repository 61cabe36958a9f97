package tutti.node;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.Locale;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.recorded.RecordedNode;
import tutti.core.recorded.RecordedTransaction;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.WriteSet;

/**
 * Writes the transactions of one life of a node to a file, for the simulation to put the same load on another protocol or
 * network. Whoever tells of one is never kept waiting: a thread of its own writes, and what it cannot keep up with, or comes
 * when the file has its size or the disk is full, is left out and counted. Thread-safe.
 */
public final class WorkloadRecorder implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(WorkloadRecorder.class);
    private static final DateTimeFormatter STAMP = DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss.SSS", Locale.ROOT)
            .withZone(ZoneOffset.UTC);
    private static final long WAITING_BYTES_MAX = 16 << 20;

    private final int node;
    private final Path file;
    private final OutputStream out;
    private final long bytesMax;
    private final long beganNanos;
    private final Thread writer;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition come = lock.newCondition();
    /* All under the lock. */
    private ArrayDeque<byte[]> waiting = new ArrayDeque<>();
    private long waitingBytes;
    private long bytes;
    private long leftOut;
    private boolean closed;

    /**
     * Begins a recording.
     *
     * @param directory where the file goes; made if missing
     * @param node its number
     * @param bytesMax of the file, about
     * @throws IOException if the file cannot be made
     */
    public WorkloadRecorder(Path directory, int node, long bytesMax) throws IOException {
        Instant now = Clock.systemUTC().instant().truncatedTo(ChronoUnit.MILLIS);
        this.node = node;
        this.bytesMax = bytesMax;
        this.beganNanos = System.nanoTime();
        Files.createDirectories(directory);
        this.file = directory.resolve(STAMP.format(now) + "-node" + node + RecordedNode.SUFFIX);
        this.out = Files.newOutputStream(file);
        out.write(RecordedNode.header(node, now.toEpochMilli()));
        this.writer = Thread.ofPlatform().name("tutti-workload-" + node).daemon().start(this::write);
    }

    /** The file. */
    public Path file() {
        return file;
    }

    /** A transaction that changes something asks to commit. */
    void asks(long since, boolean whole, long startedNanos, ConflictClasses classes, WriteSet writes, ReadSet reads) {
        record(since, startedNanos, whole, classes, writes.keys(), writes.changes().length, reads);
    }

    /** A transaction that has changed nothing is over. */
    void read(long since) {
        record(since, since, false, ConflictClasses.ALL, KeySet.EMPTY, 0, ReadSet.EMPTY);
    }

    private void record(long since, long startedNanos, boolean whole, ConflictClasses classes, KeySet keys,
            int changedBytes, ReadSet reads) {
        long now = System.nanoTime();
        byte[] entry = RecordedNode.entry(new RecordedTransaction(Math.max(0, since - beganNanos),
                Math.max(0, now - startedNanos), whole, classes, keys, changedBytes, reads));
        lock.lock();
        try {
            if (closed || bytes + entry.length > bytesMax || waitingBytes + entry.length > WAITING_BYTES_MAX) {
                leftOut++;
                return;
            }
            bytes += entry.length;
            waitingBytes += entry.length;
            waiting.add(entry);
            come.signal();
        } finally {
            lock.unlock();
        }
    }

    private void write() {
        try (OutputStream to = out) {
            for (ArrayDeque<byte[]> next = next(); !next.isEmpty(); next = next()) {
                int size = next.stream().mapToInt(entry -> entry.length).sum();
                byte[] together = new byte[size];
                int at = 0;
                for (byte[] entry : next) {
                    System.arraycopy(entry, 0, together, at, entry.length);
                    at += entry.length;
                }
                to.write(together);
            }
        } catch (IOException e) {
            LOG.warn("node {}: the recording of the workload {} ends here: {}", node, file, e.getMessage());
            end();
        } catch (InterruptedException e) {
            end();
            Thread.currentThread().interrupt();
        }
    }

    private void end() {
        lock.lock();
        try {
            closed = true;
            leftOut += waiting.size();
            waiting.clear();
        } finally {
            lock.unlock();
        }
    }

    /** All that waits; nothing once it is closed. */
    private ArrayDeque<byte[]> next() throws InterruptedException {
        lock.lock();
        try {
            while (waiting.isEmpty() && !closed) {
                come.await();
            }
            ArrayDeque<byte[]> next = waiting;
            waiting = new ArrayDeque<>();
            waitingBytes = 0;
            return next;
        } finally {
            lock.unlock();
        }
    }

    /** Ends the recording when all that has come is written. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            come.signal();
        } finally {
            lock.unlock();
        }
        try {
            writer.join();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return;
        }
        if (leftOut > 0) {
            LOG.warn("node {}: {} transactions are not in the recording of the workload {}", node, leftOut, file);
        }
    }
}
