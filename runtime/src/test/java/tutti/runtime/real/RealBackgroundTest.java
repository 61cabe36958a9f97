package tutti.runtime.real;

import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import tutti.runtime.BackgroundContract;
import tutti.runtime.TestWorld;

class RealBackgroundTest extends BackgroundContract {
    @TempDir
    private Path directory;

    @Override
    protected TestWorld world() {
        return new RealWorld(directory);
    }
}
