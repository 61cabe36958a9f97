package tutti.runtime.real;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
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
