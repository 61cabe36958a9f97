package tutti.grid.api;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import tutti.grid.node.GridStatus;
import tutti.grid.store.Key;
import tutti.grid.store.Owners;
import tutti.grid.view.Layout;
import tutti.grid.view.View;

/**
 * Who is in a grid and what lies where, as one node knows it. {@link #toString} is for people.
 *
 * @param view number of the node's view
 * @param phase how far keys are moved
 * @param lost whether there may be keys all of whose owners have crashed
 * @param nodes ascending: members, and owners of keys that are no members any more
 */
public record Topology(long view, Layout.Phase phase, boolean lost, List<Node> nodes) {
    /** With so many keys a share is right to one part in a hundred, nearly always. */
    private static final int SAMPLED = 16_384;
    private static final double PERCENT = 100;

    /**
     * A node.
     *
     * @param number of it
     * @param address host, colon, port; empty if it was never heard
     * @param heard whether it is a member that was heard of lately
     * @param joining whether it is being brought up: it copies what its group has, and takes no part yet
     * @param shares by cache: the part of the cache's keys that it owns now, 0 to 1, to about one hundredth; with degree d those of all nodes are d
     */
    public record Node(int number, String address, boolean heard, boolean joining, Map<String, Double> shares) {
        /** Keeps a copy. */
        public Node {
            shares = new LinkedHashMap<>(shares);
        }
    }

    /** Keeps a copy. */
    public Topology {
        nodes = List.copyOf(nodes);
    }

    static Topology of(List<String> caches, GridStatus status, View view, Owners owners) {
        Map<Integer, Map<String, Double>> shares = new LinkedHashMap<>();
        view.members().forEach(node -> shares.put(node, new LinkedHashMap<>()));
        for (int cache = 0; cache < caches.size(); cache++) {
            String name = caches.get(cache);
            shares.values().forEach(of -> of.put(name, 0.0));
            for (int i = 0; i < SAMPLED; i++) {
                Key key = new Key(cache, ByteBuffer.allocate(Integer.BYTES).putInt(i).array());
                for (int owner : owners.of(key)) {
                    shares.computeIfAbsent(owner, _ -> new LinkedHashMap<>()).merge(name, 1.0 / SAMPLED, Double::sum);
                }
            }
        }
        List<Node> nodes = new ArrayList<>();
        shares.keySet().stream().sorted().forEach(node -> {
            View.Member member = view.processes().getOrDefault(node, View.Member.UNKNOWN);
            nodes.add(new Node(node, member.address(), status.members().contains(node),
                    status.joining().contains(node), shares.getOrDefault(node, Map.of())));
        });
        return new Topology(view.number(), status.layout().phase(), status.lost(), nodes);
    }

    /** A line for the grid, and one for each node. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(String.format(Locale.ROOT, "view %d, %s%s", view,
                phase == Layout.Phase.STABLE ? "nothing is moved" : "keys are being moved: " + phase,
                lost ? ", keys may be lost: acceptLoss()" : ""));
        for (Node node : nodes) {
            text.append(String.format(Locale.ROOT, "%nnode %3d %-22s %-8s", node.number,
                    node.address.isEmpty() ? "-" : node.address,
                    node.heard ? "there" : node.joining ? "joining" : "silent"));
            node.shares.forEach((cache, share) -> text
                    .append(String.format(Locale.ROOT, " %s %.0f%%", cache, PERCENT * share)));
        }
        return text.toString();
    }
}
