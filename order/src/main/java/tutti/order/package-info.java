/**
 * Adapters of the total order ({@code tutti.core.spi.Order}): within one process ({@code tutti.order.local}), for tests and
 * nodes in one virtual machine; and on a Raft log on every node's disk ({@code tutti.order.raft}), the default.
 */
@NullMarked
package tutti.order;

import org.jspecify.annotations.NullMarked;
