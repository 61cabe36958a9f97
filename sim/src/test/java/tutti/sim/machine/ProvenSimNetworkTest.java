package tutti.sim.machine;

import tutti.runtime.NetworkContract;
import tutti.runtime.TestWorld;

/** The network of simulated machines that prove to each other who they are. */
class ProvenSimNetworkTest extends NetworkContract {
    @Override
    protected TestWorld world() {
        return new SimWorld(1, 2).proving();
    }
}
