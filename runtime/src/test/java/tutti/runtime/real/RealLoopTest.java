package tutti.runtime.real;

import java.nio.file.Path;
import java.util.function.Consumer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.io.TempDir;
import tutti.runtime.Loop;
import tutti.runtime.LoopContract;
import tutti.runtime.Machine;
import tutti.runtime.TestWorld;

class RealLoopTest extends LoopContract {
    @TempDir
    private Path directory;

    @Override
    protected TestWorld world() {
        return new RealWorld(directory);
    }

    /** The same of a network's loop. */
    @Nested
    class OfANetwork extends LoopContract {
        @Override
        protected TestWorld world() {
            return new RealWorld(directory);
        }

        @Override
        protected Loop loop(Machine machine, String name, Consumer<Throwable> onFailure) {
            return machine.network(name, onFailure).loop();
        }
    }
}
