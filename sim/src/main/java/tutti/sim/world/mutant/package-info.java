/**
 * Replication that is broken on purpose, to see that checkers find it. Nothing in protocols, nodes, engines or orders knows of this:
 * a mutant is a small edit of a class file, and runs in a class loader of its own. The list:
 * {@link tutti.sim.world.mutant.Mutants}.
 */
@NullMarked
package tutti.sim.world.mutant;

import org.jspecify.annotations.NullMarked;
