/** The commands that measure: each says what it measured, on what, how often, and with what spread. */
@NullMarked
package tutti.bench;

import org.jspecify.annotations.NullMarked;
