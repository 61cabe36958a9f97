/**
 * Total orders in the simulated world, behind the same SPI as the real ones: {@link tutti.sim.world.order.GroupOrder}, made
 * of real group communication over the simulated network, and {@link tutti.sim.world.order.IdealOrder}, which is given.
 */
@NullMarked
package tutti.sim.world.order;

import org.jspecify.annotations.NullMarked;
