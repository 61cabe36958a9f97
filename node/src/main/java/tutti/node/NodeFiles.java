package tutti.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/**
 * What a node keeps in files of its own beside the order's log: its incarnation number, and snapshots of the protocol's
 * state from which it can begin without the whole log. Every file is written aside, flushed, and renamed into place.
 *
 * <p>
 * Not for use by several threads at once.
 */
final class NodeFiles {
    private static final Pattern SNAPSHOT = Pattern.compile("protocol-(\\d+)\\.snapshot");
    private static final int CHECKSUM_BYTES = 8;

    private final Path directory;

    /** A snapshot of the protocol after a position. */
    record Snapshot(long position, byte[] state) {}

    /**
     * Uses a directory, creating it if need be.
     *
     * @throws IOException if it cannot be created
     */
    NodeFiles(Path directory) throws IOException {
        this.directory = directory;
        Files.createDirectories(directory);
    }

    /** A number larger than every one answered before, kept over restarts. */
    long nextIncarnation() throws IOException {
        Path file = directory.resolve("incarnation");
        long last = 0;
        try {
            last = Long.parseLong(Files.readString(file).trim());
        } catch (NoSuchFileException first) {
            // The node's first life.
            last = 0;
        } catch (NumberFormatException damaged) {
            throw new IOException(file + " does not hold a number; restore it, or remove the node's data and add the"
                    + " node anew", damaged);
        }
        write(file, Long.toString(last + 1).getBytes(java.nio.charset.StandardCharsets.US_ASCII));
        return last + 1;
    }

    /** Keeps a snapshot, durably. */
    void save(Snapshot snapshot) throws IOException {
        CRC32C checksum = new CRC32C();
        checksum.update(snapshot.state());
        byte[] content = ByteBuffer.allocate(CHECKSUM_BYTES + snapshot.state().length).putLong(checksum.getValue())
                .put(snapshot.state()).array();
        write(file(snapshot.position()), content);
    }

    /** The newest snapshot of a position not after {@code position}. */
    Optional<Snapshot> newestUpTo(long position) throws IOException {
        for (long candidate : positions().reversed()) {
            if (candidate <= position) {
                return Optional.of(read(candidate));
            }
        }
        return Optional.empty();
    }

    /** Position of the newest snapshot not after {@code position}, or 0 if there is none. */
    long newestPositionUpTo(long position) throws IOException {
        return positions().stream().filter(candidate -> candidate <= position).reduce(0L, Math::max);
    }

    /** Removes snapshots of positions before {@code position}. */
    void removeBefore(long position) throws IOException {
        for (long candidate : positions()) {
            if (candidate < position) {
                Files.deleteIfExists(file(candidate));
            }
        }
    }

    private Snapshot read(long position) throws IOException {
        ByteBuffer content = ByteBuffer.wrap(Files.readAllBytes(file(position)));
        if (content.remaining() < CHECKSUM_BYTES) {
            throw new IOException(file(position) + " is cut short");
        }
        long expected = content.getLong();
        byte[] state = new byte[content.remaining()];
        content.get(state);
        CRC32C checksum = new CRC32C();
        checksum.update(state);
        if (checksum.getValue() != expected) {
            throw new IOException(file(position) + " is damaged: its checksum does not match");
        }
        return new Snapshot(position, state);
    }

    private List<Long> positions() throws IOException {
        List<Long> found = new ArrayList<>();
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                Matcher name = SNAPSHOT.matcher(file.getFileName().toString());
                if (name.matches()) {
                    found.add(Long.parseLong(name.group(1)));
                }
            }
        }
        found.sort(Comparator.naturalOrder());
        return found;
    }

    private Path file(long position) {
        return directory.resolve("protocol-" + position + ".snapshot");
    }

    private void write(Path file, byte[] content) throws IOException {
        Path aside = file.resolveSibling(file.getFileName() + ".new");
        try (FileChannel channel = FileChannel.open(aside, StandardOpenOption.CREATE, StandardOpenOption.WRITE,
                StandardOpenOption.TRUNCATE_EXISTING)) {
            ByteBuffer bytes = ByteBuffer.wrap(content);
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
            channel.force(true);
        }
        Files.move(aside, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
