/** Spans of transactions, exported by OpenTelemetry's SDK. */
@NullMarked
package tutti.server.trace;

import org.jspecify.annotations.NullMarked;
