/** Mirrors of {@code java.net}: sockets of the simulated network. */
@NullMarked
package tutti.sim.jdk.net;

import org.jspecify.annotations.NullMarked;
