package tutti.order.raft;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.DecodeException;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.runtime.DamagedFileException;
import tutti.runtime.DataFile;

/**
 * One file of the {@link SegmentedLog}: a header, then records one after the other, then zeros up to the end of the file.
 *
 * <pre>
 * header: magic 8 | {@link Header} | CRC32C of both 4
 * record: CRC32C of the record 4 | {@link LogRecord}
 * </pre>
 *
 * The header says in which version the file is written. {@code synced} is how many bytes of this file were known to be on disk when the record was written. It tells damage
 * from a crash: bytes below the {@code synced} of any readable record were once safe, so if they cannot be read now the
 * disk has lost them; bytes above may simply never have arrived.
 *
 * <p>
 * Threads: one writer; {@link #read} from any thread, of entries that were there when it learned of them.
 */
final class LogSegment {
    /** With what a file begins. */
    record Header(long firstIndex) implements Encoded {
        static final Schema<Header> SCHEMA = Schema
                .message("segment", 1, Header.class, "Beginning of a file of the log.")
                .of(Field.of("firstIndex", Types.POSITIVE, Header::firstIndex), Header::new);
    }

    /**
     * An entry as it lies in the file.
     *
     * @param body a view of what was read
     */
    record LogRecord(long index, int term, long synced, int kind, ByteBuffer body) {
        static final Schema<LogRecord> SCHEMA = Schema.part("log record", LogRecord.class).of(
                Field.of("index", Types.POSITIVE, LogRecord::index), Field.of("term", Types.COUNT, LogRecord::term),
                Field.of("synced", Types.NATURAL, LogRecord::synced),
                Field.of("kind", Types.u8(0, 127), LogRecord::kind),
                Field.of("body", Types.view(Types.BYTES_MAX), LogRecord::body), LogRecord::new);
    }

    /** Beginnings of files. */
    static final MessageSet<Header> SET = new MessageSet<>("log segments",
            "In the files of the Raft log: eight bytes `TUTTILOG`, this message, and a CRC-32C of both, of 4 bytes. Then"
                    + " records in the same version, each behind its CRC-32C of 4 bytes: index of 8 bytes, term of 4, how many"
                    + " bytes of the file were on disk of 8, kind of 1, and the entry behind its length of 4.",
            List.of(Header.SCHEMA));

    private static final long MAGIC = 0x5455_5454_494c_4f47L; // "TUTTILOG"
    private static final int CRC_BYTES = Integer.BYTES;
    private static final int BEGINNING_BYTES = Long.BYTES + new Header(1).encodedSize();
    static final int HEADER_BYTES = BEGINNING_BYTES + CRC_BYTES;
    static final int RECORD_HEADER_BYTES = CRC_BYTES
            + LogRecord.SCHEMA.size(new LogRecord(1, 0, 0, 0, ByteBuffer.allocate(0)));
    private static final int INDEX_AT = CRC_BYTES + LogRecord.SCHEMA.offset("index");
    private static final int SYNCED_AT = CRC_BYTES + LogRecord.SCHEMA.offset("synced");

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
    /** What lies before was safe when the last record that was read back was written; of the writer. */
    private long safeBefore = HEADER_BYTES;
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
        // First: offsets of later are as many at least, those of before perhaps not.
        int now = count;
        return offsets[now];
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

    /**
     * Makes safe what was read back: what a killed process wrote may still be in the operating system only. It is written once
     * more: after a force that fails a system takes for written what is not, and its next force would say that all is safe.
     */
    void makeSafe() throws IOException {
        ByteBuffer unsure = ByteBuffer.allocate(Math.toIntExact(Math.max(0, end() - safeBefore)));
        if (file.read(unsure, safeBefore) < unsure.capacity()) {
            throw new DamagedFileException(location + " ends before byte " + end());
        }
        file.write(unsure.flip(), safeBefore);
        forceWithSize();
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
        ByteBuffer header = ByteBuffer.allocate(HEADER_BYTES).putLong(MAGIC);
        new Header(firstIndex).encode(header);
        header.putInt(crc(header.duplicate().flip()));
        file.write(header.flip(), 0);
    }

    /** Appends a record to a buffer that has room for it. */
    static void encode(ByteBuffer to, LogEntry entry, long synced) {
        int start = to.position();
        LogRecord.SCHEMA.write(
                new LogRecord(entry.index(), entry.term(), synced, entry.kind(), ByteBuffer.wrap(entry.body())),
                to.putInt(0));
        to.putInt(start, crc(to.slice(start + CRC_BYTES, to.position() - start - CRC_BYTES)));
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
        if (in.limit() - at < RECORD_HEADER_BYTES || in.getLong(at + INDEX_AT) <= 0) {
            return null;
        }
        ByteBuffer from = in.duplicate().position(at + CRC_BYTES);
        LogRecord record;
        try {
            record = LogRecord.SCHEMA.read(from);
        } catch (DecodeException torn) {
            return null;
        }
        if (in.getInt(at) != crc(in.slice(at + CRC_BYTES, from.position() - at - CRC_BYTES))) {
            return null;
        }
        byte[] body = new byte[record.body().remaining()];
        record.body().get(body);
        return new LogEntry(record.index(), record.term(), (byte) record.kind(), body);
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
        checkHeader(content);
        int at = HEADER_BYTES;
        for (LogEntry entry = decode(content, at); entry != null; entry = decode(content, at)) {
            if (entry.index() != lastIndex() + 1) {
                throw new DamagedFileException(
                        location + " has entry " + entry.index() + " where " + (lastIndex() + 1) + " belongs");
            }
            safeBefore = Math.max(safeBefore, content.getLong(at + SYNCED_AT));
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

    private void checkHeader(ByteBuffer content) throws IOException {
        if (content.limit() < HEADER_BYTES || content.getLong(0) != MAGIC
                || content.getInt(BEGINNING_BYTES) != crc(content.slice(0, BEGINNING_BYTES))) {
            throw new DamagedFileException(location + " does not begin with the header of a log segment");
        }
        long first;
        try {
            first = SET.decode(content.slice(Long.BYTES, BEGINNING_BYTES - Long.BYTES)).firstIndex();
        } catch (DecodeException foreign) {
            throw new IOException(location + " cannot be used: " + foreign.getMessage(), foreign);
        }
        if (first != firstIndex) {
            throw new DamagedFileException(location + " begins with entry " + first + " and not with " + firstIndex);
        }
    }

    /** Whether some readable record after the damage says that the damaged place had been on disk before it. */
    private boolean wasSynced(ByteBuffer content, int damaged) {
        long expected = lastIndex() + 1;
        for (int at = damaged + 1; at <= content.limit() - RECORD_HEADER_BYTES; at++) {
            long index = content.getLong(at + INDEX_AT);
            long synced = content.getLong(at + SYNCED_AT);
            if (index > expected && index - expected <= content.limit() && synced > damaged && synced <= at
                    && decode(content, at) != null) {
                return true;
            }
        }
        return false;
    }
}
