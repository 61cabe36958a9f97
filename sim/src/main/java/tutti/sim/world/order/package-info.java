/**
 * The total order that only the simulated world has, behind the same SPI as the real ones, which run in it as they are:
 * {@link tutti.sim.world.order.IdealOrder} is simply there.
 */
@NullMarked
package tutti.sim.world.order;

import org.jspecify.annotations.NullMarked;
