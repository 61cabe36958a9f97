package tutti.runtime.real;

import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import tutti.runtime.DirectoryContract;
import tutti.runtime.TestWorld;

class RealDirectoryTest extends DirectoryContract {
    @TempDir
    private Path directory;

    @Override
    protected TestWorld world() {
        return new RealWorld(directory);
    }
}
