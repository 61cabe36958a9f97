package tutti.grid.node;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiFunction;
import tutti.grid.GridConfig;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.machine.SimMachine;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;

/** Nodes of a grid, each on a simulated machine of its own. */
final class SimulatedNodes {
    private final Kernel kernel = new Kernel(1);
    private final Map<Integer, GridNode> nodes = new TreeMap<>();
    private final Map<Integer, Host> hosts = new TreeMap<>();

    /**
     * All are started.
     *
     * @param link by which each reaches the others
     * @param config of a node, by its number and the addresses of all
     */
    SimulatedNodes(int count, LinkConfig link,
            BiFunction<Integer, Map<Integer, InetSocketAddress>, GridConfig> config) {
        Network network = new Network(kernel);
        Threads threads = new Threads(kernel);
        Segment segment = network.segment("all", link);
        Map<Integer, InetSocketAddress> members = new TreeMap<>();
        for (int i = 0; i < count; i++) {
            members.put(i, InetSocketAddress.createUnresolved("n" + i, 7000));
        }
        for (int number : members.keySet()) {
            Host host = new Host(kernel, threads, "n" + number, HostConfig.DEFAULT);
            network.attach(host, segment);
            hosts.put(number, host);
            host.onBoot(_ -> {
                try {
                    nodes.put(number, new GridNode(config.apply(number, members), new SimMachine(host, network),
                            GridNode.Observer.NONE));
                } catch (IOException failure) {
                    throw new UncheckedIOException(failure);
                }
            });
            host.boot();
        }
    }

    void passMillis(long millis) {
        kernel.runUntil(kernel.now() + Duration.ofMillis(millis).toNanos());
    }

    GridNode node(int number) {
        return nodes.getOrDefault(number, nodes.get(0));
    }

    Host host(int number) {
        return hosts.getOrDefault(number, hosts.get(0));
    }
}
