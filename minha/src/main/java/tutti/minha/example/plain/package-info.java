/**
 * Programs for the JDK that know nothing of the simulation, and run in it as they are ({@link tutti.minha.rewrite}); they
 * run outside of it too, for example {@code java tutti.minha.example.plain.Timer}.
 */
@NullMarked
package tutti.minha.example.plain;

import org.jspecify.annotations.NullMarked;
