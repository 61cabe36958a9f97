/**
 * A database in the simulated world: it stores real values, runs transactions as real databases do, and loses what was not
 * durable when its host crashes. Begin with {@link tutti.sim.world.database.Database}.
 */
@NullMarked
package tutti.sim.world.database;

import org.jspecify.annotations.NullMarked;
