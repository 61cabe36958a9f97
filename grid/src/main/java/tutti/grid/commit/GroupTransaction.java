package tutti.grid.commit;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;
import tutti.grid.store.GroupRings;
import tutti.grid.store.Key;
import tutti.grid.store.Store;

/** A transaction that runs at a node, or in which it takes part. Changed by {@link GroupCommit} only. */
final class GroupTransaction implements Store.Writer {
    /** The message that orders it. */
    final TransactionId name;
    @Nullable
    TransactionId id;
    @Nullable
    CommitRequest request;
    @Nullable
    Consumer<Result> done;
    /** The layout in which it is dealt with; as long as it is not delivered here, the one in which it was sent. */
    GroupRings layout;
    /** The groups that it goes to. */
    Set<Integer> groups = Set.of();
    /** By group. */
    final Map<Integer, Boolean> votes = new HashMap<>();
    @Nullable
    Boolean outcome;
    // As a member.
    final List<Key> writtenHere = new ArrayList<>();
    final List<CommitRequest.Check> checkedHere = new ArrayList<>();
    long stamp;
    /** What was read below this cannot be checked. */
    long floor;
    boolean delivered;
    boolean voted;
    boolean closed;
    /** How often {@link GroupCommit#tick} has seen it without an outcome. */
    int ticks;

    GroupTransaction(TransactionId name, GroupRings layout) {
        this.name = name;
        this.layout = layout;
    }

    @Override
    public long bound() {
        return stamp;
    }

    CommitRequest request() {
        CommitRequest known = request;
        if (known == null) {
            throw new IllegalStateException("of " + name + " only votes have come");
        }
        return known;
    }
}
