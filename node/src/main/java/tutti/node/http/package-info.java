/** The admin HTTP server: health, metrics, status. */
@NullMarked
package tutti.node.http;

import org.jspecify.annotations.NullMarked;
