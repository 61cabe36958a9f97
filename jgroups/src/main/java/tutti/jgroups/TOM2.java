package tutti.jgroups;

import org.jgroups.conf.ClassConfigurator;
import tutti.grid.multicast.Multicast;

/** Total order multicast in two communication steps, in which destinations propose to all who take part: see {@link TotalOrder}. */
public final class TOM2 extends TotalOrder {
    private static final short ID = 17402;

    static {
        ClassConfigurator.addProtocol(ID, TOM2.class);
    }

    /** For a stack. */
    public TOM2() {
        super(Multicast.Steps.TWO);
    }
}
