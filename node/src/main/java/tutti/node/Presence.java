package tutti.node;

import java.util.Set;
import java.util.TreeSet;
import tutti.core.protocol.Protocol;
import tutti.core.spi.Group;

/** Which nodes take part, and where their protocol would have the order decided. Of the replica's loop. */
final class Presence {
    private final Protocol protocol;
    private final Group group;
    private final OrderInbox inbox;
    private final Members members;
    private final Ballots ballots;
    private Set<Integer> orderers = Set.of();

    Presence(Protocol protocol, Group group, OrderInbox inbox, Members members, Ballots ballots) {
        this.protocol = protocol;
        this.group = group;
        this.inbox = inbox;
        this.members = members;
        this.ballots = ballots;
    }

    /** Members that can be reached, but for those that hold what others do not. */
    Set<Integer> nodes() {
        Set<Integer> present = new TreeSet<>(inbox.view().members());
        present.retainAll(members.all());
        present.removeAll(ballots.excluded());
        return present;
    }

    /** Tells the order where the protocol would have it decided. */
    void advise() {
        Set<Integer> wanted = protocol.orderers();
        if (!wanted.equals(orderers)) {
            orderers = wanted;
            group.prefer(wanted);
        }
    }
}
