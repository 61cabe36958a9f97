package tutti.grid.node;

import java.util.Arrays;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.commit.CommitRequest;
import tutti.grid.store.Key;
import tutti.grid.store.Owners;

/** Whether enough owners of what a transaction writes and checks are there, and have room. */
final class OwnersLeft {
    private OwnersLeft() {}

    /** Why a transaction cannot be committed now, if it cannot. */
    static @Nullable GridException refusal(GridConfig config, Owners owners, IntPredicate isThere,
            IntPredicate isFull, CommitRequest request) {
        for (CommitRequest.Write write : request.writes()) {
            Key key = write.key();
            GridConfig.CacheConfig cache = config.caches().get(key.cache());
            OptionalInt full = Arrays.stream(owners.writers(key)).filter(isThere).filter(isFull).findFirst();
            if (write.value() != null && full.isPresent()) {
                return new GridException(GridException.Reason.FULL, "node " + full.getAsInt() + ", an owner of key "
                        + key
                        + ", stores as much as its storedBytesMax allows: remove entries, have them expire, or raise it");
            }
            long left = Arrays.stream(owners.of(key)).filter(isThere).count();
            if (left > 0 && left < cache.ownersMin()) {
                return new GridException(GridException.Reason.NOT_ENOUGH_OWNERS, "key " + key + " has " + left
                        + " owners left, and cache '" + cache.name() + "' is written with " + cache.ownersMin()
                        + " at least: wait until it is copied to another node, add nodes, or lower ownersMin");
            }
        }
        return request.keys().stream().map(key -> refusal(config, owners, isThere, key)).filter(Objects::nonNull)
                .findFirst().orElse(null);
    }

    /** Why a key can be neither read nor written now: all of its owners are gone, or too many to be sure of anything. */
    static @Nullable GridException refusal(GridConfig config, Owners owners, IntPredicate isThere, Key key) {
        int[] all = owners.of(key);
        long left = Arrays.stream(all).filter(isThere).count();
        if (left == 0) {
            return new GridException(GridException.Reason.OWNER_UNAVAILABLE,
                    "all owners of key " + key + " have crashed, or are not heard: nodes " + Arrays.toString(all));
        }
        if (config.protocol() == CommitProtocol.GROUPS && 2 * left <= all.length) {
            return new GridException(GridException.Reason.NOT_ENOUGH_OWNERS, "of the owners of key " + key + ", nodes "
                    + Arrays.toString(all) + ", " + left
                    + " are heard, and more than half must be: wait for them, or start the grid anew with all nodes");
        }
        return null;
    }
}
