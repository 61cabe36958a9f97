package tutti.node;

import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Group;

/**
 * The members of the cluster as of the position that was delivered last: those with which it began, and what messages in the order have
 * changed since. A function of the delivered prefix, so that all nodes count the same members at the same position.
 *
 * <p>
 * <b>One at a time.</b> A change says which list it is based on, and does not count if that is not the last one. No other begins while a
 * new node has not caught up, except that this one goes again. So lists that follow each other differ by one node.
 *
 * <p>
 * <b>Numbers</b> are never given again: whatever a node that has gone has sent or promised cannot be taken for another one's.
 * Changed on the replica's loop; any thread may look.
 */
final class Members {
    /** So few are left at least: with one node alone there would be no copy of anything. */
    static final int NODES_MIN = 2;
    /** As many as an order can have. */
    static final int NODES_MAX = 15;

    private final Set<Integer> founders;
    /** With addresses, once something has changed. */
    private volatile Group.Members now = new Group.Members(0, new TreeMap<>(), Set.of(), new TreeMap<>());
    private volatile Set<Integer> all;

    /** @param founders those with which the cluster began */
    Members(Set<Integer> founders) {
        this.founders = Set.copyOf(founders);
        all = this.founders;
    }

    /** The list, with addresses if it is not the first. */
    Group.Members now() {
        return now;
    }

    /** All of them. */
    Set<Integer> all() {
        return all;
    }

    boolean has(int node) {
        return all.contains(node);
    }

    /** Those that decide with the others: whose word counts, and for whom the log is kept. */
    Set<Integer> voters() {
        Set<Integer> voters = new TreeSet<>(all);
        voters.removeAll(now.learners());
        return voters;
    }

    /** Begins from a snapshot. */
    void restore(Group.Members image) {
        now = image;
        all = image.number() == 0 ? founders : Set.copyOf(image.addresses().keySet());
    }

    /** Somebody has asked for a change; answers why it does not count, or null if the members are others from here on. */
    @Nullable
    String changed(long position, Control.Changed told) {
        String why = refusal(told);
        if (why == null) {
            SortedMap<Integer, String> addresses = new TreeMap<>(told.addresses());
            Set<Integer> learners = new TreeSet<>(now.learners());
            SortedMap<Integer, String> removed = new TreeMap<>(now.removed());
            switch (told.step()) {
                case ADDED -> learners.add(told.node());
                case REMOVED -> {
                    removed.put(told.node(), addresses.remove(told.node()));
                    learners.remove(told.node());
                }
                case MOVED -> {
                    // It is the same node.
                }
            }
            restore(new Group.Members(position, addresses, learners, removed));
        }
        return why;
    }

    /** Why a change cannot be made now, whoever asks for it; null if it can. */
    @Nullable
    String refusal(Control.Changed wanted) {
        int node = wanted.node();
        boolean comes = wanted.step() == Control.Changed.Step.ADDED;
        if (!comes && wanted.before() == now.number() && !all.contains(node)) {
            return "there is no node " + node + ", only " + new TreeSet<>(all);
        }
        Set<Integer> named = new TreeSet<>(all);
        named.add(node);
        if (wanted.before() != now.number() || !wanted.addresses().keySet().equals(named)) {
            return "the members have changed meanwhile: look at `tutti nodes list`, and ask again if it is still to be";
        }
        Set<Integer> learners = new TreeSet<>(now.learners());
        boolean goes = wanted.step() == Control.Changed.Step.REMOVED;
        if (goes) {
            learners.remove(node);
        }
        if (!learners.isEmpty()) {
            return "node " + learners.iterator().next()
                    + " has been added and has not caught up yet: one change at a time;"
                    + " start that node, or remove it again";
        }
        if (comes) {
            if (all.contains(node)) {
                return "there is a node " + node + " already: give the new one another number";
            }
            if (now.removed().containsKey(node)) {
                return "node " + node + " was removed, and numbers are never given again: give the new one another";
            }
            return all.size() < NODES_MAX ? null : "there are " + all.size() + " nodes, and there can be no more";
        }
        return goes && all.size() <= NODES_MIN
                ? "there are " + all.size() + " nodes only, and " + NODES_MIN + " must be left"
                : null;
    }

    /** A new node has caught up; answers whether it decides with the others from here on. */
    boolean caughtUp(long position, int node, long number) {
        if (number != now.number() || !now.learners().contains(node)) {
            return false;
        }
        Set<Integer> learners = new TreeSet<>(now.learners());
        learners.remove(node);
        restore(new Group.Members(position, now.addresses(), learners, now.removed()));
        return true;
    }
}
