/** Mirrors of {@code java.lang}: threads and the clock. Import them by name, and they hide the originals. */
@NullMarked
package tutti.minha.jdk.lang;

import org.jspecify.annotations.NullMarked;
