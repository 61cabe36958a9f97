/** How ordered write sets get into a replica. */
@NullMarked
package tutti.engine.postgres.apply;

import org.jspecify.annotations.NullMarked;
