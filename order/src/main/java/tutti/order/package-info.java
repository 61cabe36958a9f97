/** Adapters of the total order: in one process, and on a Raft log. */
@NullMarked
package tutti.order;

import org.jspecify.annotations.NullMarked;
