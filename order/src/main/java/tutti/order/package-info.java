/**
 * Adapters of the total order ({@code tutti.core.spi.Order}): within one process ({@code tutti.order.local}), for tests and
 * nodes in one virtual machine; on a Raft log on every node's disk ({@code tutti.order.raft}), the default; and by group
 * communication in the nodes' memory ({@code tutti.order.group}). {@link tutti.order.Orders} has those that nodes can have.
 */
@NullMarked
package tutti.order;

import org.jspecify.annotations.NullMarked;
