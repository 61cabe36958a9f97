package tutti.grid.node;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntConsumer;
import tutti.grid.store.GroupOwners;
import tutti.sim.host.Host;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;

/** Nodes of groups that crash and are started again, at random instants, also while they or others are being brought up. More than half of each group is always there and brought up. */
final class Replacements extends RandomMoves {
    private final GroupOwners groups;

    Replacements(RandomStream random, Kernel kernel, Map<Integer, Host> hosts, Map<Integer, GridNode> nodes,
            GridRun.Setting setting, IntConsumer crash) {
        super(random, kernel, hosts, nodes, setting, crash);
        this.groups = new GroupOwners(hosts.keySet(), setting.degree());
    }

    @Override
    void run() {
        for (int move = 0; move < setting.moves(); move++) {
            kernel.runUntil(kernel.now() + random.between(0, random.chance(0.3) ? 1500 : 100) * Nanos.MILLI
                    + random.between(0, 1000) * Nanos.MICRO);
            nodes.values().removeIf(node -> node.ended() != null);
            List<Integer> all = new ArrayList<>(hosts.keySet());
            random.shuffle(all);
            all.stream().filter(number -> !nodes.containsKey(number) || mayCrash(number)).findFirst()
                    .ifPresent(number -> {
                        if (nodes.containsKey(number)) {
                            crash.accept(number);
                        } else {
                            start(number);
                        }
                    });
        }
        List<Integer> down = new ArrayList<>(hosts.keySet());
        down.removeAll(nodes.keySet());
        // One may be missed for ever.
        down.stream().skip(random.nextInt(2)).forEach(this::start);
    }

    private boolean mayCrash(int number) {
        List<Integer> group = groups.groups().get(groups.groupOf(number));
        long left = group.stream().filter(node -> node != number && nodes.containsKey(node)
                && nodes.get(node).isMember()).count();
        return 2 * left > group.size();
    }
}
