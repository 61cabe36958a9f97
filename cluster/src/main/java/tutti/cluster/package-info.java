/** A cluster on this machine: its processes, its directory, and how they are found again. */
@NullMarked
package tutti.cluster;

import org.jspecify.annotations.NullMarked;
