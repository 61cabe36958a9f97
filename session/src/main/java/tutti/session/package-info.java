/** Clients in the node's own virtual machine: their sessions on an engine that is there, too. */
@NullMarked
package tutti.session;

import org.jspecify.annotations.NullMarked;
