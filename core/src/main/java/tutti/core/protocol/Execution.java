package tutti.core.protocol;

import tutti.core.txn.ReadSet;
import tutti.core.txn.WriteSet;

/**
 * How a local transaction has run: what it saw, read and changed.
 *
 * @param begun a position that was visible in this node's engine before the transaction took its first snapshot:
 *            whatever is not above it, the transaction has seen
 * @param lastCommitted the highest position visible in this node's engine when the transaction's locks were all held
 *            and its write set was read; at least {@code begun}
 * @param writes what it changed
 * @param reads what it read in its snapshot; empty unless the protocol {@linkplain Trait#NEEDS_READS needs} or {@linkplain Trait#TAKES_READS takes} it
 */
public record Execution(long begun, long lastCommitted, WriteSet writes, ReadSet reads) {
    public Execution {
        if (begun < 0 || lastCommitted < begun) {
            throw new IllegalArgumentException("begun at " + begun + ", last committed " + lastCommitted);
        }
    }
}
