/** The adapter for PostgreSQL: an unmodified server behind the {@code Engine} SPI. */
@NullMarked
package tutti.engine.postgres;

import org.jspecify.annotations.NullMarked;
