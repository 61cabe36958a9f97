/**
 * From messages that a node wants ordered to batches in a log, and back: a sender repeats what it has not seen delivered, and what the
 * log holds twice counts once. For orders whose messages go through one node that writes.
 */
@NullMarked
package tutti.order.batch;

import org.jspecify.annotations.NullMarked;
