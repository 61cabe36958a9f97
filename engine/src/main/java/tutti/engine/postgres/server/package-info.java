/** PostgreSQL servers of our own: binaries from the dependency, data directories, processes. */
@NullMarked
package tutti.engine.postgres.server;

import org.jspecify.annotations.NullMarked;
