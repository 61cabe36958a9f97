/** A real replica: event loop, applier, recovery, configuration, metrics, admin HTTP. */
@NullMarked
package tutti.node;

import org.jspecify.annotations.NullMarked;
