/**
 * Replication that is broken on purpose, to see that checkers find it. Nothing in protocols, engines or orders knows of this:
 * mutants stand between the parts and change what passes. The list: {@link tutti.sim.world.mutant.Mutants}.
 */
@NullMarked
package tutti.sim.world.mutant;

import org.jspecify.annotations.NullMarked;
