/** Mirrors of {@code java.util.concurrent.locks}, with its interfaces. */
@NullMarked
package tutti.minha.jdk.util.concurrent.locks;

import org.jspecify.annotations.NullMarked;
