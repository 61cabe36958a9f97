/** Mirrors of {@code java.util}: what keeps time. */
@NullMarked
package tutti.minha.jdk.util;

import org.jspecify.annotations.NullMarked;
