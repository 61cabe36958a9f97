package tutti.order.raft;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where a node keeps its Raft log: files of checksummed records in one directory. It survives a crash at any instant: a
 * torn end that was never flushed is cut off when the log is opened, and anything else that cannot be read back is
 * refused with a {@link DamagedLogException}.
 *
 * <p>
 * Files are filled with zeros and flushed before they are used, because then {@link #flush} need not wait for the file
 * system's own bookkeeping (measured: 0.12 ms against 0.29 ms, 99th percentile 0.26 ms against 6.8 ms).
 *
 * <p>
 * Threads: one writer calls {@link #append}, {@link #flush}, {@link #truncateFrom}; any thread may {@link #read} entries
 * that it knows to be there, and {@link #truncateUntil}.
 */
final class SegmentedLog implements AutoCloseable {
    private static final Logger LOGGER = LoggerFactory.getLogger(SegmentedLog.class);
    private static final String SUFFIX = ".log";
    private static final String SPARE = "spare";
    private static final int BUFFER_BYTES = 1 << 20;
    private static final int CACHE_SLOTS = 1 << 13;

    private final Path directory;
    private final int segmentBytes;
    private final long cacheBytesLimit;
    private final FileOpener files;

    private final List<LogSegment> segments = new ArrayList<>();
    /** Records appended and not yet given to the operating system; they end where the last segment ends. */
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
    /** Bytes of the last segment that are on disk for sure. */
    private long synced;

    /** The newest entries by {@code index % CACHE_SLOTS}: from cacheFrom to lastIndex, the unwritten ones always. */
    private final @Nullable LogEntry[] cache = new @Nullable LogEntry[CACHE_SLOTS];
    private long cacheFrom;
    private long cacheBytes;
    private long unwrittenFrom;

    private @Nullable CompletableFuture<FileChannel> spare;
    private boolean closed;

    private SegmentedLog(Path directory, int segmentBytes, long cacheBytesLimit, FileOpener files) {
        this.directory = directory;
        this.segmentBytes = segmentBytes;
        this.cacheBytesLimit = cacheBytesLimit;
        this.files = files;
    }

    /** Whether there is a log in a directory. */
    static boolean exists(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            return false;
        }
        try (Stream<Path> list = Files.list(directory)) {
            return list.anyMatch(p -> p.getFileName().toString().endsWith(SUFFIX));
        }
    }

    /**
     * Opens the log of a directory, or begins one with entry 1.
     *
     * @param segmentBytes size of a file; a longer entry gets a file of its own
     * @param cacheBytes how many bytes of newest entries to keep in memory
     * @throws DamagedLogException if the log cannot be trusted
     */
    static SegmentedLog open(Path directory, int segmentBytes, long cacheBytes, FileOpener files) throws IOException {
        Files.createDirectories(directory);
        SegmentedLog log = new SegmentedLog(directory, segmentBytes, cacheBytes, files);
        try {
            log.recover();
        } catch (IOException | RuntimeException e) {
            log.close();
            throw e;
        }
        return log;
    }

    private void recover() throws IOException {
        List<Path> paths;
        try (Stream<Path> list = Files.list(directory)) {
            paths = list.filter(p -> p.getFileName().toString().endsWith(SUFFIX)).sorted().toList();
        }
        Files.deleteIfExists(directory.resolve(SPARE));
        for (Path path : paths) {
            String name = path.getFileName().toString();
            long first;
            try {
                first = Long.parseLong(name.substring(0, name.length() - SUFFIX.length()));
            } catch (NumberFormatException e) {
                throw new DamagedLogException(path + " is not a file of this log");
            }
            if (!segments.isEmpty() && first != lastIndex() + 1) {
                throw new DamagedLogException(
                        "entries " + (lastIndex() + 1) + " to " + (first - 1) + " are missing before " + path);
            }
            FileChannel channel = files.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
            LogSegment segment = new LogSegment(path, channel, first);
            segments.add(segment);
            boolean last = path.equals(paths.getLast());
            long torn = segment.scan(last);
            if (torn > 0) {
                LOGGER.warn("{}: cut off {} bytes after entry {}, which a crash left half written", path, torn,
                        segment.lastIndex());
                channel.truncate(segment.end);
            }
            if (last) {
                // What a killed process wrote may still be in the operating system only.
                channel.force(true);
            }
        }
        if (segments.isEmpty()) {
            segments.add(create(1));
        }
        synced = segments.getLast().end;
        unwrittenFrom = lastIndex() + 1;
        cacheFrom = unwrittenFrom;
        prepareSpare();
    }

    /** Index of the oldest entry that is held; one more than {@link #lastIndex} if there is none. */
    synchronized long firstIndex() {
        return segments.getFirst().firstIndex;
    }

    /** Index of the newest entry, flushed or not; one less than {@link #firstIndex} if there is none. */
    synchronized long lastIndex() {
        return segments.getLast().lastIndex();
    }

    /** Term of an entry that is held. */
    synchronized int term(long index) {
        return segmentOf(index).term(index);
    }

    /** Bytes that the entries take on disk. */
    synchronized long bytes() {
        long bytes = 0;
        for (LogSegment segment : segments) {
            bytes += segment.end;
        }
        return bytes;
    }

    /** Adds the next entry. It is safe only after {@link #flush}. */
    void append(LogEntry entry) throws IOException {
        int recordBytes = LogSegment.RECORD_HEADER_BYTES + entry.body().length;
        LogSegment last = segments.getLast();
        if (entry.index() != last.lastIndex() + 1) {
            throw new IllegalArgumentException("entry " + entry.index() + " after " + last.lastIndex());
        }
        if (last.count() > 0 && last.end + recordBytes > segmentBytes) {
            roll();
        } else if (recordBytes > buffer.remaining()) {
            writeBuffer();
        }
        synchronized (this) {
            LogSegment segment = segments.getLast();
            if (recordBytes <= buffer.remaining()) {
                LogSegment.encode(buffer, entry, synced);
                segment.added(entry.term(), recordBytes);
            } else {
                ByteBuffer large = ByteBuffer.allocate(recordBytes);
                LogSegment.encode(large, entry, synced);
                LogSegment.writeFully(segment.channel, large.flip(), segment.end);
                segment.added(entry.term(), recordBytes);
                unwrittenFrom = entry.index() + 1;
            }
            cache(entry);
        }
    }

    private void cache(LogEntry entry) throws IOException {
        if (entry.index() - cacheFrom >= CACHE_SLOTS && cacheFrom >= unwrittenFrom) {
            writeBuffer();
        }
        while (cacheFrom < unwrittenFrom && cacheFrom < entry.index()
                && (cacheBytes + entry.body().length > cacheBytesLimit || entry.index() - cacheFrom >= CACHE_SLOTS)) {
            LogEntry old = cache[slot(cacheFrom)];
            if (old != null && old.index() == cacheFrom) {
                cacheBytes -= old.body().length;
                cache[slot(cacheFrom)] = null;
            }
            cacheFrom++;
        }
        cache[slot(entry.index())] = entry;
        cacheBytes += entry.body().length;
    }

    private static int slot(long index) {
        return (int) (index & CACHE_SLOTS - 1);
    }

    private synchronized void writeBuffer() throws IOException {
        if (buffer.position() > 0) {
            LogSegment segment = segments.getLast();
            long offset = segment.end - buffer.position();
            buffer.flip();
            LogSegment.writeFully(segment.channel, buffer, offset);
            buffer.clear();
        }
        unwrittenFrom = segments.getLast().lastIndex() + 1;
    }

    /** Returns when everything appended is on disk. After a failure nothing is known of what was appended since. */
    void flush() throws IOException {
        writeBuffer();
        LogSegment segment = segments.getLast();
        if (synced < segment.end) {
            segment.channel.force(false);
            synced = segment.end;
        }
    }

    private void roll() throws IOException {
        flush();
        LogSegment next = create(segments.getLast().lastIndex() + 1);
        synchronized (this) {
            segments.add(next);
            synced = next.end;
        }
        prepareSpare();
    }

    private LogSegment create(long firstIndex) throws IOException {
        Path path = directory.resolve(String.format("%020d%s", firstIndex, SUFFIX));
        FileChannel channel = takeSpare();
        if (channel == null) {
            channel = files.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE,
                    StandardOpenOption.CREATE_NEW);
            LogSegment.writeHeader(channel, firstIndex);
            channel.force(true);
        } else {
            LogSegment.writeHeader(channel, firstIndex);
            channel.force(true);
            Files.move(directory.resolve(SPARE), path);
        }
        DurableFiles.syncDirectory(directory);
        return new LogSegment(path, channel, firstIndex);
    }

    /** The file that was prepared, or null if it is not ready: the log does not wait for it. */
    private @Nullable FileChannel takeSpare() throws IOException {
        CompletableFuture<FileChannel> prepared = spare;
        if (prepared == null) {
            return null;
        }
        try {
            if (prepared.isDone()) {
                spare = null;
                return prepared.get();
            }
            return null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        } catch (ExecutionException e) {
            throw new IOException(
                    "cannot prepare a file for the log in " + directory + ": " + e.getCause().getMessage(),
                    e.getCause());
        }
    }

    private void prepareSpare() {
        if (spare != null) {
            return;
        }
        CompletableFuture<FileChannel> prepared = new CompletableFuture<>();
        spare = prepared;
        Thread.ofPlatform().daemon().name("log-spare").start(() -> {
            try {
                prepared.complete(writeZeros());
            } catch (IOException | RuntimeException e) {
                prepared.completeExceptionally(e);
            }
        });
    }

    private FileChannel writeZeros() throws IOException {
        FileChannel channel = files.open(directory.resolve(SPARE), StandardOpenOption.READ, StandardOpenOption.WRITE,
                StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING);
        try {
            ByteBuffer zeros = ByteBuffer.allocateDirect(Math.min(segmentBytes, 1 << 18));
            for (long offset = 0; offset < segmentBytes; offset += zeros.capacity()) {
                zeros.clear().limit((int) Math.min(zeros.capacity(), segmentBytes - offset));
                LogSegment.writeFully(channel, zeros, offset);
            }
            channel.force(true);
            return channel;
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    /** An entry that is held, from memory or from disk. */
    LogEntry read(long index) throws IOException {
        LogSegment segment;
        long offset;
        int recordBytes;
        synchronized (this) {
            LogEntry cached = cache[slot(index)];
            if (cached != null && cached.index() == index) {
                return cached;
            }
            segment = segmentOf(index);
            offset = segment.offset(index);
            recordBytes = (int) ((index == segment.lastIndex() ? segment.end : segment.offset(index + 1)) - offset);
        }
        return segment.read(index, offset, recordBytes);
    }

    private LogSegment segmentOf(long index) {
        for (int i = segments.size() - 1; i >= 0; i--) {
            LogSegment segment = segments.get(i);
            if (index >= segment.firstIndex) {
                return segment;
            }
        }
        throw new IllegalArgumentException(
                "entry " + index + " is no longer held, the first is " + segments.getFirst().firstIndex);
    }

    /** Removes the entry at {@code index} and all after it. On disk when it returns. */
    void truncateFrom(long index) throws IOException {
        writeBuffer();
        while (segments.size() > 1 && segments.getLast().firstIndex >= index) {
            LogSegment dropped;
            synchronized (this) {
                dropped = segments.removeLast();
            }
            dropped.channel.close();
            Files.delete(dropped.path);
        }
        DurableFiles.syncDirectory(directory);
        synchronized (this) {
            LogSegment last = segments.getLast();
            if (index <= last.lastIndex()) {
                last.forgetFrom(index);
            }
            // Cuts the prepared zeros off too: nothing of what was removed may be read again.
            last.channel.truncate(last.end);
            last.channel.force(true);
            synced = last.end;
            for (int i = 0; i < CACHE_SLOTS; i++) {
                LogEntry entry = cache[i];
                if (entry != null && entry.index() >= index) {
                    cacheBytes -= entry.body().length;
                    cache[i] = null;
                }
            }
            unwrittenFrom = last.lastIndex() + 1;
            cacheFrom = Math.min(cacheFrom, unwrittenFrom);
        }
    }

    /** Removes files that hold only entries up to {@code index}; the newest file stays. */
    void truncateUntil(long index) throws IOException {
        while (true) {
            LogSegment dropped;
            synchronized (this) {
                if (segments.size() < 2 || segments.getFirst().lastIndex() > index) {
                    return;
                }
                dropped = segments.removeFirst();
            }
            dropped.channel.close();
            Files.delete(dropped.path);
        }
    }

    /** Closes the files without flushing: what was not flushed was not promised. */
    @Override
    public synchronized void close() throws IOException {
        if (closed) {
            return;
        }
        closed = true;
        IOException failure = null;
        for (LogSegment segment : segments) {
            try {
                segment.channel.close();
            } catch (IOException e) {
                failure = e;
            }
        }
        CompletableFuture<FileChannel> prepared = spare;
        if (prepared != null) {
            try {
                prepared.get().close();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (ExecutionException e) {
                LOGGER.debug("no spare file to close", e);
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
