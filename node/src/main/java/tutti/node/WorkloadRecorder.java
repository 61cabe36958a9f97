package tutti.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.recorded.RecordedNode;
import tutti.core.recorded.RecordedTransaction;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.WriteSet;
import tutti.runtime.Background;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.runtime.Machine;

/**
 * Writes the transactions of one life of a node to a file, for the simulation to put the same load on another protocol or
 * network. Whoever tells of one is never kept waiting: the file is written in the background, some at a time, the rest at the
 * {@linkplain #close end}; what that cannot keep up with, or comes when the file has its size or the disk is full, is left out
 * and counted. Thread-safe.
 */
public final class WorkloadRecorder implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(WorkloadRecorder.class);
    private static final long WAITING_BYTES_MAX = 16 << 20;
    /** So much is worth being written. */
    private static final long WRITE_BYTES = 1 << 16;
    /** What comes so long after the last was written is written, too, with what came before it. */
    private static final long WRITE_NANOS = 1_000_000_000;

    private final Machine machine;
    private final int node;
    private final Directory directory;
    private final String name;
    private final DataFile file;
    private final long bytesMax;
    private final long beganNanos;
    private final ReentrantLock lock = new ReentrantLock();
    /* All under the lock. */
    private ArrayDeque<byte[]> waiting = new ArrayDeque<>();
    private long waitingBytes;
    private long bytes;
    private long leftOut;
    private boolean closed;
    private boolean writes;
    private long wroteNanos;
    private @Nullable Background writer;
    /** Of the file; of the writer. */
    private long size;

    /**
     * Begins a recording.
     *
     * @param machine that the node runs on
     * @param directory where the file goes
     * @param node its number
     * @param bytesMax of the file, about
     * @throws IOException if the file cannot be made
     */
    public WorkloadRecorder(Machine machine, Directory directory, int node, long bytesMax) throws IOException {
        Instant now = machine.clock().now().truncatedTo(ChronoUnit.MILLIS);
        this.machine = machine;
        this.node = node;
        this.bytesMax = bytesMax;
        this.beganNanos = machine.clock().nanoTime();
        this.wroteNanos = beganNanos;
        this.directory = directory;
        this.name = RecordingName.of(now, node, RecordedNode.SUFFIX);
        this.file = directory.open(name, Directory.Open.EMPTY);
        write(RecordedNode.header(node, now.toEpochMilli()));
    }

    /** Where the file is. */
    public String location() {
        return directory.location(name);
    }

    /** A transaction that changes something asks to commit. */
    void asks(long since, boolean whole, long startedNanos, ConflictClasses classes, WriteSet writeSet,
            ReadSet reads) {
        record(since, startedNanos, whole, classes, writeSet.keys(), writeSet.changes().length, reads);
    }

    /** A transaction that has changed nothing is over. */
    void read(long since) {
        record(since, since, false, ConflictClasses.ALL, KeySet.EMPTY, 0, ReadSet.EMPTY);
    }

    private void record(long since, long startedNanos, boolean whole, ConflictClasses classes, KeySet keys,
            int changedBytes, ReadSet reads) {
        long now = machine.clock().nanoTime();
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
            if (!writes && (waitingBytes >= WRITE_BYTES || now - wroteNanos >= WRITE_NANOS)) {
                writes = true;
                writer = machine.background("tutti-workload-" + node, this::writeWaiting);
            }
        } finally {
            lock.unlock();
        }
    }

    /** In the background, or when that has ended for good. */
    private void writeWaiting() {
        try {
            for (ArrayDeque<byte[]> next = next(); !next.isEmpty(); next = next()) {
                ByteBuffer together = ByteBuffer.allocate(next.stream().mapToInt(entry -> entry.length).sum());
                next.forEach(together::put);
                write(together.array());
            }
        } catch (IOException broken) {
            LOG.warn("node {}: the recording of the workload {} ends here: {}", node, location(), broken.getMessage());
            end();
        }
    }

    private void write(byte[] next) throws IOException {
        file.write(ByteBuffer.wrap(next), size);
        size += next.length;
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

    /** All that waits; if nothing does, whoever writes is done. */
    private ArrayDeque<byte[]> next() {
        lock.lock();
        try {
            ArrayDeque<byte[]> next = waiting;
            waiting = new ArrayDeque<>();
            waitingBytes = 0;
            writes = !next.isEmpty();
            wroteNanos = machine.clock().nanoTime();
            return next;
        } finally {
            lock.unlock();
        }
    }

    /** Ends the recording when all that has come is written. */
    @Override
    public void close() {
        Background last;
        lock.lock();
        try {
            closed = true;
            last = writer;
        } finally {
            lock.unlock();
        }
        if (last != null) {
            last.join();
        }
        writeWaiting();
        try {
            file.close();
        } catch (IOException broken) {
            LOG.warn("node {}: the recording of the workload {} may lack its end: {}", node, location(),
                    broken.getMessage());
        }
        if (leftOut > 0) {
            LOG.warn("node {}: {} transactions are not in the recording of the workload {}", node, leftOut,
                    location());
        }
    }
}
