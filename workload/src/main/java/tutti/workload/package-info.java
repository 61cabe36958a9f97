/** Workloads, one definition each. */
@NullMarked
package tutti.workload;

import org.jspecify.annotations.NullMarked;
