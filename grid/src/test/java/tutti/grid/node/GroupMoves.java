package tutti.grid.node;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import tutti.grid.GridException;
import tutti.grid.store.GroupOwners;
import tutti.sim.host.Host;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;

/**
 * Nodes of groups that crash and are started again, that join and leave, or are removed, at random instants, also while they or others are being brought up. More than half of each group is always there and brought up,
 * whichever of its members a ballot on its way may add or lack.
 */
final class GroupMoves extends RandomMoves {
    private static final GridTransaction.Answer<GridNode> ANSWER = new GridTransaction.Answer<>() {
        @Override
        public void is(GridNode value) {
            // It has ended, or another one has gone.
        }

        @Override
        public void failed(GridException reason) {
            // It goes on leaving, or nobody is removed.
        }
    };

    private final GroupOwners groups;
    private final Set<GridNode> leaving = new HashSet<>();

    GroupMoves(RandomStream random, Kernel kernel, Map<Integer, Host> hosts, Map<Integer, GridNode> nodes,
            GridRun.Setting setting, IntConsumer crash) {
        super(random, kernel, hosts, nodes, setting, crash);
        Set<Integer> founders = new TreeSet<>(hosts.keySet());
        founders.removeIf(node -> node >= setting.nodes());
        this.groups = new GroupOwners(founders, setting.degree());
    }

    @Override
    void run() {
        for (int move = 0; move < setting.moves(); move++) {
            kernel.runUntil(kernel.now() + random.between(0, random.chance(0.3) ? 1500 : 100) * Nanos.MILLI
                    + random.between(0, 1000) * Nanos.MICRO);
            nodes.values().removeIf(node -> node.ended() != null);
            List<Integer> all = new ArrayList<>(hosts.keySet());
            random.shuffle(all);
            all.stream().filter(number -> !nodes.containsKey(number) || mayGo(number)).findFirst()
                    .ifPresent(number -> {
                        if (!nodes.containsKey(number) && random.chance(0.3)) {
                            remove(number);
                        } else if (!nodes.containsKey(number)) {
                            start(number);
                        } else if (random.chance(0.5)) {
                            leave(number);
                        } else {
                            crash.accept(number);
                        }
                    });
        }
        nodes.values().removeIf(node -> node.ended() != null);
        List<Integer> down = new ArrayList<>(hosts.keySet());
        down.removeAll(nodes.keySet());
        // Some may be missed for ever.
        down.stream().skip(random.nextInt(2)).forEach(this::start);
    }

    private void leave(int number) {
        asMember(nodes.get(number), node -> {
            node.leave(ANSWER);
            leaving.add(node);
        });
    }

    /** It may come back, now or while that is on its way. */
    private void remove(int number) {
        List<GridNode> there = nodes.values().stream().filter(GridNode::isMember).toList();
        asMember(there.get(random.nextInt(there.size())), node -> node.remove(number, ANSWER));
    }

    private static void asMember(GridNode node, Consumer<GridNode> task) {
        node.loop().execute(() -> {
            try {
                if (node.isMember()) {
                    task.accept(node);
                }
            } catch (GridException tooFew) {
                // It stays.
            }
        });
    }

    private boolean mayGo(int number) {
        int group = groups.groupOf(number);
        long there = nodes.keySet().stream().filter(node -> node != number && isThere(node, group)).count();
        boolean changes = nodes.entrySet().stream().anyMatch(node -> groups.groupOf(node.getKey()) == group
                && (!node.getValue().isMember() || leaving.contains(node.getValue())));
        return nodes.values().stream().filter(GridNode::isMember).allMatch(
                node -> there > (((GroupOwners) node.owners()).of(group).length + (changes ? 1 : 0)) / 2);
    }

    private boolean isThere(int node, int group) {
        GridNode of = nodes.get(node);
        return groups.groupOf(node) == group && of != null && of.isMember() && !leaving.contains(of);
    }
}
