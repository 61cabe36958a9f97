package tutti.node.trace;

import tutti.core.txn.WriteSet;

/** Hears what committed transactions, of all nodes, have changed at this one. */
@FunctionalInterface
public interface CommitListener {
    /**
     * A transaction that has shipped what it changed is visible here. Told in the order of positions, on the replica's loop; must not block.
     * What a node makes again after a crash is told again.
     *
     * @param writes as captured before it committed
     */
    void committed(long position, WriteSet writes);
}
