/** Mirrors of {@code java.net}: sockets of the simulated network. */
@NullMarked
package tutti.minha.jdk.net;

import org.jspecify.annotations.NullMarked;
