/**
 * A node put together: database, order, replica, front end and admin HTTP, as a configuration file says
 * ({@code tutti.server.config}), with metrics for Prometheus ({@code tutti.server.metrics}) and the pages that operators ask
 * ({@code tutti.server.http}). {@link tutti.server.NodeServer} starts a node and begins another life of it when one fails;
 * {@link tutti.server.NodeProgram} is the program that production runs.
 */
@NullMarked
package tutti.server;

import org.jspecify.annotations.NullMarked;
