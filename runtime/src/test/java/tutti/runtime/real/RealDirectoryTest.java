package tutti.runtime.real;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import tutti.runtime.DamagedFileException;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.runtime.DirectoryContract;
import tutti.runtime.DurableFiles;
import tutti.runtime.TestWorld;

class RealDirectoryTest extends DirectoryContract {
    @TempDir
    private Path directory;

    @Override
    protected TestWorld world() {
        return new RealWorld(directory);
    }

    private static void isPrivate(Path path) throws IOException {
        assertEquals("------", PosixFilePermissions.toString(Files.getPosixFilePermissions(path)).substring(3),
                path.toString());
    }

    /** The first byte of a process's memory is an error of reading like that of a bad sector. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void whatCannotBeReadIsDamagedAndWhatIsClosedIsNot() throws IOException {
        DataFile memory = PathDirectory.read(Path.of("/proc/self/mem"));
        DamagedFileException damaged = assertThrows(DamagedFileException.class,
                () -> memory.read(ByteBuffer.allocate(1), 0));
        assertTrue(damaged.getMessage().contains("/proc/self/mem"), damaged.getMessage());
        memory.close();
        assertThrows(ClosedChannelException.class, () -> memory.read(ByteBuffer.allocate(1), 0));
    }

    /** Another process, that takes a lock. */
    static final class Other {
        private Other() {}

        public static void main(String[] directory) throws IOException {
            PathDirectory.of(Path.of(directory[0])).lock("lock").close();
        }

        static int run(Path directory) throws IOException, InterruptedException {
            return new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                    System.getProperty("java.class.path"), Other.class.getName(), directory.toString())
                    .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor();
        }
    }

    @Test
    void aSecondAttemptLeavesTheFirstItsLock() throws Exception {
        Path locked = directory.resolve("locked");
        Path link = directory.resolve("link");
        try (Closeable _ = PathDirectory.of(locked).lock("lock")) {
            Files.createSymbolicLink(link, locked);
            for (Path same : List.of(locked, link)) {
                IOException used = assertThrows(IOException.class, () -> PathDirectory.of(same).lock("lock"));
                assertTrue(used.getMessage().contains("this very process"), used::getMessage);
            }
            assertEquals(1, Other.run(locked));
        }
        assertEquals(0, Other.run(locked));
    }

    @Test
    void anInterruptionIsPutOffUntilAFileIsReplaced() throws IOException {
        Directory inside = PathDirectory.of(directory.resolve("interrupted"));
        Thread.currentThread().interrupt();
        DurableFiles.write(inside, "file", new byte[]{7});
        assertTrue(Thread.interrupted(), "it is told afterwards");
        assertEquals(7, DurableFiles.read(inside, "file").get());
    }

    @Test
    void nobodyElseCanReadWhatIsWritten() throws IOException {
        Path made = directory.resolve("above").resolve("made");
        Directory inside = PathDirectory.of(made).directory("inside");
        DurableFiles.write(inside, "file", ByteBuffer.allocate(1).array());
        inside.lock("lock").close();
        for (String name : new String[]{"", "inside", "inside/file", "inside/lock"}) {
            isPrivate(made.resolve(name));
        }
        Path shared = Files.createDirectory(directory.resolve("shared"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x")));
        isPrivate(PrivateFiles.ownDirectory(shared));
        Path text = Files.writeString(shared.resolve("text"), "old");
        isPrivate(PrivateFiles.write(text, "new"));
        assertEquals("new", Files.readString(text));
    }
}
