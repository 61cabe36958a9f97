/** How transactions commit: by total order multicast, or by two-phase commit. Pure state machines. */
@NullMarked
package tutti.grid.commit;

import org.jspecify.annotations.NullMarked;
