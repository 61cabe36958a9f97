/**
 * Clients of a cluster that take down what they see: sessions over JDBC, what an SQL error means to them, and how a
 * transaction ended for its client. The workloads that use them are {@code listappend} and {@code bank}.
 */
@NullMarked
package tutti.workload.client;

import org.jspecify.annotations.NullMarked;
