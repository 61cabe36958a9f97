package tutti.runtime.real;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
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
