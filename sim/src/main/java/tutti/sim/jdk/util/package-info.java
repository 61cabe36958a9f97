/** Mirrors of {@code java.util}: what keeps time. */
@NullMarked
package tutti.sim.jdk.util;

import org.jspecify.annotations.NullMarked;
