/**
 * A replica in the simulated world: runs a protocol between a simulated order, a simulated engine and modelled clients, by
 * the rules that a real node follows. Begin with {@link tutti.sim.world.replica.ReplicaHost}.
 */
@NullMarked
package tutti.sim.world.replica;

import org.jspecify.annotations.NullMarked;
