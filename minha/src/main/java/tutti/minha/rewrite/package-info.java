/**
 * Runs programs in the simulation that were compiled for the JDK and not changed: their class files are rewritten when they
 * are loaded, so that what they say of {@code java.lang.Thread}, {@code java.net}, {@code java.util.concurrent}, the clock
 * and monitors becomes what {@link tutti.minha} says of them. {@link tutti.minha.rewrite.UnchangedProgram} is the way
 * in; each process has classes, and with them static variables, of its own.
 */
@NullMarked
package tutti.minha.rewrite;

import org.jspecify.annotations.NullMarked;
