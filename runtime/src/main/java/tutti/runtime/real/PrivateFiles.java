package tutti.runtime.real;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.Set;

/**
 * Files and directories that nobody but their owner can read or write, where the file system has such permissions: the ordered log
 * holds the data of all clients, configurations hold passwords. From any thread.
 */
public final class PrivateFiles {
    private static final boolean PERMISSIONS = FileSystems.getDefault().supportedFileAttributeViews().contains("posix");
    private static final Set<PosixFilePermission> DIRECTORY = PosixFilePermissions.fromString("rwx------");
    private static final FileAttribute<?>[] OF_DIRECTORIES = attributes(DIRECTORY);
    private static final Set<PosixFilePermission> FILE = PosixFilePermissions.fromString("rw-------");
    private static final FileAttribute<?>[] OF_FILES = attributes(FILE);

    private static final Set<PosixFilePermission> TOO_OPEN = PosixFilePermissions.fromString("----wxrwx");

    private PrivateFiles() {}

    /**
     * Checks that only its owner, and perhaps a group of readers, may use a file.
     *
     * @throws IOException if others may, or if it is not there
     */
    public static void requirePrivate(Path file) throws IOException {
        if (PERMISSIONS) {
            Set<PosixFilePermission> open = EnumSet.copyOf(TOO_OPEN);
            open.retainAll(Files.getPosixFilePermissions(file));
            if (!open.isEmpty()) {
                throw new IOException(file + " is a secret, and others may read or change it: chmod 600 " + file);
            }
        }
    }

    private static FileAttribute<?>[] attributes(Set<PosixFilePermission> permissions) {
        return PERMISSIONS
                ? new FileAttribute<?>[]{PosixFilePermissions.asFileAttribute(permissions)}
                : new FileAttribute<?>[0];
    }

    /** Makes a directory and those above it, where there are none. Those that exist stay as they are. */
    public static Path createDirectories(Path directory) throws IOException {
        return Files.createDirectories(directory, OF_DIRECTORIES);
    }

    /** Makes a directory, and those above it, where there are none; one that exists is taken from others. */
    public static Path ownDirectory(Path directory) throws IOException {
        createDirectories(directory);
        if (PERMISSIONS && !Files.getPosixFilePermissions(directory).equals(DIRECTORY)) {
            Files.setPosixFilePermissions(directory, DIRECTORY);
        }
        return directory;
    }

    /** Writes a file, which is private from its first byte. */
    public static Path write(Path file, String text) throws IOException {
        if (PERMISSIONS && Files.exists(file)) {
            Files.setPosixFilePermissions(file, FILE);
        } else {
            Files.createFile(file, OF_FILES);
        }
        return Files.writeString(file, text);
    }

    static FileChannel open(Path file, Set<? extends OpenOption> how) throws IOException {
        return FileChannel.open(file, how, OF_FILES);
    }
}
