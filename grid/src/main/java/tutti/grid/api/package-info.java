/** The grid for applications: begin with {@link tutti.grid.api.Grid}. Methods block, and may be called from any thread. */
@NullMarked
package tutti.grid.api;

import org.jspecify.annotations.NullMarked;
