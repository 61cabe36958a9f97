/** What Spring Boot configures by itself when this module is there and {@code tutti.grid.self} is set. */
@NullMarked
package tutti.spring.boot;

import org.jspecify.annotations.NullMarked;
