package tutti.sim.world.replica;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Request;
import tutti.core.spi.Engine;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** A position that is decided and not visible yet. */
final class Slot {
    enum Kind {
        SKIP, REMOTE, LOCAL, PREPARED, BARRIER
    }

    final long position;
    Kind kind;
    @Nullable
    TransactionId transaction;
    WriteSet writes = WriteSet.EMPTY;
    @Nullable
    Local local;
    @Nullable
    Preparation preparation;
    Request.@Nullable Whole request;
    Engine.@Nullable Applier applier;
    boolean applied;
    /** Earlier positions that must be visible before this one is applied. */
    int blockers;
    final List<Slot> dependents = new ArrayList<>(2);

    Slot(long position, Kind kind) {
        this.position = position;
        this.kind = kind;
    }

    @Override
    public String toString() {
        return kind + " at " + position + (transaction == null ? "" : " of " + transaction);
    }
}
