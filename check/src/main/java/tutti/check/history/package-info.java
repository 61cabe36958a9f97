/**
 * What a run records, for the checkers to look at afterwards: {@link tutti.check.history.History} as the replicas saw
 * it, with versions and positions; what clients saw is recorded by the workloads themselves
 * ({@link tutti.workload.listappend.ListAppendHistory}, {@link tutti.workload.bank.BankHistory}). Each has a form in
 * lines of JSON.
 */
@NullMarked
package tutti.check.history;

import org.jspecify.annotations.NullMarked;
