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

    /** Sets who hears of messages before they are ordered, if this order can tell; before {@link #start}. */
    void onTentative(Tentative listener);

    /** Hears of messages that will probably be delivered soon, in about this order. */
    interface Tentative {
        /**
         * Such a message.
         *
         * @param payload not to be modified
         */
        void tentative(int sender, byte[] payload);
    }
}
