/**
 * The driver {@code jdbc:tutti:}: connections to a cluster rather than to a server, on top of pgjdbc's, which speak the
 * PostgreSQL protocol with one node each; and connections to a node in the same virtual machine, if there is one.
 */
@NullMarked
package tutti.jdbc;

import org.jspecify.annotations.NullMarked;
