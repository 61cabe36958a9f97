package tutti.runtime.real;

import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import tutti.runtime.NetworkContract;
import tutti.runtime.TestWorld;

class RealNetworkTest extends NetworkContract {
    @TempDir
    private Path directory;

    @Override
    protected TestWorld world() {
        return new RealWorld(directory);
    }
}
