package tutti.order.raft;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

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
 */
final class LogSegment {
    static final int HEADER_BYTES = 20;
    static final int RECORD_HEADER_BYTES = 29;
    private static final long MAGIC = 0x5455_5454_494c_4f31L; // "TUTTILO1"

    final Path path;
    final FileChannel channel;
    final long firstIndex;
    private long[] offsets = new long[256];
    private int[] terms = new int[256];
    private int count;
    /** Where the next record goes; what lies in the writer's buffer counts. */
    long end = HEADER_BYTES;

    LogSegment(Path path, FileChannel channel, long firstIndex) {
        this.path = path;
        this.channel = channel;
        this.firstIndex = firstIndex;
    }

    long lastIndex() {
        return firstIndex + count - 1;
    }

    int count() {
        return count;
    }

    long offset(long index) {
        return offsets[slot(index)];
    }

    int term(long index) {
        return terms[slot(index)];
    }

    private int slot(long index) {
        if (index < firstIndex || index > lastIndex()) {
            throw new IllegalArgumentException("entry " + index + " is not in " + path);
        }
        return (int) (index - firstIndex);
    }

    /** Notes a record that is, or is about to be, at the end of the file. */
    void added(int term, int recordBytes) {
        if (count == offsets.length) {
            offsets = Arrays.copyOf(offsets, count * 2);
            terms = Arrays.copyOf(terms, count * 2);
        }
        offsets[count] = end;
        terms[count] = term;
        count++;
        end += recordBytes;
    }

    /** Forgets the record at {@code index} and all after it, in memory only. */
    void forgetFrom(long index) {
        int keep = slot(index);
        end = offsets[keep];
        count = keep;
    }

    static void writeHeader(FileChannel channel, long firstIndex) throws IOException {
        ByteBuffer header = ByteBuffer.allocate(HEADER_BYTES);
        header.putLong(MAGIC).putLong(firstIndex);
        header.putInt(crc(header.duplicate().flip()));
        writeFully(channel, header.flip(), 0);
    }

    static void writeFully(FileChannel channel, ByteBuffer bytes, long offset) throws IOException {
        while (bytes.hasRemaining()) {
            offset += channel.write(bytes, offset);
        }
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
    LogEntry read(long index, long offset, int recordBytes) throws IOException {
        ByteBuffer record = ByteBuffer.allocate(recordBytes);
        long at = offset;
        while (record.hasRemaining()) {
            int n = channel.read(record, at);
            if (n < 0) {
                throw new DamagedLogException(path + " ends inside entry " + index);
            }
            at += n;
        }
        LogEntry entry = decode(record.flip(), 0);
        if (entry == null || entry.index() != index) {
            throw new DamagedLogException(path + " has a bad checksum at byte " + offset + ", in entry " + index);
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
        ByteBuffer file = ByteBuffer.allocate(Math.toIntExact(channel.size()));
        for (long at = 0; file.hasRemaining();) {
            int n = channel.read(file, at);
            if (n < 0) {
                break;
            }
            at += n;
        }
        file.flip();
        if (file.limit() < HEADER_BYTES || file.getLong(0) != MAGIC || file.getLong(8) != firstIndex
                || file.getInt(16) != crc(file.slice(0, 16))) {
            throw new DamagedLogException(path + " does not begin with the header of a log segment");
        }
        int at = HEADER_BYTES;
        for (LogEntry entry = decode(file, at); entry != null; entry = decode(file, at)) {
            if (entry.index() != lastIndex() + 1) {
                throw new DamagedLogException(
                        path + " has entry " + entry.index() + " where " + (lastIndex() + 1) + " belongs");
            }
            int recordBytes = RECORD_HEADER_BYTES + entry.body().length;
            added(entry.term(), recordBytes);
            at += recordBytes;
        }
        int garbage = file.limit();
        while (garbage > at && file.get(garbage - 1) == 0) {
            garbage--;
        }
        if (garbage == at) {
            return 0;
        }
        if (!last || wasSynced(file, at)) {
            throw new DamagedLogException(path + " is damaged at byte " + at + ", in entry " + (lastIndex() + 1)
                    + " which had been safely on disk");
        }
        return (long) garbage - at;
    }

    /** Whether some readable record after the damage says that the damaged place had been on disk before it. */
    private boolean wasSynced(ByteBuffer file, int damaged) {
        long expected = lastIndex() + 1;
        for (int at = damaged + 1; at <= file.limit() - RECORD_HEADER_BYTES; at++) {
            long index = file.getLong(at + 8);
            long synced = file.getLong(at + 20);
            if (index > expected && index - expected <= file.limit() && synced > damaged && synced <= at
                    && decode(file, at) != null) {
                return true;
            }
        }
        return false;
    }
}
