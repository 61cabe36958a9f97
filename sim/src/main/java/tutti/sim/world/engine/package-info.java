/**
 * A database in the simulated world: it stores real values, runs transactions under snapshot or locking concurrency control,
 * and loses what was not durable when its host crashes. Begin with {@link tutti.sim.world.engine.SimEngine}.
 */
@NullMarked
package tutti.sim.world.engine;

import org.jspecify.annotations.NullMarked;
