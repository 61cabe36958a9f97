/** A node of a grid, on the seam of {@code runtime}: the same class runs in a process and in a simulation. */
@NullMarked
package tutti.grid.node;

import org.jspecify.annotations.NullMarked;
