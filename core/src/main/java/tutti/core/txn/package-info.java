/** The vocabulary of replication: transactions, write sets, keys, outcomes. */
@NullMarked
package tutti.core.txn;

import org.jspecify.annotations.NullMarked;
