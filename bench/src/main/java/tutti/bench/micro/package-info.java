/** Benchmarks. */
@NullMarked
package tutti.bench.micro;

import org.jspecify.annotations.NullMarked;
