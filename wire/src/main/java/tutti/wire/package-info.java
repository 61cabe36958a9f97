/**
 * The PostgreSQL front end of a node whose database is a PostgreSQL server. A client's session is pinned to a connection of
 * the server; messages are passed through, and the front end steps in at transaction boundaries only, so that types,
 * catalogs, COPY and errors are those of the server. {@link tutti.wire.FrontEnd} is what a node starts.
 */
@NullMarked
package tutti.wire;

import org.jspecify.annotations.NullMarked;
