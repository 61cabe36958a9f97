/** Keys, where they live, and the versions that a node keeps of those that live there. Pure. */
@NullMarked
package tutti.grid.store;

import org.jspecify.annotations.NullMarked;
