package tutti.sim.machine;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import org.jspecify.annotations.Nullable;
import tutti.runtime.DamagedFileException;
import tutti.runtime.DataFile;
import tutti.sim.disk.Disk;
import tutti.sim.disk.DiskFile;

/** An open file of a simulated disk. */
final class SimFile implements DataFile {
    private static final long CALL_NANOS = 1_000;
    /** Of memory: what is read and written goes through the system's cache. */
    private static final long BYTES_PER_NANO = 4;

    private final SimMachine machine;
    private final DiskFile file;
    private final String location;
    private boolean closed;

    SimFile(SimMachine machine, DiskFile file, String location) {
        this.machine = machine;
        this.file = file;
        this.location = location;
    }

    private void operation(long bytes, Disk.@Nullable Rare rare) throws IOException {
        requireOpen();
        machine.operation(rare);
        machine.pass(CALL_NANOS + bytes / BYTES_PER_NANO);
    }

    private void requireOpen() throws IOException {
        if (closed) {
            throw new ClosedChannelException();
        }
    }

    @Override
    public long size() throws IOException {
        operation(0, null);
        return file.size();
    }

    @Override
    public int read(ByteBuffer into, long at) throws IOException {
        operation(into.remaining(), null);
        try {
            return file.read(into, at);
        } catch (IOException unreadable) {
            throw new DamagedFileException(location + " cannot be read: " + unreadable.getMessage(), unreadable);
        }
    }

    @Override
    public void write(ByteBuffer from, long at) throws IOException {
        if (at < 0) {
            throw new IllegalArgumentException("bytes at " + at + " of " + location);
        }
        requireOpen();
        Runnable kill = machine.beginOperation(null);
        int length = from.remaining();
        if (kill != null) {
            // A process can be killed between the pages that it writes.
            length = machine.disk().part(length);
        }
        machine.pass(CALL_NANOS + length / BYTES_PER_NANO);
        if (from.hasArray()) {
            file.write(machine.now(), at, from.array(), from.arrayOffset() + from.position(), length);
        } else {
            byte[] bytes = machine.scratch(length);
            from.duplicate().get(bytes, 0, length);
            file.write(machine.now(), at, bytes, 0, length);
        }
        if (kill != null) {
            throw machine.die(kill);
        }
        from.position(from.limit());
    }

    @Override
    public void truncate(long size) throws IOException {
        operation(0, size < file.size() ? Disk.Rare.TRUNCATE : null);
        if (size < file.size()) {
            file.resize(machine.now(), (int) size);
        }
    }

    @Override
    public void force(boolean size) throws IOException {
        requireOpen();
        machine.operation(null);
        machine.request(file.unsyncedBytes());
        file.force(machine.now(), size);
    }

    @Override
    public void close() {
        closed = true;
    }

    @Override
    public String toString() {
        return location;
    }
}
