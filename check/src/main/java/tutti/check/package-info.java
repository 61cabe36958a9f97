/**
 * Checkers, which tell whether a cluster holds what it should hold. Each looks at real databases from outside and
 * trusts none of the cluster's own bookkeeping. {@link tutti.check.CheckResult} is what all of them report.
 */
@NullMarked
package tutti.check;

import org.jspecify.annotations.NullMarked;
