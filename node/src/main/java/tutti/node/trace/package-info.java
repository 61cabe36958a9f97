/**
 * How a transaction is followed across nodes: spans that a {@link tutti.node.trace.Tracer} records, and the trace context that travels with what is
 * ordered (docs/operations.md, decision 0053). Nothing is decided by any of it.
 */
@NullMarked
package tutti.node.trace;

import org.jspecify.annotations.NullMarked;
