package tutti.grid.node;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntConsumer;
import tutti.grid.GridException;
import tutti.grid.view.Layout;
import tutti.grid.view.View;
import tutti.sim.host.Host;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;

/**
 * Nodes that crash, are started again, join and leave, at random instants. Fewer crash than a key has owners, from when keys lie on all nodes until they do again; and
 * what is left of the members can always go on.
 */
final class Moves extends RandomMoves {
    private int mayCrash;

    Moves(RandomStream random, Kernel kernel, Map<Integer, Host> hosts, Map<Integer, GridNode> nodes,
            GridRun.Setting setting, IntConsumer crash) {
        super(random, kernel, hosts, nodes, setting, crash);
    }

    @Override
    void run() {
        for (int move = 0; move < setting.moves(); move++) {
            kernel.runUntil(kernel.now() + random.between(0, random.chance(0.3) ? 1500 : 200) * Nanos.MILLI);
            nodes.values().removeIf(node -> node.ended() != null);
            if (isWhole()) {
                mayCrash = setting.degree() - 1;
            }
            switch (random.nextInt(4)) {
                case 0, 1 -> crash();
                case 2 -> join();
                default -> leave();
            }
        }
        // Some of those that are down come back.
        for (int i = 0; i < hosts.size(); i++) {
            if (!nodes.containsKey(i) && random.chance(0.5)) {
                start(i);
            }
        }
    }

    private List<View> views() {
        return nodes.values().stream().filter(GridNode::isMember).map(GridNode::view).toList();
    }

    /** Whether all nodes agree that keys lie on all that are there. */
    private boolean isWhole() {
        List<View> views = views();
        return views.stream().distinct().count() == 1
                && views.getFirst().layout().phase() == Layout.Phase.STABLE
                && views.getFirst().layout().after().equals(views.getFirst().members())
                && views.getFirst().members().stream()
                        .allMatch(node -> nodes.containsKey(node) && nodes.get(node).isMember()
                                && nodes.get(node).view().equals(views.getFirst()));
    }

    private void crash() {
        List<Integer> all = new ArrayList<>(nodes.keySet());
        int victim = all.get(random.nextInt(all.size()));
        Set<Integer> left = new TreeSet<>(nodes.keySet());
        left.remove(victim);
        left.removeIf(node -> !nodes.get(node).isMember());
        // Of any view that may be the last one, or be agreed on just now, a majority must live.
        boolean goesOn = views().stream().allMatch(view -> {
            Set<Integer> same = new TreeSet<>(left);
            same.removeIf(node -> !nodes.get(node).view().processes().getOrDefault(node, View.Member.UNKNOWN)
                    .equals(view.processes().get(node)));
            return 2 * same.size() > view.members().size() + 1;
        });
        if (mayCrash > 0 && goesOn) {
            mayCrash--;
            crash.accept(victim);
        }
    }

    private void join() {
        List<Integer> down = new ArrayList<>(hosts.keySet());
        down.removeAll(nodes.keySet());
        if (!down.isEmpty()) {
            start(down.get(random.nextInt(down.size())));
        }
    }

    private void leave() {
        List<Integer> all = new ArrayList<>(nodes.keySet());
        GridNode node = nodes.get(all.get(random.nextInt(all.size())));
        node.loop().execute(() -> {
            try {
                node.leave(new GridTransaction.Answer<>() {
                    @Override
                    public void is(GridNode value) {}

                    @Override
                    public void failed(GridException why) {}
                });
            } catch (GridException tooFew) {
                // It stays.
            }
        });
    }
}
