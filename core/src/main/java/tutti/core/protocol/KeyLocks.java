package tutti.core.protocol;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;

/**
 * Which transactions hold which keys at one replica, and in which way: who stands in the way of a key set
 * ({@link KeyKind#conflictsWith}). A transaction never stands in its own way. Not for use by several threads.
 */
final class KeyLocks {
    private record Lock(TransactionId holder, KeyKind kind) {}

    private final Map<Long, List<Lock>> locks = new HashMap<>();
    private final Map<TransactionId, KeySet> holders = new HashMap<>();

    /** Notes them as held, whoever else holds them. */
    void hold(TransactionId holder, KeySet keys) {
        if (holders.putIfAbsent(holder, keys) != null) {
            throw new IllegalStateException(holder + " holds its keys already");
        }
        for (int i = 0; i < keys.size(); i++) {
            locks.computeIfAbsent(keys.hash(i), _ -> new ArrayList<>()).add(new Lock(holder, keys.kind(i)));
        }
    }

    /** Whether it holds its keys. */
    boolean holds(TransactionId holder) {
        return holders.containsKey(holder);
    }

    /** Gives up what it holds, if it holds anything. */
    void release(TransactionId holder) {
        KeySet keys = holders.remove(holder);
        for (int i = 0; keys != null && i < keys.size(); i++) {
            locks.computeIfPresent(keys.hash(i), (_, held) -> {
                held.removeIf(lock -> lock.holder().equals(holder));
                return held.isEmpty() ? null : held;
            });
        }
    }

    /** Who holds one of these keys in a conflicting way, in the order in which they took them. */
    Set<TransactionId> inTheWay(TransactionId of, KeySet keys) {
        Set<TransactionId> found = new LinkedHashSet<>();
        for (int i = 0; i < keys.size(); i++) {
            for (Lock lock : locks.getOrDefault(keys.hash(i), List.of())) {
                if (!lock.holder().equals(of) && lock.kind().conflictsWith(keys.kind(i))) {
                    found.add(lock.holder());
                }
            }
        }
        return found;
    }
}
