/** What members of a total order delivered, checked against the properties that it promises. */
@NullMarked
package tutti.check.order;

import org.jspecify.annotations.NullMarked;
