/**
 * Nodes in the application's own virtual machine, with H2 or HSQLDB: what the driver {@code jdbc:tutti:} finds for URLs that
 * begin with {@code jdbc:tutti:embedded:}. The first connection to a URL starts its node; connections are sessions at it.
 */
@NullMarked
package tutti.embedded;

import org.jspecify.annotations.NullMarked;
