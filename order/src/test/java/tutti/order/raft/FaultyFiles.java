package tutti.order.raft;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A file system that can be told to fail, and that counts what is flushed. */
final class FaultyFiles implements FileOpener {
    final AtomicInteger flushes = new AtomicInteger();
    volatile boolean flushFails;
    volatile boolean full;

    @Override
    public FileChannel open(Path path, OpenOption... options) throws IOException {
        return new Faulty(FileChannel.open(path, options));
    }

    private final class Faulty extends FileChannel {
        private final FileChannel real;

        Faulty(FileChannel real) {
            this.real = real;
        }

        @Override
        public void force(boolean metaData) throws IOException {
            if (flushFails) {
                throw new IOException("Input/output error");
            }
            flushes.incrementAndGet();
            real.force(metaData);
        }

        private void write() throws IOException {
            if (full) {
                throw new IOException("No space left on device");
            }
        }

        @Override
        public int write(ByteBuffer from) throws IOException {
            write();
            return real.write(from);
        }

        @Override
        public int write(ByteBuffer from, long position) throws IOException {
            write();
            return real.write(from, position);
        }

        @Override
        public long write(ByteBuffer[] from, int offset, int length) throws IOException {
            write();
            return real.write(from, offset, length);
        }

        @Override
        public int read(ByteBuffer to) throws IOException {
            return real.read(to);
        }

        @Override
        public int read(ByteBuffer to, long position) throws IOException {
            return real.read(to, position);
        }

        @Override
        public long read(ByteBuffer[] to, int offset, int length) throws IOException {
            return real.read(to, offset, length);
        }

        @Override
        public long position() throws IOException {
            return real.position();
        }

        @Override
        public FileChannel position(long position) throws IOException {
            real.position(position);
            return this;
        }

        @Override
        public long size() throws IOException {
            return real.size();
        }

        @Override
        public FileChannel truncate(long size) throws IOException {
            real.truncate(size);
            return this;
        }

        @Override
        public long transferTo(long position, long count, WritableByteChannel to) throws IOException {
            return real.transferTo(position, count, to);
        }

        @Override
        public long transferFrom(ReadableByteChannel from, long position, long count) throws IOException {
            return real.transferFrom(from, position, count);
        }

        @Override
        public MappedByteBuffer map(MapMode mode, long position, long size) throws IOException {
            return real.map(mode, position, size);
        }

        @Override
        public FileLock lock(long position, long size, boolean shared) throws IOException {
            return real.lock(position, size, shared);
        }

        @Override
        public @Nullable FileLock tryLock(long position, long size, boolean shared) throws IOException {
            return real.tryLock(position, size, shared);
        }

        @Override
        protected void implCloseChannel() throws IOException {
            real.close();
        }
    }
}
