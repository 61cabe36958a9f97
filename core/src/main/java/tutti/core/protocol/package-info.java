/** Replication protocols as pure state machines, and the interface through which they speak to their world. */
@NullMarked
package tutti.core.protocol;

import org.jspecify.annotations.NullMarked;
