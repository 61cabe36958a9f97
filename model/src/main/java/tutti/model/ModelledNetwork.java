package tutti.model;

import tutti.group.GroupParameters;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.RandomStream;
import tutti.sim.net.LinkConfig;

/**
 * A network by arithmetic: computes when what is sent now arrives. Each site has one line into its cluster's network,
 * each cluster one link to the backbone, in each direction; what is sent takes them one after the other, in the order
 * in which it is sent. A multicast takes the line once for the whole cluster, and once more for each site elsewhere.
 *
 * <p>
 * <b>Faults.</b> It is a reliable channel, as a transport makes one of a network that loses messages: what has not been
 * acknowledged some time after a round trip is sent once more to who lacks it, until it arrives or one of the two has
 * crashed ({@link FaultSchedule}). So loss costs time, and bytes on the sender's line.
 */
final class ModelledNetwork {
    private final Kernel kernel;
    private final Topology topology;
    private final FaultSchedule faults;
    private final GroupParameters.Timing timing;
    private final RandomStream random;
    private final int[] cluster;
    private final long[] lineFreeAt;
    private final long[] upFreeAt;
    private final long[] downFreeAt;
    private long localBytes;
    private long wideBytes;
    private long packets;
    private long lost;

    /** @param timing how long beyond a round trip a sender waits before it sends again, at first and after that */
    ModelledNetwork(Kernel kernel, Topology topology, FaultSchedule faults, GroupParameters.Timing timing) {
        this.kernel = kernel;
        this.topology = topology;
        this.faults = faults;
        this.timing = timing;
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

    /**
     * When a message arrives at each of the sites that it is sent to: {@link FaultSchedule#NEVER} if one of the two crashes
     * before; 0 for others. Its sender has it now.
     */
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
                arrival[site] = repaired(from, site, bytes, left + latency(topology.local()));
            } else {
                long there = wide(cluster[from], cluster[site], line(from, bytes) + latency(topology.local()), bytes)
                        + latency(topology.local());
                arrival[site] = repaired(from, site, bytes, there);
            }
        }
        return arrival;
    }

    /** When something small arrives that is sent at some time, now or later; {@link FaultSchedule#NEVER} as above. */
    long small(int from, int to, int bytes, long at) {
        return at >= faults.crashOf(from)
                ? FaultSchedule.NEVER
                : repaired(from, to, bytes, at + latency(from, to));
    }

    /** When it has arrived at last, of which the first copy would arrive at some time. */
    private long repaired(int from, int to, int bytes, long first) {
        if (faults.isCalm() || from == to) {
            return first;
        }
        long at = first;
        long patience = timing.missingDelayNanos();
        while (at < faults.crashOf(to) && faults.loses(to, at)) {
            lost++;
            long again = at + latency(to, from) + patience;
            if (again >= faults.crashOf(from)) {
                return FaultSchedule.NEVER;
            }
            at = again + sentAgain(from, to, bytes) + latency(from, to);
            patience = timing.missingIntervalNanos();
        }
        return at < faults.crashOf(to) ? at : FaultSchedule.NEVER;
    }

    /** Counts a further copy. It takes the line's time now, since later is not yet known; returns how much of it. */
    private long sentAgain(int from, int to, int bytes) {
        long wire = wireBytes(topology.local(), bytes);
        long nanos = wireNanos(topology.local(), wire);
        packets += topology.local().fragments(bytes);
        localBytes += wire;
        lineFreeAt[from] = Math.max(kernel.now(), lineFreeAt[from]) + nanos;
        if (cluster[from] != cluster[to]) {
            wideBytes += 2 * wireBytes(topology.wide(), bytes);
        }
        return nanos;
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

    /** Counts something small that was sent to all. */
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
        return new Traffic(localBytes, wideBytes, packets, lost);
    }
}
