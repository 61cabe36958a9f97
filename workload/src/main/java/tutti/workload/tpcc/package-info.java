/**
 * TPC-C (revision 5.11). What the benchmark says is pure and seeded ({@link tutti.workload.tpcc.TpccPopulation},
 * {@link tutti.workload.tpcc.TpccInputs}); what runs it against a database is apart
 * ({@link tutti.workload.tpcc.TpccLoader}, {@link tutti.workload.tpcc.TpccSession},
 * {@link tutti.workload.tpcc.TpccRun}), so that a simulated database can be driven by the same definition.
 */
@NullMarked
package tutti.workload.tpcc;

import org.jspecify.annotations.NullMarked;
