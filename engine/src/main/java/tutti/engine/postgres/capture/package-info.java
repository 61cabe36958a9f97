/** How row changes get out of a client's transaction before it commits. */
@NullMarked
package tutti.engine.postgres.capture;

import org.jspecify.annotations.NullMarked;
