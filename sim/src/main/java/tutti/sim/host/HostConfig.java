package tutti.sim.host;

import tutti.sim.disk.DiskConfig;
import tutti.sim.kernel.Nanos;

/**
 * What a host is made of.
 *
 * @param cores at least 1
 * @param speed by which costs are divided; 1 is the machine that they were measured on
 * @param quantumNanos how long a job runs while others wait for a core, at least 1
 * @param sendNanos CPU time for each fragment that is sent, before it leaves
 * @param receiveNanos CPU time for each fragment that arrives, before the receiver sees the message
 * @param disk its disk
 */
public record HostConfig(int cores, double speed, long quantumNanos, long sendNanos, long receiveNanos,
        DiskConfig disk) {
    /** Two cores of speed 1, quantum 10 ms, 5 microseconds a fragment, a disk with a sync of about a millisecond. */
    public static final HostConfig DEFAULT = new HostConfig(2, 1, 10 * Nanos.MILLI, 5 * Nanos.MICRO, 5 * Nanos.MICRO,
            DiskConfig.DEFAULT);

    public HostConfig {
        if (cores < 1 || !(speed > 0) || quantumNanos < 1 || sendNanos < 0 || receiveNanos < 0) {
            throw new IllegalArgumentException(
                    "a host needs a core, a speed and a quantum above 0, and no cost below 0: "
                            + cores + " cores, speed " + speed + ", quantum " + quantumNanos + " ns, " + sendNanos
                            + " and "
                            + receiveNanos + " ns a fragment");
        }
    }

    /** The same with another number of cores. */
    public HostConfig withCores(int number) {
        return new HostConfig(number, speed, quantumNanos, sendNanos, receiveNanos, disk);
    }

    /** The same with messages that take this CPU time for each fragment; 0 saves events. */
    public HostConfig withMessageCosts(long sending, long receiving) {
        return new HostConfig(cores, speed, quantumNanos, sending, receiving, disk);
    }

    /** The same with another disk. */
    public HostConfig withDisk(DiskConfig other) {
        return new HostConfig(cores, speed, quantumNanos, sendNanos, receiveNanos, other);
    }
}
