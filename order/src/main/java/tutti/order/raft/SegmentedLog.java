package tutti.order.raft;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.runtime.DamagedFileException;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.runtime.DurableFiles;
import tutti.runtime.Machine;

/**
 * Where a node keeps its Raft log: files of checksummed records in one directory. It survives a crash at any instant: a
 * torn end that was never flushed is cut off when the log is opened, and anything else that cannot be read back is
 * refused with a {@link DamagedFileException}.
 *
 * <p>
 * <b>Files.</b> A file has its name only when its header is safe, and one file is made or removed at a time, each safely before
 * the next: so after a crash the files that are there follow each other without a gap, whatever was lost. They are filled
 * with zeros and flushed before they are used, because then {@link #flush} need not wait for the file system's own bookkeeping
 * (measured: 0.12 ms against 0.29 ms, 99th percentile 0.26 ms against 6.8 ms).
 *
 * <p>
 * <b>Threads.</b> Everything belongs to one writer, but {@link #read}, of entries that the caller knows to be there, and
 * {@link #bytes}, which any thread may call. What readers look at is immutable or published by a volatile write, after what
 * it says has become true.
 */
final class SegmentedLog implements AutoCloseable {
    private static final Logger LOGGER = LoggerFactory.getLogger(SegmentedLog.class);
    static final String SUFFIX = ".log";
    /** Name of the next file while it is prepared. */
    static final String SPARE = "spare";
    private static final int BUFFER_BYTES_MIN = 1 << 17;
    private static final int BUFFER_BYTES_MAX = 1 << 20;
    private static final int CACHE_SLOTS = 1 << 13;

    private final Machine machine;
    private final Directory directory;
    private final int segmentBytes;
    private final long cacheBytesLimit;

    /** Replaced as a whole. */
    private volatile List<LogSegment> segments = List.of();
    /** Records appended and not yet given to the operating system; they end where the last segment ends. */
    private final ByteBuffer buffer;
    /** Bytes of the last segment that are on disk for sure. */
    private long synced;

    /** The newest entries by {@code index % CACHE_SLOTS}: from cacheFrom to lastIndex, the unwritten ones always. */
    private final AtomicReferenceArray<@Nullable LogEntry> cache = new AtomicReferenceArray<>(CACHE_SLOTS);
    private long cacheFrom;
    private long cacheBytes;
    private long unwrittenFrom;

    private @Nullable SpareFile spare;
    private boolean closed;

    private SegmentedLog(Machine machine, Directory directory, int segmentBytes, long cacheBytesLimit) {
        this.machine = machine;
        this.directory = directory;
        this.segmentBytes = segmentBytes;
        this.cacheBytesLimit = cacheBytesLimit;
        // More than a file takes never waits here, except for a single record.
        this.buffer = ByteBuffer.allocateDirect(Math.clamp(segmentBytes, BUFFER_BYTES_MIN, BUFFER_BYTES_MAX));
    }

    /** Whether there is a log in a directory. */
    static boolean exists(Directory directory) throws IOException {
        return directory.list().stream().anyMatch(name -> name.endsWith(SUFFIX));
    }

    /** As below; one that is begun begins with entry 1. */
    static SegmentedLog open(Machine machine, Directory directory, int segmentBytes, long cacheBytes)
            throws IOException {
        return open(machine, directory, segmentBytes, cacheBytes, 1);
    }

    /**
     * Opens the log of a directory, or begins one.
     *
     * @param segmentBytes size of a file; a longer entry gets a file of its own
     * @param cacheBytes how many bytes of newest entries to keep in memory
     * @param first entry of one that is begun
     * @throws DamagedFileException if the log cannot be trusted
     */
    static SegmentedLog open(Machine machine, Directory directory, int segmentBytes, long cacheBytes, long first)
            throws IOException {
        SegmentedLog log = new SegmentedLog(machine, directory, segmentBytes, cacheBytes);
        try {
            log.recover(first);
        } catch (IOException | RuntimeException e) {
            log.close();
            throw e;
        }
        return log;
    }

    private void recover(long firstIfBegun) throws IOException {
        List<String> names = new ArrayList<>();
        for (String name : directory.list()) {
            if (name.endsWith(SUFFIX)) {
                names.add(name);
            } else if (name.equals(SPARE) || name.endsWith(DurableFiles.ASIDE)) {
                // Prepared or begun before a crash.
                directory.delete(name);
            }
        }
        for (String name : names) {
            recover(name, name.equals(names.getLast()));
        }
        if (segments.isEmpty()) {
            segments = List.of(create(firstIfBegun));
        }
        synced = last().end();
        unwrittenFrom = lastIndex() + 1;
        cacheFrom = unwrittenFrom;
        prepareSpare();
    }

    private void recover(String name, boolean last) throws IOException {
        long first;
        try {
            first = Long.parseLong(name.substring(0, name.length() - SUFFIX.length()));
        } catch (NumberFormatException e) {
            throw new DamagedFileException(directory.location(name) + " is not a file of this log");
        }
        if (!segments.isEmpty() && first != lastIndex() + 1) {
            throw new DamagedFileException("entries " + (lastIndex() + 1) + " to " + (first - 1)
                    + " are missing before " + directory.location(name));
        }
        LogSegment segment = new LogSegment(name, directory.location(name),
                directory.open(name, Directory.Open.EXISTING), first);
        segments = with(segments, segment);
        long torn = segment.scan(last);
        if (torn > 0) {
            LOGGER.warn("{}: cut off {} bytes after entry {}, which a crash left half written",
                    directory.location(name), torn, segment.lastIndex());
            segment.file.truncate(segment.end());
        }
        if (last) {
            segment.makeSafe();
            // So may a name.
            directory.sync();
        }
    }

    private static List<LogSegment> with(List<LogSegment> segments, LogSegment next) {
        List<LogSegment> more = new ArrayList<>(segments);
        more.add(next);
        return List.copyOf(more);
    }

    private LogSegment last() {
        return segments.getLast();
    }

    /** Index of the oldest entry that is held; one more than {@link #lastIndex} if there is none. */
    long firstIndex() {
        return segments.getFirst().firstIndex;
    }

    /** Index of the newest entry, flushed or not; one less than {@link #firstIndex} if there is none. */
    long lastIndex() {
        return last().lastIndex();
    }

    /** Term of an entry that is held. */
    int term(long index) {
        return segmentOf(index).term(index);
    }

    /** Bytes that the entries take on disk. Any thread. */
    long bytes() {
        long bytes = 0;
        for (LogSegment segment : segments) {
            bytes += segment.end();
        }
        return bytes;
    }

    /** Adds the next entry. It is safe only after {@link #flush}. */
    void append(LogEntry entry) throws IOException {
        int recordBytes = LogSegment.RECORD_HEADER_BYTES + entry.body().length;
        if (entry.index() != lastIndex() + 1) {
            throw new IllegalArgumentException("entry " + entry.index() + " after " + lastIndex());
        }
        if (last().count() > 0 && last().end() + recordBytes > segmentBytes) {
            roll();
        } else if (recordBytes > buffer.remaining()) {
            writeBuffer();
        }
        // Before anybody can look for it in the file.
        cache(entry);
        if (recordBytes <= buffer.remaining()) {
            LogSegment.encode(buffer, entry, synced);
            last().added(entry.term(), recordBytes);
        } else {
            ByteBuffer large = ByteBuffer.allocate(recordBytes);
            LogSegment.encode(large, entry, synced);
            last().file.write(large.flip(), last().end());
            last().added(entry.term(), recordBytes);
            unwrittenFrom = entry.index() + 1;
        }
    }

    private void cache(LogEntry entry) throws IOException {
        if (entry.index() - cacheFrom >= CACHE_SLOTS && cacheFrom >= unwrittenFrom) {
            writeBuffer();
        }
        while (cacheFrom < unwrittenFrom && cacheFrom < entry.index()
                && (cacheBytes + entry.body().length > cacheBytesLimit || entry.index() - cacheFrom >= CACHE_SLOTS)) {
            forget(slot(cacheFrom), cacheFrom);
            cacheFrom++;
        }
        cache.set(slot(entry.index()), entry);
        cacheBytes += entry.body().length;
    }

    /** Forgets what a slot of the cache holds if it is an entry from this index on. */
    private void forget(int slot, long fromIndex) {
        LogEntry entry = cache.get(slot);
        if (entry != null && entry.index() >= fromIndex) {
            cacheBytes -= entry.body().length;
            cache.set(slot, null);
        }
    }

    private static int slot(long index) {
        return (int) (index & CACHE_SLOTS - 1);
    }

    private void writeBuffer() throws IOException {
        if (buffer.position() > 0) {
            long offset = last().end() - buffer.position();
            buffer.flip();
            last().file.write(buffer, offset);
            buffer.clear();
        }
        unwrittenFrom = lastIndex() + 1;
    }

    /** Returns when everything appended is on disk. After a failure nothing is known of what was appended since. */
    void flush() throws IOException {
        writeBuffer();
        LogSegment segment = last();
        if (synced < segment.end()) {
            segment.force();
            synced = segment.end();
        }
    }

    private void roll() throws IOException {
        flush();
        LogSegment next = create(lastIndex() + 1);
        segments = with(segments, next);
        synced = next.end();
        prepareSpare();
    }

    /** Makes a file, under another name until its header is safe. */
    private LogSegment create(long firstIndex) throws IOException {
        String name = String.format("%020d%s", firstIndex, SUFFIX);
        String begun = SPARE;
        DataFile file = takeSpare();
        if (file == null) {
            begun = name + DurableFiles.ASIDE;
            file = directory.open(begun, Directory.Open.EMPTY);
        }
        LogSegment segment = new LogSegment(name, directory.location(name), file, firstIndex);
        try {
            LogSegment.writeHeader(file, firstIndex);
            segment.forceWithSize();
            directory.move(begun, name);
            directory.sync();
        } catch (IOException | RuntimeException e) {
            file.close();
            throw e;
        }
        return segment;
    }

    /** The file that was prepared, or null if it is not ready: the log does not wait for it. */
    private @Nullable DataFile takeSpare() throws IOException {
        SpareFile prepared = spare;
        if (prepared == null || !prepared.isReady()) {
            return null;
        }
        spare = null;
        return prepared.take();
    }

    private void prepareSpare() {
        if (spare == null) {
            spare = new SpareFile(machine, directory, SPARE, segmentBytes);
        }
    }

    /** An entry that is held, from memory or from disk. Any thread. */
    LogEntry read(long index) throws IOException {
        LogEntry cached = cache.get(slot(index));
        // What is not in memory any more had been written before.
        return cached != null && cached.index() == index ? cached : segmentOf(index).read(index);
    }

    private LogSegment segmentOf(long index) {
        List<LogSegment> present = segments;
        for (int i = present.size() - 1; i >= 0; i--) {
            if (index >= present.get(i).firstIndex) {
                return present.get(i);
            }
        }
        throw new IllegalArgumentException(
                "entry " + index + " is no longer held, the first is " + present.getFirst().firstIndex);
    }

    /** Removes the entry at {@code index} and all after it. On disk when it returns. */
    void truncateFrom(long index) throws IOException {
        writeBuffer();
        while (segments.size() > 1 && last().firstIndex >= index) {
            LogSegment dropped = last();
            segments = segments.subList(0, segments.size() - 1);
            remove(dropped);
        }
        LogSegment last = last();
        if (index <= last.lastIndex()) {
            last.forgetFrom(index);
        }
        // Cuts the prepared zeros off too: nothing of what was removed may be read again.
        last.file.truncate(last.end());
        last.forceWithSize();
        synced = last.end();
        for (int i = 0; i < CACHE_SLOTS; i++) {
            forget(i, index);
        }
        unwrittenFrom = last.lastIndex() + 1;
        cacheFrom = Math.min(cacheFrom, unwrittenFrom);
    }

    /** Removes files that hold only entries up to {@code index}; the newest file stays. */
    void truncateUntil(long index) throws IOException {
        while (segments.size() > 1 && segments.getFirst().lastIndex() <= index) {
            LogSegment dropped = segments.getFirst();
            segments = segments.subList(1, segments.size());
            remove(dropped);
        }
    }

    private void remove(LogSegment dropped) throws IOException {
        dropped.file.close();
        directory.delete(dropped.name);
        directory.sync();
    }

    /** Closes the files without flushing: what was not flushed was not promised. */
    @Override
    public void close() throws IOException {
        if (closed) {
            return;
        }
        closed = true;
        IOException failure = null;
        for (LogSegment segment : segments) {
            try {
                segment.file.close();
            } catch (IOException e) {
                failure = e;
            }
        }
        if (spare != null) {
            spare.close();
        }
        if (failure != null) {
            throw failure;
        }
    }
}
