/** The admin HTTP server: health, metrics, status. */
@NullMarked
package tutti.server.http;

import org.jspecify.annotations.NullMarked;
