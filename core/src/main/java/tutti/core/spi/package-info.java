/** What a world must provide: a total order and an engine. */
@NullMarked
package tutti.core.spi;

import org.jspecify.annotations.NullMarked;
