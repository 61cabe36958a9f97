/** Benchmarks. */
@NullMarked
package tutti.bench;

import org.jspecify.annotations.NullMarked;
