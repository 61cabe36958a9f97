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
    private final Set<Integer> founding;
    /** Whether one of those that found a group has crashed meanwhile. */
    private boolean hasCrashed;
    /** The group of which all members leave; -1 if none do. */
    private int dissolved = -1;
    private boolean hasCrashedMeanwhile;

    GroupMoves(RandomStream random, Kernel kernel, Map<Integer, Host> hosts, Map<Integer, GridNode> nodes,
            GridRun.Setting setting, IntConsumer crash) {
        super(random, kernel, hosts, nodes, setting, crash);
        Set<Integer> founders = new TreeSet<>(hosts.keySet());
        founders.removeIf(node -> node >= setting.nodes());
        founding = setting.furtherGroup();
        this.groups = new GroupOwners(founders, setting.degree(), setting.furtherGroup());
    }

    @Override
    void run() {
        int founds = random.nextInt(setting.moves());
        int dissolves = setting.dissolves() ? founds + 1 : Integer.MAX_VALUE;
        for (int move = 0; move < setting.moves(); move++) {
            if (move == founds) {
                founding.stream().filter(number -> !nodes.containsKey(number)).forEach(this::start);
            }
            kernel.runUntil(kernel.now() + random.between(0, random.chance(0.3) ? 1500 : 100) * Nanos.MILLI
                    + random.between(0, 1000) * Nanos.MICRO);
            nodes.values().removeIf(node -> node.ended() != null);
            List<Integer> all = new ArrayList<>(hosts.keySet());
            random.shuffle(all);
            if (move < founds) {
                all.removeAll(founding);
            }
            if (move >= dissolves && dissolved < 0) {
                dissolve();
            }
            all.removeIf(number -> !nodes.containsKey(number) && groups.groupOf(number) == dissolved);
            all.stream().filter(number -> !nodes.containsKey(number) || mayGo(number)).findFirst()
                    .ifPresent(number -> {
                        if (!nodes.containsKey(number) && random.chance(0.3)) {
                            remove(number);
                        } else if (!nodes.containsKey(number)) {
                            start(number);
                        } else if (nodes.get(number).isMember() && random.chance(0.5)) {
                            leave(number);
                        } else {
                            crash.accept(number);
                        }
                    });
        }
        nodes.values().removeIf(node -> node.ended() != null);
        List<Integer> down = new ArrayList<>(hosts.keySet());
        down.removeAll(nodes.keySet());
        down.removeIf(number -> groups.groupOf(number) == dissolved);
        // Some may be missed for ever.
        int missed = down.isEmpty() || founding.contains(down.getFirst()) ? 0 : random.nextInt(2);
        down.stream().skip(missed).forEach(this::start);
    }

    private void leave(int number) {
        asMember(nodes.get(number), node -> {
            node.leave(ANSWER);
            leaving.add(node);
        });
    }

    /** The group, of which all that are there leave; -1 if none did. */
    int dissolved() {
        return dissolved;
    }

    /** All members of a group leave, if they and the others know of another one. */
    private void dissolve() {
        List<Integer> some = new ArrayList<>();
        nodes.values().stream().filter(GridNode::isMember).findFirst()
                .ifPresent(node -> some.addAll(((GroupOwners) node.owners()).layout().owning()));
        random.shuffle(some);
        for (int group : some) {
            List<Integer> all = nodes.keySet().stream().filter(number -> groups.groupOf(number) == group).toList();
            boolean isThere = nodes.values().stream().filter(GridNode::isMember).allMatch(node -> {
                GroupOwners owners = (GroupOwners) node.owners();
                return owners.layout().owning().size() > 1 && !owners.layout().isMoving()
                        && 2 * all.size() > owners.of(group).length + 1;
            });
            if (isThere && all.stream().allMatch(number -> isThere(number, group))) {
                dissolved = group;
                all.forEach(this::leave);
                return;
            }
        }
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
        boolean isFounded = nodes.values().stream().filter(GridNode::isMember)
                .allMatch(node -> ((GroupOwners) node.owners()).of(group).length > 0);
        if (founding.contains(number) && !hasCrashed && nodes.keySet().containsAll(founding)) {
            // A minority of those that found it.
            hasCrashed = true;
            return true;
        }
        if (!isFounded) {
            return false;
        }
        if (group == dissolved) {
            return mayCrashMeanwhile(group);
        }
        long there = nodes.keySet().stream().filter(node -> node != number && isThere(node, group)).count();
        boolean changes = nodes.entrySet().stream().anyMatch(node -> groups.groupOf(node.getKey()) == group
                && (!node.getValue().isMember() || leaving.contains(node.getValue())));
        return nodes.values().stream().filter(GridNode::isMember).allMatch(
                node -> there > (((GroupOwners) node.owners()).of(group).length + (changes ? 1 : 0)) / 2);
    }

    /** Once, a minority of a group that is being dissolved. */
    private boolean mayCrashMeanwhile(int group) {
        List<GridNode> of = nodes.entrySet().stream().filter(node -> groups.groupOf(node.getKey()) == group)
                .map(Map.Entry::getValue).toList();
        boolean may = !hasCrashedMeanwhile && of.size() > 2 && of.stream().allMatch(node -> {
            GroupOwners owners = node.isMember() ? (GroupOwners) node.owners() : null;
            return owners != null && !owners.layout().next().contains(group)
                    && 2 * (of.size() - 1) > owners.of(group).length;
        });
        hasCrashedMeanwhile |= may;
        return may;
    }

    private boolean isThere(int node, int group) {
        GridNode of = nodes.get(node);
        return groups.groupOf(node) == group && of != null && of.isMember() && !leaving.contains(of);
    }
}
