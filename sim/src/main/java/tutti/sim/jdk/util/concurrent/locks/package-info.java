/** Mirrors of {@code java.util.concurrent.locks}, with its interfaces. */
@NullMarked
package tutti.sim.jdk.util.concurrent.locks;

import org.jspecify.annotations.NullMarked;
