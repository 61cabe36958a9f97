/**
 * Workloads that tell isolation levels apart. {@link tutti.workload.sibench.SiBenchInputs} is sibench of Cahill, Röhm and
 * Fekete (Serializable Isolation for Snapshot Databases, SIGMOD 2008): queries over all rows beside updates of single ones,
 * whose only conflicts are between reads and writes. {@link tutti.workload.sibench.WriteSkewInputs} is the smallest thing
 * that snapshot isolation lets go wrong. Both are definitions: what to read and what to write, for a simulated database or a
 * real one.
 */
@NullMarked
package tutti.workload.sibench;

import org.jspecify.annotations.NullMarked;
