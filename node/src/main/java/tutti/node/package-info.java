/**
 * A real replica. Its event loop runs a protocol of {@code core}; its pipeline commits and applies what the protocol decides,
 * in the order's positions; it recovers from the order's log, and answers what clients ask about transactions. It knows
 * orders and engines by their SPIs ({@code tutti.core.spi}) only. Front ends talk to {@link tutti.node.Transactions}; begin
 * with {@link tutti.node.ReplicaNode}.
 */
@NullMarked
package tutti.node;

import org.jspecify.annotations.NullMarked;
