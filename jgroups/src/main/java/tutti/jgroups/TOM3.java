package tutti.jgroups;

import org.jgroups.conf.ClassConfigurator;
import tutti.grid.multicast.Multicast;

/** Total order multicast in three communication steps, in which destinations propose to the sender, who decides: see {@link TotalOrder}. */
public final class TOM3 extends TotalOrder {
    private static final short ID = 17403;

    static {
        ClassConfigurator.addProtocol(ID, TOM3.class);
    }

    /** For a stack. */
    public TOM3() {
        super(Multicast.Steps.THREE);
    }
}
