package tutti.cli.pack;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * Writes a tar archive in the format ustar (POSIX.1-1988) whose bytes follow from what is added, and from nothing of the machine: names in
 * order, owners as they are given, one time for all. For one thread.
 */
final class TarWriter implements AutoCloseable {
    private static final int BLOCK = 512;
    private static final int NAME_BYTES = 100;
    private static final int PREFIX_BYTES = 155;
    private static final int EXECUTABLE = 0755;
    private static final int READABLE = 0644;

    private final OutputStream to;
    private final long seconds;

    /**
     * Begins one.
     *
     * @param time of change of all entries, to the second
     */
    TarWriter(OutputStream to, Instant time) {
        this.to = to;
        seconds = time.getEpochSecond();
    }

    /** Adds a directory, of root's or of somebody's. */
    void directory(String name, int mode, int owner) throws IOException {
        header(name + "/", '5', mode, owner, 0, "");
    }

    /** Adds a symbolic link of root's. */
    void link(String name, String target) throws IOException {
        header(name, '2', 0777, 0, 0, target);
    }

    /** Adds a file of root's that everybody may read. */
    void text(String name, String content) throws IOException {
        bytes(name, content.getBytes(StandardCharsets.UTF_8));
    }

    /** Adds a file of root's that everybody may read. */
    void bytes(String name, byte[] content) throws IOException {
        header(name, '0', READABLE, 0, content.length, "");
        to.write(content);
        pad(content.length);
    }

    /** Adds a file of root's, which everybody may execute if its owner may. */
    void file(String name, Path file) throws IOException {
        long size = Files.size(file);
        header(name, '0', Files.isExecutable(file) ? EXECUTABLE : READABLE, 0, size, "");
        if (Files.copy(file, to) != size) {
            throw new IOException(file + " changes while it is packed");
        }
        pad(size);
    }

    /** Adds a directory of root's with all that is below it. */
    void tree(String name, Path directory) throws IOException {
        directory(name, EXECUTABLE, 0);
        List<Path> inside;
        try (Stream<Path> all = Files.list(directory)) {
            inside = all.sorted().toList();
        }
        for (Path path : inside) {
            entry(name + "/" + path.getFileName(), path);
        }
    }

    /** Adds what is there, with all that is below it. */
    void entry(String name, Path path) throws IOException {
        if (Files.isSymbolicLink(path)) {
            link(name, Files.readSymbolicLink(path).toString());
        } else if (Files.isDirectory(path)) {
            tree(name, path);
        } else {
            file(name, path);
        }
    }

    private void header(String name, char type, int mode, int owner, long size, String target) throws IOException {
        byte[] header = new byte[BLOCK];
        int cut = 0;
        if (name.length() > NAME_BYTES) {
            cut = name.indexOf('/', name.length() - NAME_BYTES - 1);
            if (cut < 0 || cut > PREFIX_BYTES) {
                throw new IOException(name + " is too long a name for an archive");
            }
            put(header, 345, PREFIX_BYTES, name.substring(0, cut));
            cut++;
        }
        put(header, 0, NAME_BYTES, name.substring(cut));
        put(header, 100, 8, octal(mode, 7));
        put(header, 108, 8, octal(owner, 7));
        put(header, 116, 8, octal(owner, 7));
        put(header, 124, 12, octal(size, 11));
        put(header, 136, 12, octal(seconds, 11));
        put(header, 148, 8, "        ");
        header[156] = (byte) type;
        put(header, 157, NAME_BYTES, target);
        put(header, 257, 8, "ustar\00000");
        int sum = 0;
        for (byte each : header) {
            sum += each & 0xff;
        }
        put(header, 148, 8, octal(sum, 6) + "\0 ");
        to.write(header);
    }

    private static String octal(long value, int digits) {
        return String.format(Locale.ROOT, "%0" + digits + "o", value);
    }

    private static void put(byte[] header, int at, int room, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (bytes.length > room) {
            throw new IOException(text + " is too long for an archive");
        }
        System.arraycopy(bytes, 0, header, at, bytes.length);
    }

    private void pad(long size) throws IOException {
        to.write(new byte[(int) (-size & BLOCK - 1)]);
    }

    /** Writes the end of the archive, and leaves what it is written to open. */
    @Override
    public void close() throws IOException {
        to.write(new byte[2 * BLOCK]);
        to.flush();
    }
}
