package tutti.engine.postgres.server;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;

/**
 * Unpacks a tar archive: directories, files and symbolic links of the POSIX ustar format with GNU long names, which is
 * what the binaries' archive consists of. Anything else, or an entry that would land outside the target, is refused.
 */
final class TarReader {
    private static final int BLOCK = 512;

    private TarReader() {}

    static void unpack(InputStream archive, Path target) throws IOException {
        byte[] header = new byte[BLOCK];
        String longName = null;
        while (fill(archive, header) && header[0] != 0) {
            long size = octal(header, 124, 12);
            String prefix = text(header, 345, 155);
            String name = longName != null
                    ? longName
                    : (prefix.isEmpty() ? "" : prefix + "/") + text(header, 0, 100);
            longName = null;
            char type = (char) header[156];
            switch (type) {
                case 'L' -> longName = readName(archive, size);
                case '5' -> Files.createDirectories(inside(target, name));
                case '2' -> link(inside(target, name), text(header, 157, 100), target);
                case '0', 0 -> file(archive, inside(target, name), size, octal(header, 100, 8));
                default -> throw new IOException("entry " + name + " of the archive has the unknown type " + type);
            }
        }
    }

    private static void file(InputStream archive, Path file, long size, long mode) throws IOException {
        Files.createDirectories(file.getParent());
        try (OutputStream out = Files.newOutputStream(file)) {
            copy(archive, out, size);
        }
        Set<PosixFilePermission> permissions = EnumSet.of(PosixFilePermission.OWNER_READ,
                PosixFilePermission.OWNER_WRITE,
                PosixFilePermission.GROUP_READ, PosixFilePermission.OTHERS_READ);
        if ((mode & 0100) != 0) {
            permissions.addAll(EnumSet.of(PosixFilePermission.OWNER_EXECUTE, PosixFilePermission.GROUP_EXECUTE,
                    PosixFilePermission.OTHERS_EXECUTE));
        }
        Files.setPosixFilePermissions(file, permissions);
    }

    private static void link(Path link, String to, Path target) throws IOException {
        inside(target, target.relativize(link.getParent().resolve(to).normalize()).toString());
        Files.createDirectories(link.getParent());
        Files.createSymbolicLink(link, Path.of(to));
    }

    private static Path inside(Path target, String name) throws IOException {
        Path path = target.resolve(name).normalize();
        if (!path.startsWith(target)) {
            throw new IOException("entry " + name + " of the archive would land outside " + target);
        }
        return path;
    }

    private static String readName(InputStream archive, long size) throws IOException {
        if (size > 4096) {
            throw new IOException("a name of " + size + " bytes in the archive");
        }
        var name = new java.io.ByteArrayOutputStream();
        copy(archive, name, size);
        return text(name.toByteArray(), 0, name.size());
    }

    private static void copy(InputStream archive, OutputStream out, long size) throws IOException {
        byte[] buffer = new byte[64 * 1024];
        for (long left = size; left > 0;) {
            int read = archive.read(buffer, 0, (int) Math.min(left, buffer.length));
            if (read < 0) {
                throw new EOFException("the archive ends " + left + " bytes too early");
            }
            out.write(buffer, 0, read);
            left -= read;
        }
        archive.skipNBytes((BLOCK - size % BLOCK) % BLOCK);
    }

    private static boolean fill(InputStream archive, byte[] block) throws IOException {
        int read = archive.readNBytes(block, 0, block.length);
        if (read != 0 && read != block.length) {
            throw new EOFException("the archive ends within a header");
        }
        return read != 0;
    }

    private static String text(byte[] from, int offset, int length) {
        int end = offset;
        while (end < Math.min(offset + length, from.length) && from[end] != 0) {
            end++;
        }
        return new String(from, offset, end - offset, StandardCharsets.UTF_8);
    }

    private static long octal(byte[] from, int offset, int length) throws IOException {
        String digits = text(from, offset, length).strip();
        try {
            return digits.isEmpty() ? 0 : Long.parseLong(digits, 8);
        } catch (NumberFormatException notOctal) {
            throw new IOException("the archive has '" + digits + "' where a number should be", notOctal);
        }
    }
}
