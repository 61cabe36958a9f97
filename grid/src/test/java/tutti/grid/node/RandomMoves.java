package tutti.grid.node;

import java.util.Map;
import java.util.function.IntConsumer;
import tutti.sim.host.Host;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;

/** Nodes that crash and are started again at random instants, of a kind of grid. */
abstract class RandomMoves {
    private static final long LATE_NANOS = 500 * Nanos.MILLI;

    final RandomStream random;
    final Kernel kernel;
    final Map<Integer, Host> hosts;
    final Map<Integer, GridNode> nodes;
    final GridRun.Setting setting;
    final IntConsumer crash;

    RandomMoves(RandomStream random, Kernel kernel, Map<Integer, Host> hosts, Map<Integer, GridNode> nodes,
            GridRun.Setting setting, IntConsumer crash) {
        this.random = random;
        this.kernel = kernel;
        this.hosts = hosts;
        this.nodes = nodes;
        this.setting = setting;
        this.crash = crash;
    }

    /** Makes all moves of the setting. */
    abstract void run();

    final void start(int node) {
        Host host = hosts.get(node);
        host.crash(); // if it has left, or given up, or stands still
        host.boot();
        // Every other clock is far behind what the others have dropped by.
        host.setWallClock(node % 2 == 0 ? 0 : -LATE_NANOS);
    }
}
