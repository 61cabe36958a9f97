package tutti.engine.postgres.apply;

import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.engine.postgres.capture.Promise;

/**
 * The transactions that clients have prepared and not ended, as far as the database has them: what {@code tutti.prepared} holds, by
 * their keys (docs/decisions/0036). One may be here a little before the database has it and a little after, which can only abort
 * others. Safe for use from any thread.
 */
public final class Promises {
    private final Map<String, Held> held = new ConcurrentHashMap<>();

    /** A promise, with the ways in which each of its keys is touched. */
    private record Held(Promise promise, Map<Long, Set<KeyKind>> kinds) {
        static Held of(Promise promise) {
            Map<Long, Set<KeyKind>> kinds = new HashMap<>();
            KeySet keys = promise.keys();
            for (int i = 0; i < keys.size(); i++) {
                kinds.computeIfAbsent(keys.hash(i), _ -> EnumSet.noneOf(KeyKind.class)).add(keys.kind(i));
            }
            return new Held(promise, kinds);
        }
    }

    /** The transaction is about to be kept in the database, or is. */
    public void keep(Promise promise) {
        held.put(promise.identifier(), Held.of(promise));
    }

    /** It has ended, or has not been kept. */
    void forget(String identifier, String token) {
        held.computeIfPresent(identifier, (_, each) -> each.promise().token().equals(token) ? null : each);
    }

    /** What is promised to the transaction of that name; null if there is none. */
    public @Nullable Promise of(String identifier) {
        Held found = held.get(identifier);
        return found == null ? null : found.promise();
    }

    /** As {@link tutti.core.spi.Engine#promised}. */
    public AbortReason.@Nullable Promised met(KeySet keys) {
        for (Held each : held.values()) {
            for (int i = 0; i < keys.size(); i++) {
                Set<KeyKind> others = each.kinds().get(keys.hash(i));
                KeyKind kind = keys.kind(i);
                if (others != null && others.stream().anyMatch(kind::conflictsWith)) {
                    return new AbortReason.Promised(i, each.promise().identifier());
                }
            }
        }
        return null;
    }
}
