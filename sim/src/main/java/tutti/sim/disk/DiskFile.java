package tutti.sim.disk;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import tutti.sim.kernel.RandomStream;
import tutti.sim.thread.SimFuture;

/**
 * A file on a simulated disk. Writing changes what is read at once and costs no time; {@link #sync} makes what was written
 * before it durable and costs a request of the disk. At most 2^30 bytes.
 *
 * <p>
 * Invariant: the durable bytes are those of the operations synced so far, applied in order, which is always a prefix of all
 * operations; what is read is the durable bytes with all unsynced operations applied.
 */
public final class DiskFile {
    private static final int SIZE_MAX = 1 << 30;

    private final Disk disk;
    private String name;
    private final Bytes written = new Bytes();
    private final Bytes durable = new Bytes();
    private final Deque<Operation> unsynced = new ArrayDeque<>();
    private long operations;

    /** A write of bytes at an offset, or, if there are none, a change of the size to the offset. */
    private record Operation(long number, int offset, byte[] bytes, boolean truncates) {}

    /** Bytes that grow, with zeros between what is written. */
    private static final class Bytes {
        private byte[] bytes = {};
        private int size;

        void write(int offset, byte[] from, int start, int length) {
            resize(Math.max(size, offset + length));
            System.arraycopy(from, start, bytes, offset, length);
        }

        void resize(int to) {
            if (to > bytes.length) {
                bytes = Arrays.copyOf(bytes, Math.max(to, (int) Math.min(SIZE_MAX, 2L * bytes.length)));
            }
            if (to < size) {
                Arrays.fill(bytes, to, size, (byte) 0);
            }
            size = to;
        }

        void apply(Operation operation) {
            if (operation.truncates) {
                resize(operation.offset);
            } else {
                write(operation.offset, operation.bytes, 0, operation.bytes.length);
            }
        }
    }

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
        return written.size;
    }

    /** Bytes that are read there; the range must lie in the file. */
    public byte[] read(int offset, int length) {
        if (offset < 0 || length < 0 || offset > written.size - length) {
            throw new IllegalArgumentException(
                    "bytes " + offset + " to " + ((long) offset + length) + " of file " + name
                            + ", which has " + written.size);
        }
        return Arrays.copyOfRange(written.bytes, offset, offset + length);
    }

    /** Writes a copy of bytes; zeros fill what lies between the end and the offset. */
    public void write(int offset, byte[] bytes) {
        if (offset < 0 || offset > SIZE_MAX - bytes.length) {
            throw new IllegalArgumentException(bytes.length + " bytes at " + offset + " of file " + name
                    + ": a file has at most " + SIZE_MAX);
        }
        add(new Operation(++operations, offset, bytes.clone(), false));
    }

    /** Writes behind the end. */
    public void append(byte[] bytes) {
        write(written.size, bytes);
    }

    /** Cuts the file off, or fills it up with zeros. */
    public void truncate(int size) {
        if (size < 0 || size > SIZE_MAX) {
            throw new IllegalArgumentException("a file of " + size + " bytes");
        }
        add(new Operation(++operations, size, new byte[0], true));
    }

    private void add(Operation operation) {
        written.apply(operation);
        unsynced.add(operation);
    }

    /** Makes everything written before durable, and then does something, as an event of the host. */
    public void sync(Runnable done) {
        long upTo = operations;
        long bytes = 0;
        for (Operation operation : unsynced) {
            bytes += operation.bytes.length;
        }
        disk.request(bytes, () -> synced(upTo), done);
    }

    /** {@link #sync}, waited for by the current simulated thread. */
    public void syncAndWait() throws InterruptedException {
        SimFuture<Void> done = new SimFuture<>();
        sync(() -> done.complete(null));
        done.join();
    }

    /** Requests may end in any order; each makes the prefix durable that was written when it was made. */
    private void synced(long upTo) {
        while (!unsynced.isEmpty() && unsynced.element().number <= upTo) {
            durable.apply(unsynced.remove());
        }
    }

    /** Loses what the crash takes, and returns a digest of what remains. */
    long crash(Unsynced fate, RandomStream chance) {
        switch (fate) {
            case KEPT -> synced(operations);
            case LOST -> {
                // What is durable is all there is.
            }
            case TORN -> tear(chance);
        }
        unsynced.clear();
        written.bytes = Arrays.copyOf(durable.bytes, durable.size);
        written.size = durable.size;
        long digest = durable.size;
        for (int i = 0; i < durable.size; i++) {
            digest = 31 * digest + durable.bytes[i];
        }
        return digest;
    }

    private void tear(RandomStream chance) {
        long sectors = 0;
        for (Operation operation : unsynced) {
            sectors += sectors(operation);
        }
        boolean prefix = chance.chance(0.5);
        long cut = prefix ? chance.nextLong(sectors + 1) : 0;
        long sector = 0;
        for (Operation operation : unsynced) {
            int count = sectors(operation);
            for (int i = 0; i < count; i++) {
                if (prefix ? sector < cut : chance.chance(0.5)) {
                    keep(operation, i);
                }
                sector++;
            }
        }
    }

    /** A change of size is as atomic as a sector. */
    private int sectors(Operation operation) {
        int size = disk.sectorBytes();
        if (operation.truncates) {
            return 1;
        }
        if (operation.bytes.length == 0) {
            return 0;
        }
        return (operation.offset + operation.bytes.length - 1) / size - operation.offset / size + 1;
    }

    private void keep(Operation operation, int number) {
        if (operation.truncates) {
            durable.apply(operation);
            return;
        }
        int size = disk.sectorBytes();
        int firstEnd = (operation.offset / size + 1) * size - operation.offset;
        int from = number == 0 ? 0 : firstEnd + (number - 1) * size;
        int to = Math.min(operation.bytes.length, firstEnd + number * size);
        durable.write(operation.offset + from, operation.bytes, from, to - from);
    }
}
