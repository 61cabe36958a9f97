package tutti.runtime.real;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import tutti.runtime.DamagedFileException;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;

/** A directory of the file system. What it makes is {@linkplain PrivateFiles private}. */
public final class PathDirectory implements Directory {
    /**
     * Directories and names of the locks that this process has. Whoever closes any channel of such a file gives the lock back, as the system has it:
     * so a second one is not even opened.
     */
    private static final Set<List<Object>> HELD = ConcurrentHashMap.newKeySet();

    private final Path path;

    private PathDirectory(Path path) {
        this.path = path;
    }

    /**
     * A directory, made if need be with all above it.
     *
     * @throws IOException if it cannot be made
     */
    public static PathDirectory of(Path path) throws IOException {
        return new PathDirectory(PrivateFiles.createDirectories(path));
    }

    /**
     * Opens a file of anybody's for reading.
     *
     * @throws java.nio.file.NoSuchFileException if it is not there
     */
    public static DataFile read(Path file) throws IOException {
        return new ChannelFile(file, FileChannel.open(file, StandardOpenOption.READ));
    }

    @Override
    public String location() {
        return path.toString();
    }

    @Override
    public Directory directory(String name) throws IOException {
        Path inside = file(name);
        if (!Files.isDirectory(inside)) {
            PrivateFiles.createDirectories(inside);
            sync();
        }
        return new PathDirectory(inside);
    }

    private Path file(String name) {
        Path file = path.resolve(name);
        if (name.isEmpty() || name.equals(".") || name.equals("..") || !path.equals(file.getParent())) {
            throw new IllegalArgumentException("'" + name + "' is no name of a file in " + path);
        }
        return file;
    }

    @Override
    public List<String> list() throws IOException {
        try (Stream<Path> entries = Files.list(path)) {
            return entries.filter(Files::isRegularFile).map(entry -> entry.getFileName().toString()).sorted().toList();
        }
    }

    @Override
    public List<String> directories() throws IOException {
        try (Stream<Path> entries = Files.list(path)) {
            return entries.filter(entry -> Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS))
                    .map(entry -> entry.getFileName().toString()).sorted().toList();
        }
    }

    @Override
    public boolean exists(String name) {
        return Files.exists(file(name), LinkOption.NOFOLLOW_LINKS);
    }

    @Override
    public DataFile open(String name, Open how) throws IOException {
        Path file = file(name);
        return new ChannelFile(file, switch (how) {
            case EXISTING -> FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
            case NEW -> PrivateFiles.open(file, Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE,
                    StandardOpenOption.CREATE_NEW));
            case EMPTY -> PrivateFiles.open(file, Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE,
                    StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING));
        });
    }

    @Override
    public void move(String from, String to) throws IOException {
        Files.move(file(from), file(to), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    @Override
    public void moveTo(String name, Directory other) throws IOException {
        if (!(other instanceof PathDirectory to)) {
            throw new IllegalArgumentException(other.location() + " is on another disk");
        }
        if (to.exists(name)) {
            throw new FileAlreadyExistsException(to.location(name));
        }
        Files.move(file(name), to.file(name), StandardCopyOption.ATOMIC_MOVE);
    }

    @Override
    public void delete(String name) throws IOException {
        Files.deleteIfExists(file(name));
    }

    /** Links, too, and not what they point at. */
    @Override
    public void deleteAll(String name) throws IOException {
        if (!exists(name)) {
            return;
        }
        try (Stream<Path> all = Files.walk(file(name))) {
            for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(each);
            }
        }
    }

    @Override
    public void sync() throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    @Override
    public Closeable lock(String name) throws IOException {
        Path file = file(name);
        Object itself = Files.readAttributes(path, BasicFileAttributes.class).fileKey();
        List<Object> key = List.of(itself == null ? path.toRealPath() : itself, name);
        if (!HELD.add(key)) {
            throw new IOException(path + " is in use by this very process: use another directory");
        }
        try {
            FileChannel channel = PrivateFiles.open(file,
                    Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE));
            try {
                if (channel.tryLock() == null) {
                    throw new IOException(
                            path + " is in use by another process: stop that first, or use another directory");
                }
            } catch (IOException | RuntimeException failure) {
                channel.close();
                throw failure;
            }
            return () -> {
                if (channel.isOpen()) {
                    try {
                        channel.close();
                    } finally {
                        HELD.remove(key);
                    }
                }
            };
        } catch (IOException | RuntimeException failure) {
            HELD.remove(key);
            throw failure;
        }
    }

    @Override
    public String toString() {
        return location();
    }

    private record ChannelFile(Path path, FileChannel channel) implements DataFile {
        @Override
        public long size() throws IOException {
            return channel.size();
        }

        @Override
        public int read(ByteBuffer into, long at) throws IOException {
            int total = 0;
            try {
                while (into.hasRemaining()) {
                    int read = channel.read(into, at + total);
                    if (read < 0) {
                        break;
                    }
                    total += read;
                }
            } catch (ClosedChannelException closed) {
                throw closed;
            } catch (IOException unreadable) {
                // The system has tried again by itself.
                throw new DamagedFileException(path + " cannot be read: " + unreadable.getMessage(), unreadable);
            }
            return total;
        }

        @Override
        public void write(ByteBuffer from, long at) throws IOException {
            long next = at;
            while (from.hasRemaining()) {
                next += channel.write(from, next);
            }
        }

        @Override
        public void truncate(long size) throws IOException {
            channel.truncate(size);
        }

        @Override
        public void force(boolean size) throws IOException {
            channel.force(size);
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }
}
