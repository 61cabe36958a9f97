package tutti.sim.disk;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * A log of records in a file: what survives a crash is a prefix of what was appended, at least all that was synced. Each
 * record takes its bytes in the file, filled with a pattern that belongs to it, so that the simulated disk decides what is
 * lost and torn; the records themselves are kept as objects, which nobody may modify. Syncs are grouped: one is under way at
 * a time, and the next takes all that was appended meanwhile.
 *
 * @param <T> records
 */
public final class Journal<T> {
    private static final long PATTERN = 0x9E3779B97F4A7C15L;

    private final Disk disk;
    private final String name;
    /** As found when it was opened last: a disk may be lost, or put back from a copy. */
    private DiskFile file;
    private final List<Entry<T>> entries = new ArrayList<>();
    private ArrayDeque<Runnable> waiting = new ArrayDeque<>();
    private boolean syncing;
    private long serial;
    /** Serial of the last record that is known to be durable. */
    private long durable;
    /** Counts recoveries: what was asked for before one means nothing after it. */
    private long life;

    private record Entry<T>(long serial, int bytes, T record) {}

    /** In the file of this name, which nobody else writes. */
    public Journal(Disk disk, String name) {
        this.disk = disk;
        this.name = name;
        file = disk.file(name);
    }

    /**
     * Appends a record.
     *
     * @param bytes that it takes, at least 1; rounded up to a multiple of 8
     */
    public void append(T record, int bytes) {
        Entry<T> entry = new Entry<>(++serial, (bytes + Long.BYTES - 1) / Long.BYTES * Long.BYTES, record);
        ByteBuffer content = ByteBuffer.allocate(entry.bytes);
        while (content.hasRemaining()) {
            content.putLong(pattern(entry.serial, content.position()));
        }
        file.append(content.array());
        entries.add(entry);
    }

    private static long pattern(long serial, int offset) {
        return (serial * PATTERN ^ offset) * PATTERN | 1;
    }

    /** Makes all that was appended durable, and then does something as an event of the host. */
    public void sync(Runnable done) {
        waiting.add(done);
        if (!syncing) {
            write();
        }
    }

    private void write() {
        syncing = true;
        ArrayDeque<Runnable> served = waiting;
        waiting = new ArrayDeque<>();
        long upTo = serial;
        long ofLife = life;
        file.sync(() -> {
            if (ofLife != life) {
                return;
            }
            durable = Math.max(durable, upTo);
            syncing = false;
            if (!waiting.isEmpty()) {
                write();
            }
            served.forEach(Runnable::run);
        });
    }

    /** Nothing is in it any more: whoever keeps it begins with something else. */
    public void clear() {
        life++;
        syncing = false;
        waiting.clear();
        entries.clear();
        durable = 0;
        file = disk.file(name);
        file.truncate(0);
    }

    /** After a crash, before anything else: forgets what did not survive, and answers what did, oldest first. */
    public List<T> recover() {
        life++;
        syncing = false;
        waiting.clear();
        file = disk.file(name);
        byte[] content = file.read(0, file.size());
        ByteBuffer bytes = ByteBuffer.wrap(content);
        int survived = 0;
        while (survived < entries.size() && isWhole(entries.get(survived), bytes)) {
            survived++;
        }
        entries.subList(survived, entries.size()).clear();
        int size = entries.stream().mapToInt(Entry::bytes).sum();
        if (size != file.size()) {
            file.truncate(size);
        }
        durable = entries.isEmpty() ? 0 : entries.getLast().serial;
        List<T> records = new ArrayList<>(survived);
        entries.forEach(entry -> records.add(entry.record));
        // Of a process that was killed, what it wrote is there and not safe; it is told to be from now on.
        file.settleAll();
        return records;
    }

    private static <T> boolean isWhole(Entry<T> entry, ByteBuffer bytes) {
        if (bytes.remaining() < entry.bytes) {
            return false;
        }
        boolean whole = true;
        for (int offset = 0; offset < entry.bytes; offset += Long.BYTES) {
            whole &= bytes.getLong() == pattern(entry.serial, offset);
        }
        return whole;
    }
}
