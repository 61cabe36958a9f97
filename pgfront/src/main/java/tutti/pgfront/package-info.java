/**
 * The PostgreSQL front end of nodes whose database is in their own virtual machine (H2, HSQLDB): the protocol, sessions,
 * types and catalogs that a PostgreSQL server would bring along.
 */
@NullMarked
package tutti.pgfront;

import org.jspecify.annotations.NullMarked;
