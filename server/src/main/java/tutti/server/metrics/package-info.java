/** What a node counts, as Prometheus reads it. */
@NullMarked
package tutti.server.metrics;

import org.jspecify.annotations.NullMarked;
