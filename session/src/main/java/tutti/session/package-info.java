/**
 * Clients of a database in the node's own virtual machine (H2, HSQLDB). {@link tutti.session.EmbeddedSession} joins a
 * session of the engine with the node: it tells what a transaction reads and changes, has it certified and ordered when it
 * commits, and rolls it back when it stands in the way. The full PostgreSQL front end and the embedded driver both use it.
 */
@NullMarked
package tutti.session;

import org.jspecify.annotations.NullMarked;
