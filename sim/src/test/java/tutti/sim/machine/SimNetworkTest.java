package tutti.sim.machine;

import tutti.runtime.NetworkContract;
import tutti.runtime.TestWorld;

class SimNetworkTest extends NetworkContract {
    @Override
    protected TestWorld world() {
        return new SimWorld(1, 2);
    }
}
