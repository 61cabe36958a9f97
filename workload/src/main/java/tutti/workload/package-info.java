/**
 * Workloads, one definition each: TPC-C, list-append and bank, with clients over JDBC that record what
 * they see, so that checkers can judge it. The simulator and the performance models take their inputs from here, too.
 */
@NullMarked
package tutti.workload;

import org.jspecify.annotations.NullMarked;
