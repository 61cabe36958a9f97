/** Decides how much is done at a time from what is measured, as pure functions. */
@NullMarked
package tutti.core.tune;

import org.jspecify.annotations.NullMarked;
