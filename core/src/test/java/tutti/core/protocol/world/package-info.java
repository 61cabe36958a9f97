/** A small deterministic world in which any protocol is run, broken and checked. */
@NullMarked
package tutti.core.protocol.world;

import org.jspecify.annotations.NullMarked;
