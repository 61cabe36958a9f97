package tutti.node;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import tutti.core.txn.TransactionId;

/**
 * Which transactions commit at a position besides the one under whose name its changes go, while it is not visible here. Of the replica's
 * loop. As many as are delivered and not visible.
 */
final class CommittedTogether {
    private final TreeMap<Long, List<TransactionId>> positions = new TreeMap<>();

    /** One more. */
    void add(long position, TransactionId transaction) {
        positions.computeIfAbsent(position, _ -> new ArrayList<>()).add(transaction);
    }

    /** All of a position that is not visible, the one under whose name its changes go first. */
    List<TransactionId> all(long position, TransactionId first) {
        List<TransactionId> all = new ArrayList<>();
        all.add(first);
        all.addAll(positions.getOrDefault(position, List.of()));
        return all;
    }

    /** All up to a position is visible. */
    void visible(long position) {
        positions.headMap(position, true).clear();
    }
}
