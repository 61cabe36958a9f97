package tutti.runtime.real;

import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import tutti.runtime.NetworkContract;
import tutti.runtime.TestWorld;

/** The network of two machines that prove to each other who they are. */
class ProvenNetworkTest extends NetworkContract {
    @TempDir
    private Path directory;

    @Override
    protected TestWorld world() throws Exception {
        return RealWorld.proving(directory);
    }
}
