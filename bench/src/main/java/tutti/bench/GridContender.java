package tutti.bench;

import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.grid.CommitProtocol;
import tutti.grid.IsolationLevel;

/** What is measured: our grid by one of its protocols, or somebody else's. */
enum GridContender {
    /** Total order multicast in which all owners exchange proposals. */
    TOM_2(CommitProtocol.TOM_2),
    /** Total order multicast in which the coordinator decides. */
    TOM_3(CommitProtocol.TOM_3),
    /** Total order multicast to groups of owners, of each of which any minority may crash. */
    GROUPS(CommitProtocol.GROUPS),
    /** Locks and two-phase commit. */
    TWO_PHASE(CommitProtocol.TWO_PHASE),
    /** The same, but nobody looks for deadlocks: they last until the lock timeout. */
    TWO_PHASE_BLIND(CommitProtocol.TWO_PHASE),
    /** Infinispan, embedded: distributed, optimistic transactions, nothing read or written by a minority. */
    INFINISPAN(null);

    private final @Nullable CommitProtocol protocol;

    GridContender(@Nullable CommitProtocol protocol) {
        this.protocol = protocol;
    }

    /** Whether it is our grid, so that it can be simulated, too. */
    boolean isOurs() {
        return protocol != null;
    }

    /** Whether it is one that others are compared with. */
    boolean isTwoPhase() {
        return protocol == CommitProtocol.TWO_PHASE;
    }

    /** Of our grid. */
    CommitProtocol protocol() {
        CommitProtocol ours = protocol;
        if (ours == null) {
            throw new IllegalStateException(this + " is not of this project");
        }
        return ours;
    }

    /** Whether it has a level. */
    boolean has(IsolationLevel level) {
        return isOurs()
                || Set.of(IsolationLevel.READ_COMMITTED, IsolationLevel.REPEATABLE_READ_WRITE_SKEW).contains(level);
    }
}
