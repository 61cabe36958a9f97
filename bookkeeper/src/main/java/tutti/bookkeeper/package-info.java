/**
 * An adapter of {@link tutti.core.spi.Order}: a total order whose log is a row of ledgers in Apache BookKeeper, written by one node at
 * a time. Found by {@link tutti.order.OrderDescriptor}; nodes that do not use it do not have it on their class path. Begin with
 * {@link tutti.bookkeeper.BookKeeperOrder}.
 */
@NullMarked
package tutti.bookkeeper;

import org.jspecify.annotations.NullMarked;
