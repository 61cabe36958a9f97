package tutti.order.raft;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import tutti.runtime.DamagedFileException;
import tutti.runtime.DataFile;

/**
 * One file of the {@link SegmentedLog}: a header, then records one after the other, then zeros up to the end of the file.
 *
 * <pre>
 * header: magic 8 | index of the first record 8 | CRC32C of both 4
 * record: body length 4 | CRC32C of all other bytes of the record 4 | index 8 | term 4 | synced 8 | kind 1 | body
 * </pre>
 *
 * {@code synced} is how many bytes of this file were known to be on disk when the record was written. It tells damage
 * from a crash: bytes below the {@code synced} of any readable record were once safe, so if they cannot be read now the
 * disk has lost them; bytes above may simply never have arrived.
 *
 * <p>
 * Threads: one writer; {@link #read} from any thread, of entries that were there when it learned of them.
 */
final class LogSegment {
    static final int HEADER_BYTES = 20;
    static final int RECORD_HEADER_BYTES = 29;
    private static final long MAGIC = 0x5455_5454_494c_4f31L; // "TUTTILO1"

    /** Name of the file. */
    final String name;
    final DataFile file;
    final long firstIndex;
    /** Where the file is, for people. */
    private final String location;
    /** Where each record begins, and behind the last one where it ends. Replaced when it becomes too small. */
    private volatile long[] offsets = new long[256];
    private int[] terms = new int[256];
    private volatile int count;
    /** Size of the file that is safe; of the writer. */
    private long safeSize;

    /** With no records yet. */
    LogSegment(String name, String location, DataFile file, long firstIndex) {
        this.name = name;
        this.location = location;
        this.file = file;
        this.firstIndex = firstIndex;
        offsets[0] = HEADER_BYTES;
    }

    /** Where the next record goes; what lies in the writer's buffer counts. */
    long end() {
        return offsets[count];
    }

    long lastIndex() {
        return firstIndex + count - 1;
    }

    int count() {
        return count;
    }

    /** Makes safe what was written, up to the end, and the size of the file if it has grown. */
    void force() throws IOException {
        boolean grown = end() > safeSize;
        file.force(grown);
        if (grown) {
            safeSize = end();
        }
    }

    /** Makes safe what was written and the file's size. */
    void forceWithSize() throws IOException {
        file.force(true);
        safeSize = file.size();
    }

    int term(long index) {
        return terms[slot(index)];
    }

    private int slot(long index) {
        if (index < firstIndex || index > lastIndex()) {
            throw new IllegalArgumentException("entry " + index + " is not in " + location);
        }
        return (int) (index - firstIndex);
    }

    /** Notes a record that is, or is about to be, at the end of the file. */
    void added(int term, int recordBytes) {
        int slot = count;
        if (slot + 1 == offsets.length) {
            offsets = Arrays.copyOf(offsets, offsets.length * 2);
            terms = Arrays.copyOf(terms, terms.length * 2);
        }
        offsets[slot + 1] = offsets[slot] + recordBytes;
        terms[slot] = term;
        // Last: a reader that sees the record sees all of this.
        count = slot + 1;
    }

    /** Forgets the record at {@code index} and all after it, in memory only. */
    void forgetFrom(long index) {
        count = slot(index);
    }

    static void writeHeader(DataFile file, long firstIndex) throws IOException {
        ByteBuffer header = ByteBuffer.allocate(HEADER_BYTES);
        header.putLong(MAGIC).putLong(firstIndex);
        header.putInt(crc(header.duplicate().flip()));
        file.write(header.flip(), 0);
    }

    /** Appends a record to a buffer that has room for it. */
    static void encode(ByteBuffer to, LogEntry entry, long synced) {
        int start = to.position();
        to.putInt(entry.body().length).putInt(0).putLong(entry.index()).putInt(entry.term()).putLong(synced);
        to.put(entry.kind()).put(entry.body());
        to.putInt(start + 4, recordCrc(to.slice(start, to.position() - start)));
    }

    private static int recordCrc(ByteBuffer record) {
        CRC32C crc = new CRC32C();
        crc.update(record.slice(0, 4));
        crc.update(record.slice(8, record.limit() - 8));
        return (int) crc.getValue();
    }

    private static int crc(ByteBuffer bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes);
        return (int) crc.getValue();
    }

    /** Reads a record back and checks it. Any thread. */
    LogEntry read(long index) throws IOException {
        int slot = slot(index);
        long offset = offsets[slot];
        ByteBuffer record = ByteBuffer.allocate(Math.toIntExact(offsets[slot + 1] - offset));
        if (file.read(record, offset) < record.capacity()) {
            throw new DamagedFileException(location + " ends inside entry " + index);
        }
        LogEntry entry = decode(record.flip(), 0);
        if (entry == null || entry.index() != index) {
            throw new DamagedFileException(location + " has a bad checksum at byte " + offset + ", in entry " + index);
        }
        return entry;
    }

    /** The record at this place of a buffer, or null if there is no whole and undamaged one. */
    static @Nullable LogEntry decode(ByteBuffer in, int at) {
        if (in.limit() - at < RECORD_HEADER_BYTES) {
            return null;
        }
        int length = in.getInt(at);
        if (length < 0 || length > in.limit() - at - RECORD_HEADER_BYTES || in.getLong(at + 8) <= 0) {
            return null;
        }
        int recordBytes = RECORD_HEADER_BYTES + length;
        if (in.getInt(at + 4) != recordCrc(in.slice(at, recordBytes))) {
            return null;
        }
        byte[] body = new byte[length];
        in.get(at + RECORD_HEADER_BYTES, body);
        return new LogEntry(in.getLong(at + 8), in.getInt(at + 16), in.get(at + 28), body);
    }

    /**
     * Reads the file from the beginning and learns where its records are.
     *
     * @param last whether this is the newest segment, whose end may be torn
     * @return bytes of a torn tail that were never acknowledged and must be cut off, 0 if there are none
     */
    long scan(boolean last) throws IOException {
        ByteBuffer content = ByteBuffer.allocate(Math.toIntExact(file.size()));
        file.read(content, 0);
        content.flip();
        if (content.limit() < HEADER_BYTES || content.getLong(0) != MAGIC || content.getLong(8) != firstIndex
                || content.getInt(16) != crc(content.slice(0, 16))) {
            throw new DamagedFileException(location + " does not begin with the header of a log segment");
        }
        int at = HEADER_BYTES;
        for (LogEntry entry = decode(content, at); entry != null; entry = decode(content, at)) {
            if (entry.index() != lastIndex() + 1) {
                throw new DamagedFileException(
                        location + " has entry " + entry.index() + " where " + (lastIndex() + 1) + " belongs");
            }
            int recordBytes = RECORD_HEADER_BYTES + entry.body().length;
            added(entry.term(), recordBytes);
            at += recordBytes;
        }
        int garbage = content.limit();
        while (garbage > at && content.get(garbage - 1) == 0) {
            garbage--;
        }
        if (garbage == at) {
            return 0;
        }
        if (!last || wasSynced(content, at)) {
            throw new DamagedFileException(location + " is damaged at byte " + at + ", in entry " + (lastIndex() + 1)
                    + " which had been safely on disk");
        }
        return (long) garbage - at;
    }

    /** Whether some readable record after the damage says that the damaged place had been on disk before it. */
    private boolean wasSynced(ByteBuffer content, int damaged) {
        long expected = lastIndex() + 1;
        for (int at = damaged + 1; at <= content.limit() - RECORD_HEADER_BYTES; at++) {
            long index = content.getLong(at + 8);
            long synced = content.getLong(at + 20);
            if (index > expected && index - expected <= content.limit() && synced > damaged && synced <= at
                    && decode(content, at) != null) {
                return true;
            }
        }
        return false;
    }
}
