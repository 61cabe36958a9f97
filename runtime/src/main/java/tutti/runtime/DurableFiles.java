package tutti.runtime;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.util.zip.CRC32C;

/**
 * Small files that are there wholly or not at all after a crash: written aside, forced, moved into place, and the directory
 * synced. They begin with a CRC32C of their content (4 bytes).
 */
public final class DurableFiles {
    /** How the name of a file ends that is being written. A crash may leave some; they mean nothing. */
    public static final String ASIDE = ".new";

    private static final int CHECKSUM_BYTES = 4;

    private DurableFiles() {}

    /**
     * Replaces a file, or makes it; safe when this returns. An interruption of the thread, which closes the file under it, is put off until then: it may
     * be that of somebody whose thread does another's work.
     */
    public static void write(Directory directory, String name, byte[] content) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(CHECKSUM_BYTES + content.length).putInt(checksum(content)).put(content)
                .flip();
        boolean interrupted = false;
        boolean written = false;
        try {
            while (!written) {
                try {
                    replace(directory, name, bytes.rewind());
                    written = true;
                } catch (ClosedByInterruptException closed) {
                    interrupted |= Thread.interrupted();
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static void replace(Directory directory, String name, ByteBuffer bytes) throws IOException {
        try (DataFile file = directory.open(name + ASIDE, Directory.Open.EMPTY)) {
            file.write(bytes, 0);
            file.force(true);
        }
        directory.move(name + ASIDE, name);
        directory.sync();
    }

    /**
     * Reads what {@link #write} has written.
     *
     * @throws DamagedFileException if it is cut short or its checksum does not fit
     * @throws IOException if there is no such file, or it cannot be read
     */
    public static ByteBuffer read(Directory directory, String name) throws IOException {
        byte[] content;
        int expected;
        try (DataFile file = directory.open(name, Directory.Open.EXISTING)) {
            ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(file.size()));
            file.read(bytes, 0);
            bytes.flip();
            if (bytes.remaining() < CHECKSUM_BYTES) {
                throw new DamagedFileException(directory.location(name) + " is cut short");
            }
            expected = bytes.getInt();
            content = new byte[bytes.remaining()];
            bytes.get(content);
        }
        if (checksum(content) != expected) {
            throw new DamagedFileException(directory.location(name) + " is damaged: its checksum does not fit");
        }
        return ByteBuffer.wrap(content);
    }

    private static int checksum(byte[] content) {
        CRC32C checksum = new CRC32C();
        checksum.update(content, 0, content.length);
        return (int) checksum.getValue();
    }
}
