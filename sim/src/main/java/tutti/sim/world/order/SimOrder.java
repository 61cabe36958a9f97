package tutti.sim.world.order;

import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.core.spi.Order;

/** An order of the simulated world. All calls and callbacks are events of its host; a crash of the host closes it. */
public interface SimOrder extends Order, DurableLog, Group {
    @Override
    default DurableLog log() {
        return this;
    }

    @Override
    default Group group() {
        return this;
    }

    @Override
    void close();
}
