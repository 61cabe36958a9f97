package tutti.model;

import tutti.sim.host.CpuPool;
import tutti.sim.kernel.Clock;

/**
 * What the parts of one replica share.
 *
 * @param node its number
 * @param clock what it takes for the time
 * @param cpu its processors
 * @param engines its databases
 * @param storage its log
 * @param locks its lock manager
 * @param world what all replicas share
 */
record Site(int node, Clock clock, CpuPool cpu, Engines engines, LogStorage storage, LockTable locks,
        ModelWorld world) {}
