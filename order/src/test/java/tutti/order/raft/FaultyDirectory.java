package tutti.order.raft;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;

/** A directory whose files can be told to fail, and that counts what is forced. */
final class FaultyDirectory implements Directory {
    /** What is wrong, for a directory and those in it. */
    static final class Faults {
        final AtomicInteger forced = new AtomicInteger();
        volatile boolean forceFails;
        volatile boolean full;
        final List<Write> writes = new CopyOnWriteArrayList<>();
    }

    /** Bytes that were written to a file. */
    record Write(String name, long at, int length) {}

    private final Directory real;
    private final Faults faults;

    FaultyDirectory(Directory real, Faults faults) {
        this.real = real;
        this.faults = faults;
    }

    @Override
    public String location() {
        return real.location();
    }

    @Override
    public Directory directory(String name) throws IOException {
        return new FaultyDirectory(real.directory(name), faults);
    }

    @Override
    public List<String> list() throws IOException {
        return real.list();
    }

    @Override
    public List<String> directories() throws IOException {
        return real.directories();
    }

    @Override
    public void moveTo(String name, Directory other) throws IOException {
        real.moveTo(name, ((FaultyDirectory) other).real);
    }

    @Override
    public boolean exists(String name) throws IOException {
        return real.exists(name);
    }

    @Override
    public DataFile open(String name, Open how) throws IOException {
        return new FaultyFile(name, real.open(name, how));
    }

    @Override
    public void move(String from, String to) throws IOException {
        real.move(from, to);
    }

    @Override
    public void delete(String name) throws IOException {
        real.delete(name);
    }

    @Override
    public void sync() throws IOException {
        real.sync();
    }

    @Override
    public Closeable lock(String name) throws IOException {
        return real.lock(name);
    }

    private final class FaultyFile implements DataFile {
        private final String name;
        private final DataFile file;

        FaultyFile(String name, DataFile file) {
            this.name = name;
            this.file = file;
        }

        @Override
        public long size() throws IOException {
            return file.size();
        }

        @Override
        public int read(ByteBuffer into, long at) throws IOException {
            return file.read(into, at);
        }

        @Override
        public void write(ByteBuffer from, long at) throws IOException {
            if (faults.full) {
                throw new IOException("No space left on device");
            }
            faults.writes.add(new Write(name, at, from.remaining()));
            file.write(from, at);
        }

        @Override
        public void truncate(long size) throws IOException {
            file.truncate(size);
        }

        @Override
        public void force(boolean size) throws IOException {
            if (faults.forceFails) {
                throw new IOException("Input/output error");
            }
            faults.forced.incrementAndGet();
            file.force(size);
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }
}
