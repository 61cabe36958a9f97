/**
 * The seam between what decides about transactions and the machine it runs on: loops, timers, clocks, randomness, files,
 * connections. Narrow interfaces with one real implementation ({@code tutti.runtime.real}) and one in the simulator. What
 * is written against them starts no thread, reads no clock and opens no file or socket by itself, and runs from the same
 * class files in both worlds.
 *
 * <p>
 * Begin with {@link tutti.runtime.Machine}.
 */
@NullMarked
package tutti.runtime;

import org.jspecify.annotations.NullMarked;
