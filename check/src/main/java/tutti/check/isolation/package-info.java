/**
 * Isolation levels as sets of forbidden cycles, and the checkers of histories whose versions are known.
 * {@link tutti.check.isolation.IsolationCheck} asks what a client could notice;
 * {@link tutti.check.isolation.PrefixSnapshotCheck} what Tutti's replicas promise beyond that.
 */
@NullMarked
package tutti.check.isolation;

import org.jspecify.annotations.NullMarked;
