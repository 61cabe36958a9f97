package tutti.sim.machine;

import tutti.runtime.BackgroundContract;
import tutti.runtime.TestWorld;

class SimBackgroundTest extends BackgroundContract {
    @Override
    protected TestWorld world() {
        return new SimWorld(1, 2);
    }
}
