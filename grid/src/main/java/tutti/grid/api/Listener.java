package tutti.grid.api;

import java.util.Optional;

/**
 * Hears of entries of a cache that change; see {@link Cache#listen}. Called by one thread at a time.
 *
 * @param <K> keys
 * @param <V> values
 */
public interface Listener<K, V> {
    /**
     * An entry was written or removed by a transaction that has committed. That it expires is not told.
     *
     * @param value what it is now; empty if it was removed
     */
    void changed(K key, Optional<V> value);

    /** So many changes were not told at this place, since this listener did not keep up: read again what must be known. */
    default void missed(long changes) {
        // Who keeps nothing has missed nothing.
    }
}
