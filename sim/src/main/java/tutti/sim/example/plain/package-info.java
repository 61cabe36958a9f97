/**
 * Programs for the JDK that know nothing of the simulation, and run in it as they are ({@link tutti.sim.jdk.rewrite}); they
 * run outside of it too, for example {@code java tutti.sim.example.plain.Timer}.
 */
@NullMarked
package tutti.sim.example.plain;

import org.jspecify.annotations.NullMarked;
