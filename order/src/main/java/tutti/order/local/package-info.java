/** An adapter of {@link tutti.core.spi.Order}: an order inside one process. */
@NullMarked
package tutti.order.local;

import org.jspecify.annotations.NullMarked;
