/**
 * Connections between the nodes of one order: who is there, which messages all of them read, and frames that are carried in turn.
 * Begin with {@link tutti.order.peer.PeerNetwork}.
 */
@NullMarked
package tutti.order.peer;

import org.jspecify.annotations.NullMarked;
