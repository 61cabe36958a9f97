/** Tests of the simulator as a whole. */
@NullMarked
package tutti.sim;

import org.jspecify.annotations.NullMarked;
