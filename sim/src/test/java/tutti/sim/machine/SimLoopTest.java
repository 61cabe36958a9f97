package tutti.sim.machine;

import java.util.function.Consumer;
import org.junit.jupiter.api.Nested;
import tutti.runtime.Loop;
import tutti.runtime.LoopContract;
import tutti.runtime.Machine;
import tutti.runtime.TestWorld;

class SimLoopTest extends LoopContract {
    @Override
    protected TestWorld world() {
        return new SimWorld(1, 2);
    }

    /** The same of a network's loop. */
    @Nested
    class OfANetwork extends LoopContract {
        @Override
        protected TestWorld world() {
            return new SimWorld(2, 2);
        }

        @Override
        protected Loop loop(Machine machine, String name, Consumer<Throwable> onFailure) {
            return machine.network(name, onFailure).loop();
        }
    }
}
