/** Which nodes are there: a sequence of views on which they agree. A pure state machine. */
@NullMarked
package tutti.grid.view;

import org.jspecify.annotations.NullMarked;
