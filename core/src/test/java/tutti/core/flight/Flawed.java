package tutti.core.flight;

import java.util.Set;
import tutti.core.protocol.Message;
import tutti.core.protocol.PassingProtocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;

/** {@code si} with faults that can be switched on between a recording and its replay. */
class Flawed extends PassingProtocol {
    static boolean skipsWhatOthersDid;
    static boolean countsTwice;

    private final ReplicaWorld world;
    private long told;

    Flawed(ReplicaWorld world) {
        super(Protocols.STANDARD.choose("si").create(1, Set.of(1, 2), world));
        this.world = world;
    }

    @Override
    public void delivered(long position, int sender, Message message) {
        told += countsTwice ? 2 : 1;
        if (skipsWhatOthersDid && sender == 2) {
            world.skip(position);
        } else {
            protocol.delivered(position, sender, message);
        }
    }

    @Override
    public String toString() {
        return "flawed, " + told + " told";
    }
}
