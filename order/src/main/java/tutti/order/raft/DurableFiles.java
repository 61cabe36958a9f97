package tutti.order.raft;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32C;

/** Small files that are there wholly or not at all after a crash: written aside, flushed, and moved into place. */
final class DurableFiles {
    private DurableFiles() {}

    /** Replaces a file; on disk when it returns. The content is kept with a checksum. */
    static void write(Path file, byte[] content, FileOpener files) throws IOException {
        Path aside = file.resolveSibling(file.getFileName() + ".new");
        ByteBuffer bytes = ByteBuffer.allocate(content.length + 4).putInt(crc(content)).put(content).flip();
        try (FileChannel channel = files.open(aside, StandardOpenOption.WRITE, StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING)) {
            LogSegment.writeFully(channel, bytes, 0);
            channel.force(true);
        }
        Files.move(aside, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        syncDirectory(file.toAbsolutePath().getParent());
    }

    /** Reads what {@link #write} wrote. */
    static ByteBuffer read(Path file) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        if (bytes.length < 4) {
            throw new DamagedLogException(file + " is cut short");
        }
        ByteBuffer in = ByteBuffer.wrap(bytes);
        int expected = in.getInt();
        CRC32C crc = new CRC32C();
        crc.update(bytes, 4, bytes.length - 4);
        if ((int) crc.getValue() != expected) {
            throw new DamagedLogException(file + " has a bad checksum");
        }
        return in.slice();
    }

    /** Makes creations, moves and deletions in a directory safe. */
    static void syncDirectory(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    private static int crc(byte[] content) {
        CRC32C crc = new CRC32C();
        crc.update(content, 0, content.length);
        return (int) crc.getValue();
    }
}
