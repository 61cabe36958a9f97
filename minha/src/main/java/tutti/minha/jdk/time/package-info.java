/** The clock of a simulated machine as {@link java.time.Clock}. */
@NullMarked
package tutti.minha.jdk.time;

import org.jspecify.annotations.NullMarked;
