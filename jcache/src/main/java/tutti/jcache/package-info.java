/**
 * JCache (JSR-107, {@code javax.cache} 1.1) over a grid: each operation on an entry is a transaction of its own. docs/grid.md says how it is
 * used and what it does not do.
 */
@NullMarked
package tutti.jcache;

import org.jspecify.annotations.NullMarked;
