package tutti.sim.disk;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.sim.kernel.RandomStream;

/**
 * A file on a simulated disk. Writing changes what is read at once and costs no time; what makes it durable costs a request
 * of the disk. At most 2^30 bytes.
 *
 * <p>
 * <b>What is safe.</b> The file holds what is read, and with each operation that is not safe yet what was there before it.
 * A force says up to which operation it goes and when it has ended; those operations are safe then, and what they replaced
 * is forgotten. A crash takes back all operations that are not safe, latest first, which leaves the safe state, and then
 * applies again what survives. Operations carry the instant at which they happen, since code that runs in an event
 * uses files at later instants than that of the event: those behind the crash never happened.
 *
 * <p>
 * <b>What the medium does behind everybody's back.</b> A sector whose write was lost, or onto which another write went, holds
 * something else than what the system remembers of it, which is what is read until a crash makes the system forget.
 */
public final class DiskFile {
    private final Disk disk;
    private String name;
    private final Content content = new Content();
    private final Deque<Operation> unsynced = new ArrayDeque<>();
    private final Deque<Force> forces = new ArrayDeque<>();
    /** By sector: what the medium holds, where that is not what is read. */
    private final TreeMap<Integer, byte[]> medium = new TreeMap<>();
    private final TreeSet<Integer> unreadable = new TreeSet<>();
    private long operations;
    private long unsyncedBytes;

    private enum Fate {
        UNDECIDED,
        WRITTEN,
        LOST,
        MISDIRECTED
    }

    /** A write of bytes, or a change of the size. */
    private static final class Operation {
        private final long number;
        private final long at;
        private final int oldSize;
        private final int newSize;
        private final int offset;
        /** Of a write; 0 of a change of the size. */
        private final int length;
        /** What was there from the offset on; zeros where it ends early. */
        private final byte[] before;
        private Fate fate = Fate.UNDECIDED;
        /** Of one that is misdirected: chooses where it goes. */
        private @Nullable RandomStream stray;
        /** While a crash is being worked out: what it had made of it. */
        private byte[] after = {};

        Operation(long number, long at, int oldSize, int newSize, int offset, int length, byte[] before) {
            this.number = number;
            this.at = at;
            this.oldSize = oldSize;
            this.newSize = newSize;
            this.offset = offset;
            this.length = length;
            this.before = before;
        }
    }

    /** Makes the operations up to one safe at an instant; without {@code size} those of them that change the size remain. */
    private record Force(long upTo, long at, boolean size) {}

    DiskFile(Disk disk, String name) {
        this.disk = disk;
        this.name = name;
    }

    /** Its present name. */
    public String name() {
        return name;
    }

    void rename(String to) {
        name = to;
    }

    /** Its size in bytes, what is not synced included. */
    public int size() {
        return content.size();
    }

    /** Bytes that would be written by a sync now. */
    public long unsyncedBytes() {
        return unsyncedBytes;
    }

    /** Bytes that are read there; the range must lie in the file. */
    public byte[] read(int offset, int length) {
        if (offset < 0 || length < 0 || offset > content.size() - length) {
            throw new IllegalArgumentException(
                    "bytes " + offset + " to " + ((long) offset + length) + " of file " + name
                            + ", which has " + content.size());
        }
        return content.copy(offset, offset + length);
    }

    /**
     * Reads until the buffer is full or the file ends; returns how many bytes.
     *
     * @throws IOException if a sector cannot be read
     */
    public int read(ByteBuffer into, long at) throws IOException {
        int length = (int) Math.min(into.remaining(), Math.max(0, content.size() - at));
        if (length > 0) {
            Integer bad = unreadable.ceiling((int) (at / disk.sectorBytes()));
            if (bad != null && (long) bad * disk.sectorBytes() < at + length) {
                throw new IOException("Input/output error: sector " + bad + " of " + name + " cannot be read");
            }
            content.read((int) at, into, length);
        }
        return length;
    }

    /** Writes a copy of bytes; zeros fill what lies between the end and the offset. */
    public void write(int offset, byte[] bytes) {
        if (offset < 0 || offset > Content.SIZE_MAX - bytes.length) {
            throw new IllegalArgumentException(bytes.length + " bytes at " + offset + " of file " + name
                    + ": a file has at most " + Content.SIZE_MAX);
        }
        put(disk.now(), offset, bytes, 0, bytes.length);
    }

    /** Writes behind the end. */
    public void append(byte[] bytes) {
        write(content.size(), bytes);
    }

    /** Cuts the file off, or fills it up with zeros. */
    public void truncate(int size) {
        if (size < 0 || size > Content.SIZE_MAX) {
            throw new IllegalArgumentException("a file of " + size + " bytes");
        }
        resize(disk.now(), size);
    }

    /**
     * Writes a copy of bytes at an instant, now or later, as a system call does.
     *
     * @param offset at least 0
     * @throws IOException if the file would become too large, or the disk is full; a part may have been written
     */
    public void write(long atNanos, long offset, byte[] bytes, int start, int length) throws IOException {
        if (offset > Content.SIZE_MAX - length) {
            throw new IOException("File too large: " + length + " bytes at " + offset + " of " + name);
        }
        int room = offset + length > content.size() ? disk.room(length) : length;
        put(atNanos, (int) offset, bytes, start, room);
        if (room < length) {
            throw new IOException("No space left on device, writing " + name);
        }
    }

    private void put(long atNanos, int offset, byte[] bytes, int start, int length) {
        if (length == 0) {
            return;
        }
        settle();
        int oldSize = content.size();
        byte[] before = content.copy(Math.min(offset, oldSize), offset + length);
        content.write(offset, bytes, start, length);
        unsynced.add(new Operation(++operations, atNanos, oldSize, content.size(), offset, length, before));
        unsyncedBytes += length;
        int sector = disk.sectorBytes();
        if (!unreadable.isEmpty()) {
            // A sector that is written anew gets another place on the medium.
            unreadable.subSet((offset + sector - 1) / sector, Math.max((offset + sector - 1) / sector,
                    (offset + length) / sector)).clear();
        }
    }

    /** Changes the size at an instant, now or later. */
    public void resize(long atNanos, int size) {
        settle();
        int oldSize = content.size();
        if (size == oldSize) {
            return;
        }
        byte[] before = size < oldSize ? content.tail(size) : new byte[0];
        content.resize(size);
        unsynced.add(new Operation(++operations, atNanos, oldSize, size, Math.min(size, oldSize), 0, before));
    }

    /** Makes everything written before durable, and then does something, as an event of the host. */
    public void sync(Runnable done) {
        forced(disk.request(unsyncedBytes, done), true);
    }

    /**
     * Makes everything written before durable at an instant, at which a request of the disk ends that was made for that.
     *
     * @param size whether its size too
     * @throws IOException if the disk says that it could not; then what was written is in doubt, and no later force helps it
     */
    public void force(long atNanos, boolean size) throws IOException {
        RandomStream failure = disk.happens(DiskFault.Effect.FAIL_FORCE);
        if (failure != null) {
            for (Operation operation : unsynced) {
                if (operation.fate == Fate.UNDECIDED) {
                    operation.fate = failure.chance(0.5) ? Fate.LOST : Fate.WRITTEN;
                }
            }
            throw new IOException("Input/output error, forcing " + name);
        }
        if (disk.happens(DiskFault.Effect.LIE) != null) {
            return;
        }
        forced(atNanos, size);
    }

    private void forced(long atNanos, boolean size) {
        if (disk.hasFaults()) {
            unsynced.forEach(this::decide);
        }
        unsyncedBytes = 0;
        if (!unsynced.isEmpty()) {
            forces.add(new Force(operations, atNanos, size));
        }
    }

    private void decide(Operation operation) {
        if (operation.fate == Fate.UNDECIDED && operation.length > 0) {
            operation.stray = disk.happens(DiskFault.Effect.MISDIRECT);
            operation.fate = operation.stray != null
                    ? Fate.MISDIRECTED
                    : disk.happens(DiskFault.Effect.LOSE) != null ? Fate.LOST : Fate.WRITTEN;
        }
    }

    /** Makes everything written before safe at once. */
    void settleAll() {
        forced(disk.now(), true);
        settle();
    }

    /** Forgets what was there before operations that are safe by now. */
    private void settle() {
        while (!forces.isEmpty()) {
            Force due = null;
            for (Force force : forces) {
                if (force.at <= disk.now() && (due == null || force.upTo < due.upTo)) {
                    due = force;
                }
            }
            if (due == null) {
                return;
            }
            settle(due);
            forces.remove(due);
        }
    }

    private void settle(Force force) {
        List<Operation> sizes = new ArrayList<>();
        while (!unsynced.isEmpty() && unsynced.element().number <= force.upTo) {
            Operation operation = unsynced.remove();
            if (operation.length > 0) {
                settle(operation);
            }
            if (!force.size && operation.newSize != operation.oldSize) {
                sizes.add(operation.length == 0
                        ? operation
                        : new Operation(operation.number, operation.at, operation.oldSize, operation.newSize,
                                operation.oldSize, 0, new byte[0]));
            }
        }
        for (Operation operation : sizes.reversed()) {
            unsynced.addFirst(operation);
        }
    }

    private void settle(Operation operation) {
        int size = disk.sectorBytes();
        int last = (operation.offset + operation.length - 1) / size;
        if (operation.fate == Fate.LOST || operation.fate == Fate.MISDIRECTED) {
            if (operation.stray != null) {
                disk.misdirect(content.copy(operation.offset / size * size, (last + 1) * size), operation.stray);
            }
            for (int sector = operation.offset / size; sector <= last; sector++) {
                medium.putIfAbsent(sector, sectorBefore(operation, sector));
            }
        } else if (!medium.isEmpty()) {
            medium.subMap(operation.offset / size, last + 1).clear();
        }
    }

    private byte[] sectorBefore(Operation operation, int sector) {
        int size = disk.sectorBytes();
        int start = sector * size;
        byte[] old = Arrays.copyOf(content.copy(start, start + size), size);
        for (int i = 0; i < size; i++) {
            int at = start + i - operation.offset;
            if (at >= 0 && at < operation.length) {
                old[i] = at < operation.before.length ? operation.before[at] : 0;
            }
        }
        return old;
    }

    /** A write that was meant for elsewhere goes onto these sectors, from one that lies in the file. */
    void overwrite(int sector, byte[] bytes) {
        int size = disk.sectorBytes();
        for (int i = 0; i * size < bytes.length && (sector + i) * size < content.size(); i++) {
            medium.put(sector + i, Arrays.copyOf(Arrays.copyOfRange(bytes, i * size, bytes.length), size));
        }
    }

    /** A bit changes by itself. */
    void flip(int at, int bit) {
        byte[] changed = content.copy(at, at + 1);
        changed[0] ^= (byte) (1 << bit);
        content.write(at, changed, 0, 1);
    }

    /** A sector cannot be read until it is written anew. */
    void damage(int sector) {
        unreadable.add(sector);
    }

    /** A file of its own with what is read now, and safe. */
    DiskFile copy() {
        DiskFile copy = new DiskFile(disk, name);
        copy.content.resize(content.size());
        copy.content.write(0, content.copy(0, content.size()), 0, content.size());
        return copy;
    }

    /** Loses what the crash takes, and returns a digest of what remains. */
    long crash(Unsynced fate, RandomStream chance) {
        settle();
        forces.clear();
        List<Operation> happened = takeBack();
        unsynced.clear();
        unsyncedBytes = 0;
        switch (fate) {
            case KEPT, CACHED -> happened.forEach(this::again);
            // What is safe is all there is.
            case LOST -> happened.forEach(operation -> disk.left(operation.at, false, false, false));
            case TORN -> tear(happened, chance);
        }
        if (fate != Unsynced.CACHED) {
            unsynced.clear();
            unsyncedBytes = 0;
            forget();
        }
        return content.digest();
    }

    /** Takes everything back that is not safe, and returns what of it had happened. */
    private List<Operation> takeBack() {
        List<Operation> happened = new ArrayList<>();
        while (!unsynced.isEmpty()) {
            Operation operation = unsynced.removeLast();
            operation.after = operation.length > 0
                    ? content.copy(operation.offset, operation.offset + operation.length)
                    : content.tail(operation.offset);
            content.resize(operation.oldSize);
            content.write(operation.offset, operation.before, 0, operation.before.length);
            if (operation.at <= disk.now()) {
                happened.addFirst(operation);
            }
        }
        return happened;
    }

    private void again(Operation operation) {
        if (operation.length > 0) {
            put(operation.at, operation.offset, operation.after, 0, operation.length);
            return;
        }
        resize(operation.at, operation.newSize);
        int grown = Math.min(operation.after.length, operation.newSize - operation.offset);
        if (grown > 0) {
            content.write(operation.offset, operation.after, 0, grown);
        }
    }

    private void tear(List<Operation> happened, RandomStream chance) {
        long sectors = 0;
        for (Operation operation : happened) {
            sectors += sectors(operation);
        }
        boolean prefix = chance.chance(0.5);
        long cut = prefix ? chance.nextLong(sectors + 1) : 0;
        long sector = 0;
        boolean gap = false;
        for (Operation operation : happened) {
            int count = sectors(operation);
            int kept = 0;
            for (int i = 0; i < count; i++) {
                if (prefix ? sector < cut : chance.chance(0.5)) {
                    keep(operation, i);
                    kept++;
                }
                sector++;
            }
            disk.left(operation.at, kept > 0, kept == count, gap);
            gap |= kept < count;
        }
    }

    /** A change of size is as atomic as a sector. */
    private int sectors(Operation operation) {
        int size = disk.sectorBytes();
        return operation.length == 0
                ? 1
                : (operation.offset + operation.length - 1) / size - operation.offset / size + 1;
    }

    private void keep(Operation operation, int number) {
        if (operation.length == 0) {
            again(operation);
            return;
        }
        int size = disk.sectorBytes();
        int firstEnd = (operation.offset / size + 1) * size - operation.offset;
        int from = number == 0 ? 0 : firstEnd + (number - 1) * size;
        int to = Math.min(operation.length, firstEnd + number * size);
        content.write(operation.offset + from, operation.after, from, to - from);
    }

    /** The system forgets what it remembers of the medium. */
    private void forget() {
        for (Map.Entry<Integer, byte[]> sector : medium.entrySet()) {
            int at = sector.getKey() * disk.sectorBytes();
            int length = Math.min(sector.getValue().length, content.size() - at);
            if (length > 0) {
                content.write(at, sector.getValue(), 0, length);
            }
        }
        medium.clear();
    }
}
