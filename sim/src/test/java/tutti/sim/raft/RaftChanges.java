package tutti.sim.raft;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import tutti.core.spi.Group;
import tutti.order.raft.RaftOrder;
import tutti.sim.kernel.RandomStream;

/**
 * Changes of the members in a {@link RaftRun}, as replicas make them: a message in the order says how the members are from there on,
 * unless another has changed them since it was asked for; all nodes tell their orders of it.
 */
final class RaftChanges {
    private static final int FOUNDERS = 3;

    /** What it asks of the run. */
    interface Nodes {
        /** Has a message ordered by a node; answers its number, or 0 if the node cannot. */
        long append(int node);

        boolean isUp(int node);

        /** It is a member now, and may begin to get a copy. */
        void comes(int node);
    }

    private final Map<Integer, InetSocketAddress> all;
    private final RandomStream random;
    private final Nodes nodes;
    /** By message: the list that it replaces, and by which. */
    private final Map<Long, Group.Members> asked = new HashMap<>();
    private final Map<Long, Long> basedOn = new HashMap<>();
    private final TreeMap<Long, Group.Members> byPosition = new TreeMap<>();

    RaftChanges(Map<Integer, InetSocketAddress> all, RandomStream random, Nodes nodes) {
        this.all = all;
        this.random = random;
        this.nodes = nodes;
        SortedMap<Integer, String> founders = new TreeMap<>();
        for (int node = 0; node < FOUNDERS; node++) {
            founders.put(node, address(node));
        }
        byPosition.put(0L, new Group.Members(0, founders, Set.of(), new TreeMap<>()));
    }

    private String address(int node) {
        InetSocketAddress of = all.get(node);
        return of.getHostString() + ":" + of.getPort();
    }

    private Group.Members now() {
        return byPosition.lastEntry().getValue();
    }

    /** How often members have changed. */
    int count() {
        return byPosition.size() - 1;
    }

    /** The founders know each other only; whoever comes is told all that there may be. */
    Map<Integer, InetSocketAddress> configured(int node) {
        Map<Integer, InetSocketAddress> configured = new TreeMap<>(all);
        configured.keySet().removeIf(other -> node < FOUNDERS && other >= FOUNDERS);
        return configured;
    }

    /** Whether a node that boots has anything to do. */
    boolean begins(int node) {
        return now().addresses().containsKey(node) || (wasRemoved(node) && node < FOUNDERS);
    }

    boolean isMember(int node) {
        return now().addresses().containsKey(node);
    }

    boolean wasRemoved(int node) {
        return now().removed().containsKey(node);
    }

    /** A node begins with what it was told up to a position. */
    void begun(RaftOrder order, long after) {
        Group.Members then = byPosition.floorEntry(after).getValue();
        if (then.number() > 0) {
            order.members(then);
        }
    }

    void delivered(RaftOrder order, long position, long message) {
        Group.Members wanted = asked.get(message);
        if (wanted == null) {
            return;
        }
        if (position > byPosition.lastKey() && basedOn.getOrDefault(message, -1L) == now().number()) {
            Set<Integer> before = now().addresses().keySet();
            Group.Members changed = new Group.Members(position, wanted.addresses(), wanted.learners(),
                    wanted.removed());
            byPosition.put(position, changed);
            changed.addresses().keySet().stream().filter(node -> !before.contains(node)).forEach(nodes::comes);
        }
        Group.Members here = byPosition.get(position);
        if (here != null) {
            order.members(here);
        }
    }

    /** Asks for a change, if there is one to ask for. */
    void next() {
        Group.Members before = now();
        SortedMap<Integer, String> members = new TreeMap<>(before.addresses());
        SortedMap<Integer, String> removed = new TreeMap<>(before.removed());
        Set<Integer> learners = new TreeSet<>(before.learners());
        List<Integer> up = new ArrayList<>(members.keySet());
        up.removeIf(node -> !nodes.isUp(node));
        if (up.isEmpty() || random.nextInt(3) == 0) {
            return;
        }
        int spare = FOUNDERS;
        while (members.containsKey(spare) || removed.containsKey(spare)) {
            spare++;
        }
        int asks = up.get(random.nextInt(up.size()));
        if (!learners.isEmpty() && random.nextInt(5) == 0) {
            int goes = learners.iterator().next();
            learners.clear();
            members.remove(goes);
            removed.put(goes, address(goes));
        } else if (!learners.isEmpty()) {
            // It asks itself, as it does when it has caught up.
            asks = learners.iterator().next();
            learners.clear();
        } else if (all.containsKey(spare) && (members.size() < FOUNDERS || random.nextInt(2) == 0)) {
            members.put(spare, address(spare));
            learners.add(spare);
        } else {
            int goes = new ArrayList<>(members.keySet()).get(random.nextInt(members.size()));
            if (members.size() < FOUNDERS
                    || 2 * up.stream().filter(node -> node != goes).count() <= members.size() - 1) {
                return;
            }
            members.remove(goes);
            removed.put(goes, address(goes));
        }
        long message = nodes.isUp(asks) ? nodes.append(asks) : 0;
        if (message > 0) {
            asked.put(message, new Group.Members(0, members, learners, removed));
            basedOn.put(message, before.number());
        }
    }
}
