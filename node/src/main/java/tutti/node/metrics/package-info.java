/** What a node counts and measures, for Prometheus. */
@NullMarked
package tutti.node.metrics;

import org.jspecify.annotations.NullMarked;
