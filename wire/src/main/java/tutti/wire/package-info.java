/** The PostgreSQL front end of a node: sessions passed through to the engine. */
@NullMarked
package tutti.wire;

import org.jspecify.annotations.NullMarked;
