/**
 * Whole scenarios: replicas of one protocol with engines, disks, an order and clients, under faults, and what checkers say of
 * them. Begin with {@link tutti.sim.world.ScenarioRun}.
 */
@NullMarked
package tutti.sim.world;

import org.jspecify.annotations.NullMarked;
