/**
 * The list-append workload: transactions append unique values to lists and read whole lists, so that each read tells the
 * history of its key (the idea of Elle: Kingsbury and Alvaro, VLDB 2020). What clients do is pure and seeded
 * ({@link tutti.workload.listappend.ListAppendInputs}); what they saw is a
 * {@link tutti.workload.listappend.ListAppendHistory}; {@link tutti.workload.listappend.ListAppendRun} runs it over JDBC.
 */
@NullMarked
package tutti.workload.listappend;

import org.jspecify.annotations.NullMarked;
