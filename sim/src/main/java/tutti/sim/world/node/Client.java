package tutti.sim.world.node;

import java.util.List;
import tutti.core.txn.TransactionId;
import tutti.workload.listappend.ListAppendOperation;

/** Whoever waits for the end of a transaction. */
public interface Client {
    /** Why the outcome is not known, if the client lost sight of a node that goes on. */
    String LOST_SIGHT = "lost-sight";

    /** How a transaction ended, as its client sees it. */
    enum Outcome {
        COMMITTED, ABORTED, UNKNOWN
    }

    /**
     * The end of a transaction.
     *
     * @param transaction its name; it may have had others since
     * @param why a short stable name if it was aborted, or the node was lost sight of, otherwise empty
     * @param operations what it did to lists; if the outcome is not known, what it may have appended
     */
    record End(TransactionId transaction, Outcome outcome, String why, List<ListAppendOperation> operations) {}

    /** It ended. */
    void ended(End end);
}
