/** Checkers: replica comparison and histories. */
@NullMarked
package tutti.check;

import org.jspecify.annotations.NullMarked;
