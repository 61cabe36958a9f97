package tutti.node;

/** What a node answers when it is asked what became of a transaction, its own or another node's. */
public enum TransactionOutcome {
    /** It has committed, and what it changed is visible at the node that answers. */
    COMMITTED,
    /** It has not committed, and never will. */
    ABORTED,
    /** Its node may yet commit it; ask again. */
    IN_PROGRESS,
    /** Too long ago, or nothing that the cluster has ever heard of. */
    UNKNOWN
}
