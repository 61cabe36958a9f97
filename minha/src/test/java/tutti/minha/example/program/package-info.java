/** Programs for the JDK, for tests of how they run in the simulation. */
@NullMarked
package tutti.minha.example.program;

import org.jspecify.annotations.NullMarked;
