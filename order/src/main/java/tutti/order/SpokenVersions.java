package tutti.order;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Type;
import tutti.core.schema.Types;
import tutti.core.schema.Versions;

/**
 * What the nodes of a cluster say that they speak, and what this node writes by it: to another one the newest version that both
 * speak, for all of them the newest that all are known to speak. Whoever has not been heard is taken to speak the oldest one
 * that this node does. Of one loop, but for {@link #common}.
 */
public final class SpokenVersions {
    /** Names of what a node can do that is no matter of versions, in greetings. Unknown ones mean nothing. */
    public static final Type<Set<String>> CAPABILITIES = Types.set(Types.text(64), 64);

    private final Versions own;
    private final Map<Integer, @Nullable Versions> others = new TreeMap<>();
    private final Map<Integer, Set<String>> abilities = new TreeMap<>();
    private volatile int common;
    private volatile Set<String> besides = Set.of();
    /** What each of the others can do. */
    private volatile Map<Integer, Set<String>> able = Map.of();

    /**
     * Nobody has been heard.
     *
     * @param own what this node speaks
     * @param others ids of the other nodes
     */
    public SpokenVersions(Versions own, Set<Integer> others) {
        this.own = own;
        others.forEach(node -> this.others.put(node, null));
        look();
    }

    /**
     * Another node has said what it speaks; its last word counts.
     *
     * @param capabilities names of what it can do besides
     */
    public void heard(int node, Versions speaks, Set<String> capabilities) {
        others.put(node, speaks);
        abilities.put(node, Set.copyOf(capabilities));
        look();
    }

    /** These are the other nodes now; what is known of those that stay still counts. */
    public void others(Set<Integer> nodes) {
        others.keySet().retainAll(nodes);
        abilities.keySet().retainAll(nodes);
        nodes.forEach(node -> others.putIfAbsent(node, null));
        look();
    }

    private void look() {
        int lowest = own.newest();
        for (Versions theirs : others.values()) {
            lowest = Math.min(lowest, theirs == null ? own.oldest() : theirs.newest());
        }
        common = Math.max(lowest, own.oldest());
        Map<Integer, Set<String>> all = new TreeMap<>();
        others.keySet().forEach(node -> all.put(node, abilities.getOrDefault(node, Set.of())));
        able = all;
    }

    /** This node can do something besides what its build can. Any thread. */
    public void can(Set<String> capabilities) {
        besides = Set.copyOf(capabilities);
    }

    /** What this node says that it can do: what its build can, and what it can besides. Any thread. */
    public Set<String> told(Set<String> build) {
        Set<String> all = new TreeSet<>(build);
        all.addAll(besides);
        return all;
    }

    /** Nodes that have not said what they speak. */
    public Set<Integer> unheard() {
        Set<Integer> unheard = new TreeSet<>(others.keySet());
        unheard.removeIf(node -> others.get(node) != null);
        return unheard;
    }

    /** In which version to write to another node; 0 if it speaks none that this one does. */
    public int with(int node) {
        Versions theirs = others.get(node);
        return theirs == null ? own.oldest() : own.common(theirs);
    }

    /** The newest version that all nodes are known to speak. Any thread. */
    public int common() {
        return common;
    }

    /** Whether all other nodes have said that they can do something. Any thread. */
    public boolean allCan(String capability) {
        // sessions ask for each of their statements: not by a set of those that cannot
        for (Set<String> theirs : able.values()) {
            if (!theirs.contains(capability)) {
                return false;
            }
        }
        return true;
    }

    /** Which other nodes have not said that they can do something. Any thread. */
    public Set<Integer> unable(String capability) {
        Set<Integer> unable = new TreeSet<>();
        able.forEach((node, theirs) -> {
            if (!theirs.contains(capability)) {
                unable.add(node);
            }
        });
        return unable;
    }

    /**
     * Why two nodes cannot talk, or nothing.
     *
     * @param node which says it
     * @param speaks what that speaks
     * @param you what the node speaks that reads it
     */
    public static String foreign(int node, Versions speaks, Versions you) {
        if (speaks.common(you) != 0) {
            return "";
        }
        boolean behind = you.newest() < speaks.oldest();
        return "node " + node + " speaks " + speaks + ", but you speak " + you + ": upgrade "
                + (behind ? "your node" : "node " + node)
                + " to a release that speaks a version of the other, one node after the other";
    }
}
