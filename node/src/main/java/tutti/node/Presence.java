package tutti.node;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import tutti.core.protocol.Protocol;
import tutti.core.spi.Group;

/**
 * Which nodes take part, and where their protocol would have the order decided. Of the replica's loop.
 *
 * <p>
 * A node whose database is in trouble goes no further, with all that it has under way. Its protocol's messages would be what others wait for, so
 * to protocols it is gone until it says that the trouble is over: they go on without those that are gone, whatever these still say. Who says what comes
 * by the order; but this is a belief, as views are, and nothing is decided by it.
 */
final class Presence {
    private final Protocol protocol;
    private final Group group;
    private final OrderInbox inbox;
    private final Members members;
    private final Ballots ballots;
    private Set<Integer> orderers = Set.of();
    /** Who has said that its database is in trouble, and at which position. */
    private final Map<Integer, Long> troubled = new TreeMap<>();

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

    /** Those of them who do not stand still either. */
    Set<Integer> well() {
        troubled.values().removeIf(ballots::skipped);
        Set<Integer> well = nodes();
        well.removeAll(troubled.keySet());
        return well;
    }

    /** A node has said that its database is in trouble, and cannot make a position. */
    void isTroubled(int node, long position) {
        troubled.put(node, position);
    }

    /** A node is known to have come to a position, or to have begun anew. Whether it was in trouble. */
    boolean isBeyond(int node, long position) {
        Long at = troubled.get(node);
        return at != null && at <= position && troubled.remove(node, at);
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
