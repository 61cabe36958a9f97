package tutti.sim.world.replica;

import java.util.List;
import tutti.workload.listappend.ListAppendOperation;

/** Whoever waits for the end of a transaction. */
public interface Client {
    /** How a transaction ended, as its client sees it. */
    enum End {
        COMMITTED, ABORTED, UNKNOWN
    }

    /**
     * It ended.
     *
     * @param why a short stable name if it was aborted, otherwise empty
     * @param operations what it did to lists
     */
    void ended(End end, String why, List<ListAppendOperation> operations);
}
