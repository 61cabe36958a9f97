/** The tutti command. */
@NullMarked
package tutti.cli;

import org.jspecify.annotations.NullMarked;
