/** One node put together: database, order, replica, front end, admin HTTP. */
@NullMarked
package tutti.cli.server;

import org.jspecify.annotations.NullMarked;
