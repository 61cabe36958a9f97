package tutti.sim.machine;

import tutti.runtime.DirectoryContract;
import tutti.runtime.TestWorld;

class SimDirectoryTest extends DirectoryContract {
    @Override
    protected TestWorld world() {
        return new SimWorld(1, 2);
    }
}
