/** An adapter of {@link tutti.core.spi.Order}: an order inside one process, for tests. */
@NullMarked
package tutti.order.local;

import org.jspecify.annotations.NullMarked;
