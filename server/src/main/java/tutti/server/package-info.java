/** One node put together: database, order, replica, front end, admin HTTP. */
@NullMarked
package tutti.server;

import org.jspecify.annotations.NullMarked;
