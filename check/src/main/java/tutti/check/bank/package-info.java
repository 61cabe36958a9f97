/** What the clients of the bank workload saw, and what its database holds in the end. */
@NullMarked
package tutti.check.bank;

import org.jspecify.annotations.NullMarked;
