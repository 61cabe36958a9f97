/**
 * The replication kernel: vocabulary, certification, protocols and the SPIs that both worlds implement.
 *
 * <p>
 * Nothing in here owns a thread, reads a clock, performs I/O or draws a random number. The build checks that.
 */
@NullMarked
package tutti.core;

import org.jspecify.annotations.NullMarked;
