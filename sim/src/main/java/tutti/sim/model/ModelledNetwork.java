package tutti.sim.model;

import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.RandomStream;
import tutti.sim.net.LinkConfig;

/**
 * A network without faults, by arithmetic: when does what is sent now arrive? Each site has one line into its cluster's
 * network, each cluster one link to the backbone, in each direction; what is sent takes them one after the other, in the
 * order in which it is sent. A multicast takes the line once for the whole cluster, and once more for each site elsewhere.
 */
final class ModelledNetwork {
    private final Kernel kernel;
    private final Topology topology;
    private final RandomStream random;
    private final int[] cluster;
    private final long[] lineFreeAt;
    private final long[] upFreeAt;
    private final long[] downFreeAt;
    private long localBytes;
    private long wideBytes;
    private long packets;

    ModelledNetwork(Kernel kernel, Topology topology) {
        this.kernel = kernel;
        this.topology = topology;
        this.random = kernel.random("modelled network");
        this.cluster = new int[topology.sites()];
        for (int site = 0; site < cluster.length; site++) {
            cluster[site] = topology.clusterOf(site);
        }
        this.lineFreeAt = new long[cluster.length];
        this.upFreeAt = new long[topology.clusters().size()];
        this.downFreeAt = new long[topology.clusters().size()];
    }

    int sites() {
        return cluster.length;
    }

    /** When a message arrives at each of the sites that it is sent to, or 0 for others; its sender has it now. */
    long[] send(int from, int bytes, boolean[] to) {
        long[] arrival = new long[cluster.length];
        boolean local = false;
        for (int site = 0; site < cluster.length; site++) {
            local |= to[site] && site != from && cluster[site] == cluster[from];
        }
        long left = local ? line(from, bytes) : 0;
        for (int site = 0; site < cluster.length; site++) {
            if (!to[site]) {
                continue;
            }
            if (site == from) {
                arrival[site] = kernel.now();
            } else if (cluster[site] == cluster[from]) {
                arrival[site] = left + latency(topology.local());
            } else {
                arrival[site] = wide(cluster[from], cluster[site], line(from, bytes) + latency(topology.local()), bytes)
                        + latency(topology.local());
            }
        }
        return arrival;
    }

    /** How long something small takes between two sites when nothing is in its way. */
    long latency(int from, int to) {
        if (from == to) {
            return 0;
        }
        if (cluster[from] == cluster[to]) {
            return latency(topology.local());
        }
        return 2 * latency(topology.local()) + 2 * latency(topology.wide());
    }

    /** Counts something small that was sent to all, and whose time is that of {@link #latency(int, int)}. */
    void countSmall(int bytes) {
        localBytes += wireBytes(topology.local(), bytes);
        packets++;
    }

    private long latency(LinkConfig link) {
        return link.latency().sample(random);
    }

    private long line(int from, int bytes) {
        long wire = wireBytes(topology.local(), bytes);
        packets += topology.local().fragments(bytes);
        localBytes += wire;
        lineFreeAt[from] = Math.max(kernel.now(), lineFreeAt[from]) + wireNanos(topology.local(), wire);
        return lineFreeAt[from];
    }

    private long wide(int from, int to, long at, int bytes) {
        long wire = wireBytes(topology.wide(), bytes);
        wideBytes += 2 * wire;
        upFreeAt[from] = Math.max(at, upFreeAt[from]) + wireNanos(topology.wide(), wire);
        long backbone = upFreeAt[from] + latency(topology.wide());
        downFreeAt[to] = Math.max(backbone, downFreeAt[to]) + wireNanos(topology.wide(), wire);
        return downFreeAt[to] + latency(topology.wide());
    }

    private static long wireBytes(LinkConfig link, int bytes) {
        return bytes + (long) link.fragments(bytes) * link.headerBytes();
    }

    private static long wireNanos(LinkConfig link, long bytes) {
        return bytes * Byte.SIZE * 1_000_000_000 / link.bitsPerSecond();
    }

    Traffic traffic() {
        return new Traffic(localBytes, wideBytes, packets, 0);
    }
}
