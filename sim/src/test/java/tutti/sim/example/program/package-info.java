/** Programs for the JDK, for tests of how they run in the simulation. */
@NullMarked
package tutti.sim.example.program;

import org.jspecify.annotations.NullMarked;
