package tutti.sim.world.replica;

import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.sim.world.engine.PreparedChanges;

/** Changes of a remote transaction that are prepared here, or to be prepared. */
final class Preparation {
    final TransactionId id;
    final WriteSet writes;
    @Nullable
    PreparedChanges changes;
    boolean certified;
    boolean ended;

    Preparation(TransactionId id, WriteSet writes) {
        this.id = id;
        this.writes = writes;
    }

    void rollBack() {
        PreparedChanges own = changes;
        if (own != null) {
            own.rollBack();
        }
    }
}
