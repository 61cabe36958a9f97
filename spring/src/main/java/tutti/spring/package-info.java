/**
 * Spring's abstractions of caches and transactions over the grid, for applications: {@link tutti.spring.GridCacheManager},
 * {@link tutti.spring.GridTransactionManager}.
 */
@NullMarked
package tutti.spring;

import org.jspecify.annotations.NullMarked;
