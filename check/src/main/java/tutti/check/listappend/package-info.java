/** What the clients of the list-append workload saw, checked against isolation levels. */
@NullMarked
package tutti.check.listappend;

import org.jspecify.annotations.NullMarked;
