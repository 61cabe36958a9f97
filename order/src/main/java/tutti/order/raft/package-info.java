/** An adapter of {@link tutti.core.spi.Order}: the durable order: a Raft log on every node. */
@NullMarked
package tutti.order.raft;

import org.jspecify.annotations.NullMarked;
